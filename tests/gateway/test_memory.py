"""Memory behind the gateway: the seed's three stories on both transports, in both eras, and its rules."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import httpx2
import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.context import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client

from remit.decision.projects import identify
from remit.decision.tool_names import MEMORY_SERVER
from remit.memory.memory_scopes import memory_id
from remit.memory.tool_permissions import TOOLS
from support.forked_commands import Done, fork_server
from support.memory_calls import context, decision, entity, pattern, session
from support.processes import ServedProject

Era = Literal["legacy", "2026-07-28"]
Call = Callable[..., Awaitable[dict[str, Any]]]
Story = Callable[[Call], Awaitable[None]]
ERAS: tuple[Era, ...] = ("legacy", "2026-07-28")
PATIENCE = 120  # seconds for what takes milliseconds

# The SDK looks whether answers have the form that lists promise; what is not listed promises nothing.
pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")


class Person:
    """Who sits before the client, and says yes or no to what it is asked."""

    def __init__(self, word: Literal["accept", "decline"]) -> None:
        self.word: Literal["accept", "decline"] = word
        self.questions: list[str] = []

    async def answer(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        assert context.session is not None
        self.questions.append(params.message)
        return types.ElicitResult(
            action=self.word, content={"approve": True} if self.word == "accept" else None
        )


SHARED = '[memory]\nprojects = ["my-new-project", "my-project", "nowhere", "p", "other-12345678"]\n'


@pytest.fixture
def place(tmp_path: Path) -> ServedProject:
    made = ServedProject(tmp_path.resolve(), is_forked=True)
    made.declare({}, SHARED)
    return made


@asynccontextmanager
async def on_stdio(
    place: ServedProject, era: Era, person: Person | None = None, *options: str
) -> AsyncGenerator[Client]:
    command, *arguments = place.command(*options)
    started = StdioServerParameters(
        command=command, args=arguments, env=place.environment, cwd=str(place.project)
    )
    asked = None if person is None else person.answer
    with anyio.fail_after(PATIENCE):
        async with Client(started, mode=era, elicitation_callback=asked, cache=None) as client:
            yield client


@asynccontextmanager
async def on_http(url: str, era: Era, token: str | None = None) -> AsyncGenerator[Client]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    with anyio.fail_after(PATIENCE):
        async with (
            httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http,
            Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=era) as client,
        ):
            yield client


def calling(client: Client) -> Call:
    """Call memory's tools by their own names."""

    async def call(name: str, **arguments: object) -> dict[str, Any]:
        result = await client.call_tool(f"{MEMORY_SERVER}__{name}", arguments)
        assert isinstance(result, types.CallToolResult)
        (content,) = result.content
        assert isinstance(content, types.TextContent)
        told = json.loads(content.text) if content.text.startswith("{") else {"said": content.text}
        return {**told, "is_error": result.is_error}

    return call


def tell(place: ServedProject, era: Era, story: Story, *, over: str = "stdio") -> None:
    """Tell a story to a gateway that runs as a process of its own."""

    async def at_stdio() -> None:
        async with on_stdio(place, era) as client:
            await story(calling(client))

    async def at_url(url: str) -> None:
        async with on_http(url, era) as client:
            await story(calling(client))

    if over == "stdio":
        anyio.run(at_stdio)
        return
    with place.serving() as listener:
        anyio.run(at_url, listener.url)


def own_id(place: ServedProject) -> str:
    return memory_id(identify(str(place.project)))


def remit(place: ServedProject, *arguments: str) -> Done:
    return fork_server().run(arguments, cwd=place.project, environment=place.environment)


@pytest.mark.long
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("over", ["stdio", "http"])
def test_a_new_project(place: ServedProject, era: Era, over: str) -> None:
    async def story(call: Call) -> None:
        state = await call("get_scope_state", project_id="my-new-project")
        assert (state["scope_state"], state["project_exists"]) == ("uncertain", False)
        saved = await call("save_session", session=session(), project_id="my-new-project")
        assert (saved["status"], saved["is_error"]) == ("saved", False)
        state = await call("get_scope_state", project_id="my-new-project")
        assert (state["scope_state"], state["project_exists"]) == ("resolved", True)

    tell(place, era, story, over=over)


@pytest.mark.long
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("over", ["stdio", "http"])
def test_using_focus_areas(place: ServedProject, era: Era, over: str) -> None:
    async def story(call: Call) -> None:
        await call("save_session", session=session(), project_id="my-project")
        state = await call("get_scope_state", project_id="my-project", focus="auth-refactor")
        assert state["scope_state"] == "uncertain"
        saved = await call(
            "save_context",
            context={"content": "...", "topic": "auth", "scope": "focus", "relevance_score": 1.0},
            project_id="my-project",
            focus="auth-refactor",
        )
        assert saved["status"] == "saved"
        state = await call("get_scope_state", project_id="my-project", focus="auth-refactor")
        assert (state["scope_state"], state["project_exists"]) == ("resolved", True)

    tell(place, era, story, over=over)


@pytest.mark.long
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("over", ["stdio", "http"])
def test_a_write_that_is_blocked(place: ServedProject, era: Era, over: str) -> None:
    writes: dict[str, dict[str, object]] = {
        "save_decision": {"decision": decision("Use X")},
        "save_pattern": {"pattern": pattern()},
        "save_context": {"context": context("x")},
        "upsert_entity_with_deps": {"entity": entity("e", "f")},
    }

    async def story(call: Call) -> None:
        blocked: dict[str, Any] = {}
        for tool, given in writes.items():
            blocked = await call(tool, **given, project_id="nowhere")
            assert (blocked["status"], blocked["is_error"]) == ("blocked_scope", True)
            assert (await call("get_scope_state", project_id="nowhere"))["project_exists"] is False
        fix = (
            blocked["next_step"]
            .removeprefix("Create it first: remit-memory__save_session(")
            .removesuffix(")")
        )
        assert (await call("save_session", **json.loads(fix)))["status"] == "saved"
        for tool, given in writes.items():
            assert (await call(tool, **given, project_id="nowhere"))["status"] == "saved"

    tell(place, era, story, over=over)


@pytest.mark.long
@pytest.mark.parametrize("era", ERAS)
def test_it_is_found_by_meaning_and_listed_once_it_was_used(place: ServedProject, era: Era) -> None:
    async def listed(client: Client) -> list[str]:
        return [tool.name for tool in (await client.list_tools()).tools]

    async def story() -> None:
        async with on_stdio(place, era) as client:
            assert await listed(client) == [
                "discover_tools",
                "call_tool",
                "why_tool",
                "report_available_tools",
                "read_result",
            ]
            found = await client.call_tool("discover_tools", {"query": "remember this decision"})
            assert isinstance(found, types.CallToolResult)
            assert found.structured_content is not None
            best = found.structured_content["tools"][0]["name"]
            assert best == "remit-memory__save_decision"
            given = {"session": session(), "project_id": own_id(place)}
            await client.call_tool("call_tool", {"name": "remit-memory__save_session", "arguments": given})
        async with on_stdio(place, era) as client:
            assert (await listed(client))[0] == "remit-memory__save_session"
            assert len(await listed(client)) == 6

    anyio.run(story)


def test_an_older_client_is_told_the_id_of_the_memory_here(place: ServedProject) -> None:
    async def story() -> None:
        async with on_stdio(place, "legacy") as client:
            said = str(client.instructions)
            assert f"project_id `{own_id(place)}`" in said
            assert "Not listed are tools of: remit-memory (11)" in said
            assert "end with remit-memory__save_session" in said

    anyio.run(story)


@pytest.mark.long
@pytest.mark.parametrize("era", ERAS)
def test_a_bound_token_gets_for_other_projects_the_answer_for_none(place: ServedProject, era: Era) -> None:
    other, none = "other-12345678", "nobody-87654321"
    given: dict[str, dict[str, object]] = {
        "get_scope_state": {},
        "save_session": {"session": session()},
        "save_decision": {"decision": decision("Use X")},
        "save_context": {"context": context("x")},
        "retrieve_context": {"scope": "project"},
        "memory_surface": {"query": "plan"},
        "run_hygiene": {},
        "delete_project": {},
    }

    async def kept_by_the_user() -> None:
        async with on_stdio(place, era) as client:
            call = calling(client)
            await call("save_session", session=session("the plan of theirs"), project_id=other)
            assert (await call("get_scope_state", project_id=other))["project_exists"] is True

    async def asked_by_others(url: str, token: str) -> None:
        async with on_http(url, era, token) as client:
            call = calling(client)
            for tool, arguments in given.items():
                theirs, nobodys = [
                    {**await call(tool, **arguments, project_id=name), "checked_at": None}
                    for name in (other, none)
                ]
                assert json.dumps(theirs).replace(other, none) == json.dumps(nobodys), tool
                assert "plan of theirs" not in json.dumps(theirs)
            assert (await call("save_session", session=session(), project_id=own_id(place)))[
                "status"
            ] == "saved"

    anyio.run(kept_by_the_user)
    token = remit(place, "token", "add", "ci", "--project", str(place.project)).stdout.split()[-1]
    with place.serving() as listener:
        anyio.run(asked_by_others, listener.url, token)

    async def still_there() -> None:
        async with on_stdio(place, era) as client:
            found = await calling(client)("retrieve_context", scope="project", project_id=other)
            assert [item["objective"] for item in found["items"]] == ["the plan of theirs"]

    anyio.run(still_there)


@pytest.mark.long
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("word", "expected"), [("accept", "saved"), ("decline", None)])
def test_what_every_project_would_see_is_asked_of_the_person_at_the_client(
    place: ServedProject, era: Era, word: Literal["accept", "decline"], expected: str | None
) -> None:
    person = Person(word)

    async def story() -> None:
        async with on_stdio(place, era, person) as client:
            call = calling(client)
            await call("save_session", session=session(), project_id="p")
            said = await call("save_context", context=context("for all", scope="global"), project_id="p")
            assert said.get("status") == expected
            if word == "decline":
                assert said["code"] == "WRITE_NOT_APPROVED"
                assert "a person denied it" in said["message"]
                person.word = "accept"  # on second thought
                said = await call("save_context", context=context("for all", scope="global"), project_id="p")
                assert said["status"] == "saved"
        assert "would be seen in every project" in person.questions[0]
        assert "for all" in person.questions[0]

    anyio.run(story)


@pytest.mark.parametrize("era", ERAS)
def test_served_alone_it_asks_the_person_at_the_client_as_well(place: ServedProject, era: Era) -> None:
    person = Person("accept")

    async def story() -> None:
        async with on_stdio(place, era, person, "--memory") as client:
            await client.call_tool("save_session", {"session": session(), "project_id": "p"})
            given = {"context": context("for all", scope="global"), "project_id": "p"}
            said = await client.call_tool("save_context", given)
            assert isinstance(said, types.CallToolResult)
            assert said.structured_content is not None
            assert said.structured_content["status"] == "saved"
        assert len(person.questions) == 1

    anyio.run(story)


def test_where_nobody_can_be_asked_a_person_approves_on_the_command_line(place: ServedProject) -> None:
    async def story(call: Call) -> None:
        await call("save_session", session=session(), project_id="p")
        wanted: dict[str, Any] = {"context": context("for all", scope="global"), "project_id": "p"}
        refused = await call("save_context", **wanted)
        approval = refused["context"]["approval_id"]
        assert f"approval `{approval}`" in refused["next_step"]
        assert remit(place, "approve", approval, "--yes").code == 0
        other = {"context": context("something else", scope="global"), "project_id": "p"}
        assert (await call("save_context", **other))["code"] == "WRITE_NOT_APPROVED"
        assert (await call("save_context", **wanted))["status"] == "saved"

    tell(place, "legacy", story)


def test_all_of_its_tools_are_listed_where_that_is_configured(place: ServedProject) -> None:
    place.declare({}, '[memory]\ntools = "listed"\n')

    async def story() -> None:
        async with on_stdio(place, "2026-07-28") as client:
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert listed.keys() == {
            *(f"remit-memory__{tool}" for tool in TOOLS),
            "why_tool",
            "report_available_tools",
            "read_result",
        }
        schema = listed["remit-memory__save_decision"].input_schema
        assert schema["properties"]["decision"]["required"][0] == "title"

    anyio.run(story)


def test_none_of_it_is_served_where_it_is_switched_off(place: ServedProject) -> None:
    place.declare({}, '[memory]\ntools = "off"\n')

    async def story() -> None:
        async with on_stdio(place, "legacy") as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert names == ["why_tool", "report_available_tools", "read_result"]
            assert "memory" not in str(client.instructions)
            refused = await calling(client)("save_session", session=session(), project_id="p")
            assert refused["is_error"] is True
            assert "blocked by `off`: rule `memory.tools`" in refused["said"]

    anyio.run(story)
