"""The whole gateway, as a process between a client of the SDK and real servers: all passes, in every era."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.context import ClientRequestContext
from mcp.shared.subscriptions import ResourceUpdated, ToolsListChanged

from support.processes import ServedProject, forked_server_command, server_command

OLD, NEW = "legacy", "2026-07-28"
PATIENCE = 120  # seconds for what takes milliseconds
UNPREFIXED = 'strategy = "state"\n[servers.everything]\nprefix = false\n'
WATCHED = "test://watched-resource"
ELICITED = "notifications/elicitation/complete"


# The older eras have what the SDK calls deprecated.
pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")


class Person:
    """Who sits before the client: answers what servers ask, and hears what they tell."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.logged: list[str] = []
        self.progress: list[float] = []
        self.heard: dict[str, anyio.Event] = {}
        self.done: list[str] = []  # of what was asked by a URL

    async def sample(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult:
        assert context.session is not None
        text = params.messages[0].content
        assert isinstance(text, types.TextContent)
        said = types.TextContent(text=f"about {text.text}")
        return types.CreateMessageResult(role="assistant", content=said, model="none")

    async def fill(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        assert context.session is not None
        self.asked.append(params.message)
        if isinstance(params, types.ElicitRequestURLParams):
            return types.ElicitResult(action="accept")
        return types.ElicitResult(action="accept", content={"name": "Ada", "color": "red", "username": "ada"})

    async def roots(self, context: ClientRequestContext) -> types.ListRootsResult:
        assert context.session is not None
        return types.ListRootsResult(roots=[types.Root.model_validate({"uri": "file:///code/shop"})])

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        self.logged.append(str(params.data))

    async def work(self, progress: float, total: float | None, message: str | None) -> None:
        assert (total, message) == (100, None)
        self.progress.append(progress)

    async def hear(self, message: Any) -> None:
        method = getattr(message, "method", None)
        if isinstance(message, types.ElicitCompleteNotification):
            self.done.append(message.params.elicitation_id)
        if method is not None:
            self.heard.setdefault(method, anyio.Event()).set()

    async def heard_of(self, method: str) -> None:
        await self.heard.setdefault(method, anyio.Event()).wait()
        del self.heard[method]


@pytest.fixture
def place(tmp_path: Path) -> ServedProject:
    return ServedProject(tmp_path.resolve(), is_forked=True)


@asynccontextmanager
async def connected(place: ServedProject, mode: str, person: Person) -> AsyncGenerator[Client]:
    command, *arguments = place.command()
    started = StdioServerParameters(
        command=command, args=arguments, env=place.environment, cwd=str(place.project)
    )
    with anyio.fail_after(PATIENCE):
        async with Client(
            started,
            mode=mode,
            sampling_callback=person.sample,
            elicitation_callback=person.fill,
            list_roots_callback=person.roots,
            logging_callback=person.log,
            log_level="info",
            message_handler=person.hear,
            cache=None,
        ) as client:
            yield client


async def said(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    content = result.content[0]
    assert isinstance(content, types.TextContent)
    return content.text


@pytest.mark.long
@pytest.mark.parametrize("front", [OLD, NEW])
@pytest.mark.parametrize("back", ["old", "both"])
def test_what_servers_ask_of_the_client_passes_between_the_eras(
    place: ServedProject, front: str, back: str
) -> None:
    place.declare({"everything": forked_server_command("everything.py", "stdio", back)}, UNPREFIXED)

    person = Person()

    async def talk() -> None:
        async with connected(place, front, person) as client:
            assert await said(client, "test_sampling", prompt="rain") == "LLM response: about rain"
            assert '"username": "ada"' in await said(client, "test_elicitation", message="who?")
            assert person.asked == ["everything asks: who?"]
            roots = await said(client, "test_input_required_result_list_roots")
            # A client of the new era is not asked for a server of the old: it would take a request more.
            ours = back == "old" and front == NEW
            assert roots == (place.project.as_uri() if ours else "file:///code/shop")
            assert await said(client, "test_input_required_result_multi_round") == "both steps are done"
            assert await said(client, "test_input_required_result_multiple_inputs") == "all are here"
            prompt = await client.get_prompt("test_input_required_result_prompt")
            assert prompt.messages[0].role == "user"

    anyio.run(talk)


@pytest.mark.long
@pytest.mark.parametrize("front", [OLD, NEW])
@pytest.mark.parametrize("back", ["old", "both"])
def test_what_servers_tell_and_hold_passes_between_the_eras(
    place: ServedProject, front: str, back: str
) -> None:
    place.declare({"everything": forked_server_command("everything.py", "stdio", back)}, UNPREFIXED)
    person = Person()

    async def talk() -> None:
        async with connected(place, front, person) as client:
            if front == OLD:
                await client.set_logging_level("info")  # pyright: ignore[reportDeprecated] - that era has it
            failed = await client.call_tool("test_error_handling", {})
            assert failed.is_error
            await client.call_tool("test_tool_with_progress", {}, progress_callback=person.work)
            assert person.progress == [0, 50, 100]
            await client.call_tool("test_tool_with_logging", {})
            assert person.logged == [
                "Tool execution started",
                "Tool processing data",
                "Tool execution completed",
            ]
            read = await client.read_resource("test://template/7/data")
            assert '"7"' in str(read.contents[0])
            asked = types.PromptReference(name="test_prompt_with_arguments")
            found = await client.complete(asked, {"name": "arg1", "value": "par"})
            assert found.completion.values == ["paris", "park", "party"]
            with pytest.raises(MCPError, match="Unknown tool"):
                await client.call_tool("test_nothing", {})

    anyio.run(talk)


@pytest.mark.long
@pytest.mark.parametrize(("back", "starts"), [("old", 3), ("new", 1)])
def test_in_the_new_era_the_list_has_what_a_server_offers_to_any_client_and_calls_do_not_change_it(
    place: ServedProject, tmp_path: Path, back: str, starts: int
) -> None:
    note = tmp_path / "starts"
    command = server_command("by_hand.py", "--era", back, "--summarizes", "--note", str(note))
    place.declare({"desk": command}, 'strategy = "state"\n')
    command, *arguments = place.command()
    started = StdioServerParameters(
        command=command, args=arguments, env=place.environment, cwd=str(place.project)
    )

    async def talk() -> None:
        with anyio.fail_after(PATIENCE):
            async with Client(started, mode=NEW, cache=None) as client:  # it can answer nothing
                listed = [tool.name for tool in (await client.list_tools()).tools]
                assert "desk__summarize" in listed
                assert await said(client, "desk__echo", text="here") == "here"
                with pytest.raises(MCPError):
                    await client.call_tool("desk__summarize", {})
                assert [tool.name for tool in (await client.list_tools()).tools] == listed

    anyio.run(talk)
    assert len(note.read_text().splitlines()) <= starts


@pytest.mark.long
@pytest.mark.parametrize("front", [OLD, NEW])
@pytest.mark.parametrize("back", ["old", "both"])
def test_a_change_of_an_upstream_reaches_the_client(place: ServedProject, front: str, back: str) -> None:
    place.declare(
        {"everything": forked_server_command("everything.py", "stdio", back)},
        f'{UNPREFIXED}[trust]\nchanges = "note"\n',
    )
    person = Person()

    async def change(client: Client) -> None:
        await client.call_tool("test_trigger_tool_change", {})
        await client.call_tool("test_trigger_resource_update", {})

    async def has_changed(client: Client) -> bool:
        return "get_passing_tool" in {tool.name for tool in (await client.list_tools()).tools}

    async def listen(client: Client) -> None:
        async with client.listen(tools_list_changed=True, resource_subscriptions=[WATCHED]) as events:
            await change(client)
            expected: set[object] = {ToolsListChanged(), ResourceUpdated(uri=WATCHED)}
            async for event in events:
                expected.discard(event)
                if not expected and await has_changed(client):
                    return

    async def hear(client: Client) -> None:
        await client.subscribe_resource(WATCHED)  # pyright: ignore[reportDeprecated] - that era has it
        await change(client)
        await person.heard_of("notifications/resources/updated")
        await person.heard_of("notifications/tools/list_changed")
        while not await has_changed(client):
            await person.heard_of("notifications/tools/list_changed")

    async def talk() -> None:
        async with connected(place, front, person) as client:
            assert not await has_changed(client)
            await (hear(client) if front == OLD else listen(client))

    anyio.run(talk)


@pytest.mark.long
def test_who_was_asked_to_go_to_a_page_is_told_when_that_is_done(place: ServedProject) -> None:
    place.declare({"everything": forked_server_command("everything.py", "stdio", "old")}, UNPREFIXED)
    person = Person()

    async def talk() -> None:
        async with connected(place, OLD, person) as client:
            assert await said(client, "test_visit", page="one") == "accept"
            await person.heard_of(ELICITED)
            with pytest.raises(MCPError) as refused:
                await client.call_tool("test_visit_first", {"page": "two"})
            assert refused.value.code == types.URL_ELICITATION_REQUIRED
            await said(client, "test_visited", page="nobody's")
            await said(client, "test_visited", page="two")
            await person.heard_of(ELICITED)
            assert person.done == ["one", "two"]

    anyio.run(talk)


@pytest.mark.long
def test_nobody_else_is_told_that_somebody_has_been_to_a_page(place: ServedProject) -> None:
    shared = f'{UNPREFIXED}sessions = "shared"\n'
    place.declare({"everything": forked_server_command("everything.py", "stdio", "old")}, shared)
    ada, eve = Person(), Person()

    async def talk(url: str) -> None:
        with anyio.fail_after(PATIENCE):
            async with (
                Client(url, mode=OLD, elicitation_callback=ada.fill, message_handler=ada.hear) as hers,
                Client(url, mode=OLD, elicitation_callback=eve.fill, message_handler=eve.hear) as other,
            ):
                assert await said(hers, "test_visit", page="one") == "accept"
                await ada.heard_of(ELICITED)
                with pytest.raises(MCPError, match="URL elicitation required"):
                    await hers.call_tool("test_visit_first", {"page": "two"})
                await said(other, "test_visited", page="two")
                await ada.heard_of(ELICITED)
                await other.list_tools()
                assert (ada.done, eve.done) == (["one", "two"], [])

    with place.serving() as listener:
        anyio.run(talk, f"{listener.url}/mcp")


@pytest.mark.long
def test_a_client_of_the_new_era_is_not_told_what_that_does_not_have(place: ServedProject) -> None:
    place.declare({"everything": forked_server_command("everything.py", "stdio", "old")}, UNPREFIXED)
    person = Person()

    async def talk() -> None:
        async with connected(place, NEW, person) as client:
            assert await said(client, "test_visit", page="one") == "accept"
            assert person.asked == ["everything asks: Sign in"]
            assert person.done == []

    anyio.run(talk)


@pytest.mark.long
@pytest.mark.parametrize("front", [OLD, NEW])
def test_prompts_and_resources_can_be_asked_for_before_anything_was_listed(
    place: ServedProject, front: str
) -> None:
    place.declare({"everything": forked_server_command("everything.py", "stdio")}, UNPREFIXED)

    async def talk() -> None:
        async with connected(place, front, Person()) as client:
            prompt = await client.get_prompt("test_simple_prompt")
            assert "simple prompt" in str(prompt.messages[0].content)

    anyio.run(talk)


@pytest.mark.long
@pytest.mark.parametrize(("front", "code"), [(OLD, -32002), (NEW, types.INVALID_PARAMS)])
def test_a_resource_that_nobody_has_is_refused_as_the_era_has_it(
    place: ServedProject, front: str, code: int
) -> None:
    place.declare({"hand": server_command("by_hand.py")})

    async def talk() -> None:
        async with connected(place, front, Person()) as client:
            with pytest.raises(MCPError) as refused:
                await client.read_resource("test://nowhere")
            assert refused.value.code == code
            assert refused.value.data == {"uri": "test://nowhere"}

    anyio.run(talk)


@pytest.mark.long
def test_a_server_that_cannot_list_its_resources_still_has_its_tools(place: ServedProject) -> None:
    complaining = server_command("by_hand.py", "--fault", "complain", "--at", "resources/list")
    place.declare({"hand": complaining}, 'strategy = "state"\n')

    async def talk() -> None:
        async with connected(place, NEW, Person()) as client:
            assert "hand__echo" in {tool.name for tool in (await client.list_tools()).tools}
            assert await said(client, "hand__echo", text="here") == "here"

    anyio.run(talk)


@pytest.mark.long
def test_a_server_that_was_away_at_first_is_listed_once_it_is_there(place: ServedProject) -> None:
    flag = place.root / "there"
    waiting = ["sh", "-c", f'test -e "{flag}" && exec "$@"', "sh", *server_command("by_hand.py")]
    place.declare({"late": waiting}, 'strategy = "state"\n')

    async def names(client: Client) -> set[str]:
        return {tool.name for tool in (await client.list_tools()).tools}

    async def talk() -> None:
        async with (
            connected(place, NEW, Person()) as client,
            client.listen(tools_list_changed=True) as events,
        ):
            assert "late__echo" not in await names(client)
            flag.touch()
            async for _ in events:
                if "late__echo" in await names(client):
                    return

    anyio.run(talk)
