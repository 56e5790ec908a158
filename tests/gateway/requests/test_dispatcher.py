"""One endpoint, as clients of both eras see it: the SDK's client, over real sockets."""

import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, cast

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError

from support import stub_endpoint
from support.http_gateway import gateway
from support.stub_endpoint import StubEndpoint

Mode = Literal["legacy", "2026-07-28"]
BOTH = pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])


class Person:
    """Somebody at the client, who answers what is asked and hears what is told."""

    def __init__(self) -> None:
        self.told: list[object] = []
        self.asked = 0
        self._news = anyio.Event()

    async def hear(self, message: object) -> None:
        self.told.append(message)
        self._news.set()
        self._news = anyio.Event()

    async def until(self, kind: type[Any]) -> Any:
        """Wait until something is told."""
        with anyio.fail_after(30):
            while not (found := [message for message in self.told if isinstance(message, kind)]):
                await self._news.wait()
        return found[0]

    async def elicit(self, _: object, __: object) -> types.ElicitResult:
        self.asked += 1
        return types.ElicitResult(action="accept", content={"name": f"Ada {self.asked}"})

    async def sample(self, _: object, __: object) -> types.CreateMessageResult:
        content = types.TextContent(type="text", text="hello to you")
        return types.CreateMessageResult(role="assistant", content=content, model="m")

    async def roots(self, _: object) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=cast(Any, "file:///home/ada"))])


@asynccontextmanager
async def client(
    mode: Mode, notes: Path, person: Person, *, can_answer: bool = True
) -> AsyncGenerator[Client]:
    answers: dict[str, Any] = {}
    if can_answer:
        answers = {
            "elicitation_callback": person.elicit,
            "sampling_callback": person.sample,
            "list_roots_callback": person.roots,
        }
    async with (
        gateway(endpoint=lambda: StubEndpoint(notes)) as served,
        Client(
            f"{served.url}/mcp", mode=mode, message_handler=cast(Any, person.hear), **answers
        ) as connected,
    ):
        yield connected


def use(
    mode: Mode, notes: Path, work: Callable[[Client, Person], Awaitable[None]], *, can_answer: bool = True
) -> list[str]:
    """Do something with a client; gives what the endpoint noted."""

    async def run() -> None:
        person = Person()
        async with client(mode, notes, person, can_answer=can_answer) as connected:
            await work(connected, person)

    anyio.run(run)
    noted = notes.read_text("utf-8").splitlines() if notes.exists() else []
    return [re.sub(r"http:\w+$", "session", re.sub(r" at \(.*\)$", "", line)) for line in noted]


async def said(connected: Client, tool: str, **arguments: object) -> str:
    result = await connected.call_tool(tool, arguments)
    assert isinstance(result, types.CallToolResult)
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


@BOTH
def test_lists_calls_and_reads_come_from_the_endpoint(mode: Mode, tmp_path: Path) -> None:
    async def work(connected: Client, _: Person) -> None:
        assert [tool.name for tool in (await connected.list_tools()).tools] == list(stub_endpoint.TOOLS)
        assert await said(connected, "echo", text="größer") == "größer"
        assert [item.uri for item in (await connected.list_resources()).resources] == ["note://one"]
        (template,) = (await connected.list_resource_templates()).resource_templates
        assert template.uri_template == "note://{name}"
        (content,) = (await connected.read_resource("note://one")).contents
        assert isinstance(content, types.TextResourceContents)
        assert content.text == "one"
        assert [prompt.name for prompt in (await connected.list_prompts()).prompts] == ["greet"]
        assert (await connected.get_prompt("greet")).messages
        reference = types.PromptReference(type="ref/prompt", name="greet")
        completed = await connected.complete(reference, {"name": "who", "value": "A"})
        assert completed.completion.values == ["Ada"]

    use(mode, tmp_path / "notes", work)


def test_a_session_client_gets_capabilities_with_list_changes(tmp_path: Path) -> None:
    async def work(connected: Client, _: Person) -> None:
        can = connected.server_capabilities
        assert can.tools == types.ToolsCapability(list_changed=True)
        assert can.resources == types.ResourcesCapability(subscribe=True, list_changed=True)
        assert can.prompts == types.PromptsCapability(list_changed=True)
        assert can.experimental == {"remit/scopes": {"names": ["git"]}}
        assert can.extensions is None
        assert connected.instructions == "Use the tools."

    use("legacy", tmp_path / "notes", work)


@BOTH
def test_a_question_of_an_upstream_reaches_the_client(mode: Mode, tmp_path: Path) -> None:
    async def work(connected: Client, _: Person) -> None:
        assert await said(connected, "ask") == "accept Ada 1"
        assert await said(connected, "ask_twice") == "accept Ada 2, accept Ada 3"
        assert await said(connected, "sample") == "hello to you"
        asked = "file:///home/ada" if mode == "legacy" else "file:///code/shop/web"
        assert await said(connected, "roots") == asked
        assert (await connected.read_resource("note://asking")).contents

    use(mode, tmp_path / "notes", work)


@BOTH
def test_a_client_without_the_capability_gets_no_questions(mode: Mode, tmp_path: Path) -> None:
    async def work(connected: Client, _: Person) -> None:
        assert (await said(connected, "who")).endswith(" None []")
        for tool, method in (("ask", "elicitation/create"), ("roots", "roots/list")):
            with pytest.raises(MCPError, match=f"does not answer `{method}`") as failed:
                await connected.call_tool(tool, {})
            assert failed.value.code == types.METHOD_NOT_FOUND

    use(mode, tmp_path / "notes", work, can_answer=False)


@BOTH
def test_upstreams_see_the_clients_own_capabilities(mode: Mode, tmp_path: Path) -> None:
    async def work(connected: Client, _: Person) -> None:
        assert (await said(connected, "who")).endswith(" None ['elicitation', 'roots', 'sampling']")

    use(mode, tmp_path / "notes", work)


@BOTH
def test_errors_and_refusals_pass_unchanged(mode: Mode, tmp_path: Path) -> None:
    async def work(connected: Client, _: Person) -> None:
        with pytest.raises(MCPError) as failed:
            await connected.call_tool("fail", {})
        error = failed.value.error
        assert (error.code, error.message, error.data) == (-32042, "it failed", {"because": "it does"})
        with pytest.raises(MCPError, match="Unknown tool: nothing"):
            await connected.call_tool("nothing", {})
        refused = await connected.call_tool("refuse", {})
        assert isinstance(refused, types.CallToolResult)
        assert refused.is_error
        assert refused.structured_content == {"gate": "state"}

    use(mode, tmp_path / "notes", work)


@BOTH
def test_values_that_json_cannot_express_are_repaired(mode: Mode, tmp_path: Path) -> None:
    async def work(connected: Client, _: Person) -> None:
        assert await said(connected, "mumble") == "half ?"
        with pytest.raises(MCPError, match=r"half \?") as failed:
            await connected.call_tool("mumble", {"text": "fail"})
        assert failed.value.error.data == {"half": "?", "none": None}

    use(mode, tmp_path / "notes", work)


@BOTH
def test_progress_comes_back_under_the_clients_own_token(mode: Mode, tmp_path: Path) -> None:
    heard: list[tuple[float, float | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001 - its name
        heard.append((progress, total))

    async def work(connected: Client, _: Person) -> None:
        result = await connected.call_tool("progress", {}, progress_callback=hear)
        assert isinstance(result, types.CallToolResult)
        # Nothing of the envelope of a request goes further than here.
        assert result.content == [types.TextContent(type="text", text="['progressToken']")]

    use(mode, tmp_path / "notes", work)
    assert heard == [(1, 2), (2, 2)]


@BOTH
def test_a_call_that_the_client_cancels_is_cancelled(mode: Mode, tmp_path: Path) -> None:
    notes = tmp_path / "notes"

    async def work(connected: Client, _: Person) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(connected.call_tool, "wait")
            await until_noted(notes, "waiting")
            tasks.cancel_scope.cancel()
        await until_noted(notes, "cancelled")
        assert await said(connected, "echo", text="still here") == "still here"

    use(mode, notes, work)


async def until_noted(notes: Path, words: str) -> None:
    with anyio.fail_after(30):
        while not notes.exists() or words not in notes.read_text("utf-8"):
            await anyio.sleep(0.01)


@pytest.mark.filterwarnings("ignore:The logging capability is deprecated")
def test_a_session_client_gets_changes_and_sets_its_log_level(tmp_path: Path) -> None:
    async def work(connected: Client, person: Person) -> None:
        await connected.call_tool("grow", {})
        await person.until(types.ToolListChangedNotification)
        assert "grown_14" in [tool.name for tool in (await connected.list_tools()).tools]
        await connected.set_logging_level("warning")  # pyright: ignore[reportDeprecated] - older clients do
        assert await said(connected, "log") == "warning"
        message = await person.until(types.LoggingMessageNotification)
        assert message.params.data == "at warning"

    noted = use("legacy", tmp_path / "notes", work)
    assert noted == ["logging/setLevel warning session", "left session"]


@pytest.mark.filterwarnings("ignore:resources/(un)?subscribe is removed")
def test_a_session_client_gets_updates_of_subscribed_resources(tmp_path: Path) -> None:
    async def work(connected: Client, person: Person) -> None:
        await connected.subscribe_resource("note://one")  # pyright: ignore[reportDeprecated]
        await connected.call_tool("grow", {"text": "note://two"})
        await connected.call_tool("grow", {"text": "note://one"})
        updated = await person.until(types.ResourceUpdatedNotification)
        assert str(updated.params.uri) == "note://one"
        await connected.unsubscribe_resource("note://one")  # pyright: ignore[reportDeprecated]
        await connected.subscribe_resource("note://three")  # pyright: ignore[reportDeprecated]

    noted = use("legacy", tmp_path / "notes", work)
    assert noted == [
        "resources/subscribe note://one session",
        "resources/unsubscribe note://one session",
        "resources/subscribe note://three session",
        "resources/unsubscribe note://three session",
        "left session",
    ]


def test_a_session_lists_a_tool_that_it_found_and_called(tmp_path: Path) -> None:
    async def work(connected: Client, person: Person) -> None:
        await connected.call_tool("refuse", {})  # a failed call lists nothing
        assert [tool.name for tool in (await connected.list_tools()).tools] == list(stub_endpoint.TOOLS)
        await connected.call_tool("find", {})
        await person.until(types.ToolListChangedNotification)
        assert [tool.name for tool in (await connected.list_tools()).tools] == [*stub_endpoint.TOOLS, "found"]

    use("legacy", tmp_path / "notes", work)


def test_without_a_session_a_call_does_not_change_the_list(tmp_path: Path) -> None:
    async def work(connected: Client, _: Person) -> None:
        await connected.call_tool("find", {})
        assert [tool.name for tool in (await connected.list_tools()).tools] == list(stub_endpoint.TOOLS)

    use("2026-07-28", tmp_path / "notes", work)


def test_a_stateless_client_gets_the_changes_it_asked_for(tmp_path: Path) -> None:
    async def work(connected: Client, _: Person) -> None:
        uris = ["note://one", "note://none"]
        async with connected.listen(tools_list_changed=True, resource_subscriptions=uris) as heard:
            assert heard.honored.resource_subscriptions == ["note://one"]
            await connected.call_tool("grow", {"text": "note://two"})
            await connected.call_tool("grow", {"text": "note://one"})
            await connected.call_tool("grow", {})
            with anyio.fail_after(30):
                first = await anext(aiter(heard))
                second = await anext(aiter(heard))
        assert [type(first).__name__, type(second).__name__] == ["ResourceUpdated", "ToolsListChanged"]
        await until_noted(tmp_path / "notes", "unsubscribe")

    noted = use("2026-07-28", tmp_path / "notes", work)
    assert noted == [
        "resources/subscribe note://one principal:",
        "resources/subscribe note://none principal:",
        "resources/unsubscribe note://one principal:",
    ]
