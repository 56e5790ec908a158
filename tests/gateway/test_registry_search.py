"""`discover_tools` finds everything that is known here, and `call_tool` explains what it does not call."""

from pathlib import Path
from typing import Any

import pytest

from remit.errors import UpstreamError
from remit.gateway.endpoint import LiveEndpoint
from remit.gateway.transports.project_memory_endpoint import MemoryEndpoint
from remit.protocol.json_rpc import ErrorCode, JsonRpcError, Params
from remit.upstream.ports import ServerLists
from support.gateway_fakes import FakeCaller, FakeLinks, call, endpoint, offered, told
from support.sandbox import Sandbox

pytestmark = pytest.mark.anyio

SKILL = "Start it with your `Skill` tool: `skill` is `{}`."


def markdown(name: str, description: str, *more: str) -> str:
    return "\n".join(("---", f"name: {name}", f"description: {description}", *more, "---", "Do it.", ""))


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    """A project with something of every kind."""
    shop, home = sandbox.project("shop"), sandbox.home / ".claude"
    sandbox.write_state("git", "broken")
    own = shop / ".claude"
    sandbox.write(own / "commands/deploy.md", markdown("deploy", "Put the shop into production"))
    sandbox.write(
        own / "commands/publish.md",
        markdown("publish", "Publish the price list", "disable-model-invocation: true"),
    )
    sandbox.write(own / "skills/invoice/SKILL.md", markdown("invoice", "Write an invoice for a customer"))
    sandbox.write(own / "agents/auditor.md", markdown("auditor", "Audits the accounts of the shop"))
    market = home / "plugins/fair"
    catalogue = {"name": "fair", "plugins": [{"name": "weather", "source": "./weather"}]}
    sandbox.write(market / ".claude-plugin/marketplace.json", catalogue)
    manifest = {"name": "weather", "description": "Storm warnings"}
    sandbox.write(market / "weather/.claude-plugin/plugin.json", manifest)
    command = markdown("forecast", "Rain and sunshine of a town")
    sandbox.write(market / "weather/commands/forecast.md", command)
    fair = {"source": {"source": "directory"}, "installLocation": str(market)}
    sandbox.write(home / "plugins/known_marketplaces.json", {"fair": fair})
    sandbox.write(home / "settings.json", {"enabledPlugins": {"weather@fair": True}})
    return shop


@pytest.fixture
def links() -> FakeLinks:
    git = [offered("status", description="Show what changed in the working tree"), offered("log")]
    git += [offered("run", description="Run a command in the shell")]
    return FakeLinks({"git": ServerLists(tools=git), "broken": UpstreamError("no license found")})


async def discover(served: LiveEndpoint, query: str, **asked: Any) -> list[tuple[str, str | None]]:
    """The names that are found, with how each is invoked."""
    await served.tools({})  # asks the servers
    answer = await call(served, "discover_tools", {"query": query, **asked})
    return [(tool["name"], tool.get("invocation")) for tool in answer["structuredContent"]["tools"]]


async def test_everything_is_found_with_how_it_is_invoked(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    of_server = "Search for a task to find its tools (3), and call them with `call_tool`."
    person = "Only a person can invoke it: ask the user to type `/publish`."
    broken = "Its tools cannot be listed: no license found. Only a person can fix that."
    agent = "Start it with your `Agent` tool: `subagent_type` is `auditor`."
    async with endpoint(sandbox, links, shop) as served:
        for query, hit in {
            "put the shop into production": ("/deploy", SKILL.format("deploy")),
            "publish the price list": ("/publish", person),
            "an invoice for a customer": ("invoice", SKILL.format("invoice")),
            "audit the accounts": ("auditor", agent),
            "storm warnings": ("weather@fair", "Use its parts: `/weather:forecast`."),
            "rain and sunshine": ("/weather:forecast", SKILL.format("weather:forecast")),
            "broken": ("mcp__broken__*", broken),
            "git": ("mcp__git__*", of_server),
            "what changed in the working tree": ("git__status", "Call it directly: it is listed."),
        }.items():
            assert (await discover(served, query))[0] == hit, query


@pytest.mark.long
async def test_what_an_agent_reports_is_found_at_once_and_never_called(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    reported = [
        {"name": "mcp__crm__find_customer", "description": "Look a customer up"},
        {"name": "mcp__git__evil", "description": "Look a secret up"},  # of a server that lists no such tool
        {"name": "mcp__remit__git__status", "description": "Look a status up"},  # the gateway's own
        {"name": "Lexicon", "description": "Look a word up"},
    ]
    serves_not = "Remit does not serve it: call `{}` directly, if your client has it."
    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})
        known = await call(served, "report_available_tools", {"tools": reported})
        assert not known.get("isError"), told(known)
        hits = await discover(served, "look up a customer, a word, a secret or a status")
        found = [name for name, how in hits if how == serves_not.format(name)]
        assert sorted(found) == ["Lexicon", "mcp__crm__find_customer"], hits
        assert not {"mcp__git__evil", "mcp__remit__git__status"} & dict(hits).keys()
        for name in found:
            answer = await call(served, "call_tool", {"name": name})
            assert (answer["isError"], told(answer).endswith(serves_not.format(name))) == (True, True)
            with pytest.raises(JsonRpcError, match="Unknown tool"):
                await call(served, name)
        why = await call(served, "why_tool", {"name": "mcp__crm__find_customer"})
        assert why["structuredContent"]["next_step"].endswith(serves_not.format("mcp__crm__find_customer"))
        assert not links.asked
    blog = sandbox.project("blog")
    async with endpoint(sandbox, links, blog) as served:
        for query in ("look up", "Lexicon", "deploy", "invoice", "auditor", "find customer"):
            assert (
                not {"/deploy", "invoice", "auditor", "Lexicon"} & dict(await discover(served, query)).keys()
            )
        said = {told(await call(served, "call_tool", {"name": name})) for name in ("Lexicon", "/deploy")}
        assert said == {
            f"Unknown tool: {name}\nhint: search for it with `discover_tools`"
            for name in ("Lexicon", "/deploy")
        }


async def test_a_built_in_ranks_below_an_equal_tool(sandbox: Sandbox, shop: Path, links: FakeLinks) -> None:
    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})
        bash = {"name": "Bash", "description": "Run a command in the shell"}
        await call(served, "report_available_tools", {"tools": [bash]})
        assert await discover(served, "run a command in the shell") == [
            ("git__run", "Call it directly: it is listed."),
            ("Bash", "Call it directly: it is built into your client."),
        ]


@pytest.mark.long
async def test_a_rule_hides_what_the_client_has_itself(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    rules = 'block = ["/deploy", "/publish", "mcp__crm__*", "Skill"]\n'
    sandbox.write(
        shop / "remit.toml",
        f'{rules}[states.ready]\nfile = "r"\n[tools."mcp__till__*"]\nstates = ["ready"]\n',
    )
    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})
        told_of = [
            {"name": f"mcp__{each}__find", "description": "Find a customer"} for each in ("crm", "till")
        ]
        await call(served, "report_available_tools", {"tools": told_of})
        assert await discover(served, "put the shop into production") == []
        assert await discover(served, "publish the price list") == []
        assert [name for name, _ in await discover(served, "find a customer")] == ["invoice"]
        (shop / "r").touch()
        assert "mcp__till__find" in dict(await discover(served, "find a customer"))
        refused = await call(served, "call_tool", {"name": "/deploy"})
        assert (refused["isError"], refused["structuredContent"]["gate"]) == (True, "policy")
        ((_, how),) = await discover(served, "invoice")
        assert how == "Only a person can invoke it here: ask the user to type `/invoice`."


async def test_call_tool_explains_instead_of_calling(sandbox: Sandbox, shop: Path, links: FakeLinks) -> None:
    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})
        for name, text in {
            "/deploy": f"`/deploy` is a slash command. {SKILL.format('deploy')}",
            "deploy": f"`/deploy` is a slash command. {SKILL.format('deploy')}",
            "auditor": "`auditor` is a subagent. Start it with your `Agent` tool:",
            "git": "`git` is an MCP server. Search for a task",
            "statuss": "Unknown tool: statuss\nhint: did you mean `git__status`?",
            "get_scope_state": "hint: did you mean `remit-memory__get_scope_state`?",
            "deploi": "hint: did you mean `/deploy`?",
            "why_tol": "hint: did you mean `why_tool`?",
            "nosuch__tool": "Unknown tool: nosuch__tool\nhint: search for it with `discover_tools`",
            "call_toool": "Unknown tool: call_toool\nhint: search for it with `discover_tools`",
        }.items():
            answer = await call(served, "call_tool", {"name": name})
            assert answer["isError"]
            assert text in told(answer)
        with pytest.raises(JsonRpcError) as raised:
            await call(served, "/deploy")
        assert raised.value.code == ErrorCode.INVALID_PARAMS
        assert str(raised.value).endswith(SKILL.format("deploy"))
        with pytest.raises(JsonRpcError, match="did you mean `remit-memory__get_scope_state`"):
            await call(served, "get_scope_state")
        assert not links.asked


async def test_wrong_arguments_are_told_to_the_model_with_the_schema(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    codes = [int(ErrorCode.INVALID_PARAMS), int(ErrorCode.INVALID_PARAMS), int(ErrorCode.INTERNAL_ERROR)]

    def answer(_params: Params) -> dict[str, Any]:
        raise JsonRpcError(codes.pop(0), "`path` is missing")

    links.answers["git"] = answer
    big = {"type": "object", "properties": {f"property_{at}": {"type": "string"} for at in range(200)}}
    links.stocks["git"] = ServerLists(tools=[offered("status"), offered("big", inputSchema=big)])
    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})
        flat = await call(served, "call_tool", {"name": "git__status", "path": "x"})
        assert told(flat) == (
            "`call_tool`: unknown argument `path`: the arguments of the tool belong in `arguments`"
        )
        wrong = await call(served, "call_tool", {"name": "git__status"})
        assert wrong["isError"]
        assert "`path` is missing" in told(wrong)
        assert 'hint: its input schema is {"type": "object", "properties": {"path"' in told(wrong)
        wrong = await call(served, "call_tool", {"name": "git__big"})
        assert told(wrong).endswith("`discover_tools` with `detail` set to `full` returns its input schema")
        with pytest.raises(JsonRpcError):  # the server's own failure stays what it is
            await call(served, "call_tool", {"name": "git__status"})


async def test_memory_alone_tells_the_nearest_of_its_names(sandbox: Sandbox, shop: Path) -> None:
    async def find_reachable() -> frozenset[str] | None:
        return None

    with sandbox.memory_of(str(shop)) as memory:
        served = MemoryEndpoint(memory, find_reachable)
        for name, told_of in (
            ("remit-memory__get_scope_state", "Unknown tool: {}; did you mean `get_scope_state`?"),
            ("fly", "Unknown tool: {}"),
        ):
            with pytest.raises(JsonRpcError) as raised:
                await served.call({"name": name, "arguments": {}}, FakeCaller())
            assert str(raised.value) == told_of.format(name)


async def test_a_room_limits_the_gateway_and_not_the_tool_that_starts_commands(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(shop / "remit.toml", '[rooms.work]\ntools = ["mcp__git__*", "/deploy"]\n')
    async with endpoint(sandbox, links, shop, room="work") as served:
        assert await discover(served, "put the shop into production") == [("/deploy", SKILL.format("deploy"))]
        assert await discover(served, "an invoice for a customer") == []
