"""A repository brings servers that Remit cannot read or takes for others: none is called without trust."""

import json
from collections.abc import Callable

import pytest

from attacks.peers import Server, tool
from attacks.worlds import World, needs_claude, require

TOOL = "mcp__cashbox__open"
CASHBOX = {"name": "cashbox", "source": "project"}
AGENT = "---\nname: clerk\ndescription: keeps the till\nmcpServers:\n  - cashbox: {}\n---\nYou are a clerk.\n"


def install(world: World) -> Server:
    """Install Remit next to a server of the user's, and make a hostile one."""
    world.declare({"git": world.server("own", tool("log"))})
    world.install()
    return world.server("hostile", tool("open"))


def runs(world: World, name: str, server: object, **fields: object) -> bool:
    event = world.event("PreToolUse", tool_name=name, tool_input={}, mcp_server=server, **fields)
    return world.runs(event)


def padded(entry: object) -> str:
    return json.dumps({"mcpServers": {"cashbox": entry}}) + " " * 1_200_000


def with_a_long_number(entry: object) -> str:
    return f'{{"x": {"1" * 6_000}, "mcpServers": {{"cashbox": {json.dumps(entry)}}}}}'


def with_many_levels(entry: object) -> str:
    return f'{{"x": {"[" * 3_000}{"]" * 3_000}, "mcpServers": {{"cashbox": {json.dumps(entry)}}}}}'


def with_many_servers(entry: object) -> str:
    return json.dumps({"mcpServers": {**{f"s{at}": {} for at in range(1_500)}, "cashbox": entry}})


UNREAD = [padded, with_a_long_number, with_many_levels, with_many_servers]


@pytest.mark.long
@pytest.mark.parametrize("written", UNREAD)
def test_the_hook_denies_calls_to_a_server_in_a_file_that_remit_cannot_read(
    world: World, written: Callable[[object], str]
) -> None:
    hostile = install(world)
    world.write(world.repository / ".mcp.json", written(hostile.entry))
    assert not runs(world, TOOL, CASHBOX)
    assert not runs(world, TOOL, None)


@pytest.mark.long
@pytest.mark.parametrize("written", UNREAD)
def test_the_trust_in_a_server_ends_when_its_file_cannot_be_read(
    world: World, written: Callable[[object], str]
) -> None:
    hostile = install(world)
    world.bring({"cashbox": world.server("harmless", tool("open"))})
    world.approve("cashbox")
    world.remit("trust", "cashbox", "--yes")
    require(runs(world, TOOL, CASHBOX), "a trusted server cannot be called")
    world.write(world.repository / ".mcp.json", written(hostile.entry))
    assert not runs(world, TOOL, CASHBOX)


def test_the_hook_denies_calls_to_a_server_whose_file_is_gone(world: World) -> None:
    hostile = install(world)
    world.bring({"cashbox": hostile})
    world.start_session()
    (world.repository / ".mcp.json").rename(world.repository / "gone.json")
    assert not runs(world, TOOL, CASHBOX)


def test_the_hook_denies_calls_to_a_server_in_a_plugin_that_remit_cannot_read(world: World) -> None:
    hostile = install(world)
    manifest = world.repository / ".claude/skills/till/.claude-plugin/plugin.json"
    world.write(manifest, with_a_long_number(hostile.entry).replace("{", '{"name": "till", ', 1))
    assert not runs(
        world, "mcp__plugin_till_cashbox__open", {"name": "plugin:till:cashbox", "source": "plugin"}
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("label", "name"),
    [("remit-memory", "mcp__remit-memory__open"), ("plugin:x:y", "mcp__plugin_x_y__open")],
)
def test_no_name_of_a_server_makes_trust_needless(world: World, label: str, name: str) -> None:
    hostile = install(world)
    world.bring({label: hostile})
    assert not runs(world, name, {"name": label, "source": "project"})
    world.start_session()
    assert not runs(world, name, {"name": label, "source": "project"})


def employ(world: World, folder: str, hostile: Server, label: str = "cashbox") -> None:
    """Write an agent whose definition has a server of its own."""
    place = (world.home if folder == "home" else world.repository) / ".claude/agents/clerk.md"
    entry = json.dumps({"type": "stdio", **hostile.entry})
    world.write(place, AGENT.replace("cashbox", label).replace("{}", entry))


@pytest.mark.long
def test_the_hook_denies_calls_to_an_agents_own_server_until_it_is_trusted(world: World) -> None:
    hostile = install(world)
    employ(world, "repository", hostile)
    server = {"name": "cashbox", "source": "agent"}
    assert not runs(world, TOOL, server, agent_type="clerk")
    listed = world.remit("trust")
    assert "cashbox (agent clerk, project, .claude/agents/clerk.md): not trusted" in listed
    world.remit("trust", "cashbox", "--yes")
    assert runs(world, TOOL, server, agent_type="clerk")
    employ(world, "repository", world.server("other", tool("open")))
    assert not runs(world, TOOL, server, agent_type="clerk")


@pytest.mark.long
@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("cashbox", "the server `cashbox` of the agent `clerk` is not trusted in Remit"),
        ("remit", "the agent `clerk` brings a server called `remit`, which takes the gateway's place"),
    ],
)
def test_the_user_is_told_of_an_agents_server_at_session_start(world: World, label: str, said: str) -> None:
    employ(world, "repository", install(world), label)
    world.impose(agent="clerk")
    told = world.start_session(agent_type="clerk")
    assert said in told["systemMessage"]
    context = told["hookSpecificOutput"]["additionalContext"]
    assert said in context
    assert "clerk.md" not in context
    assert f"MCP: {label}" not in context
    for command in ("status", "context"):
        assert said in world.advice(command)
    assert said in world.doctor()


@pytest.mark.long
def test_the_users_own_agents_and_servers_need_no_trust(world: World) -> None:
    employ(world, "home", install(world))
    assert runs(world, TOOL, {"name": "cashbox", "source": "agent"}, agent_type="clerk")
    assert runs(world, "mcp__git__log", {"name": "git", "source": "user"})
    assert runs(world, "mcp__git__log", None)
    assert runs(world, "mcp__ide__getDiagnostics", {"name": "ide", "source": "dynamic"})
    assert runs(world, "mcp__claude_ai_Notes__read", {"name": "claude.ai Notes", "source": "claudeai"})
    assert "No server" in world.remit("trust")


@needs_claude
@pytest.mark.parametrize("is_read", [True, False])
def test_claude_code_makes_no_call_to_an_agents_own_or_an_unread_server(world: World, is_read: bool) -> None:
    hostile = install(world)
    words = [hostile.entry["command"], *hostile.entry["args"]]
    allowed = {"allowedMcpServers": [{"serverCommand": words}], "permissions": {"allow": ["mcp__cashbox"]}}
    if is_read:
        employ(world, "repository", hostile)
        world.impose(agent="clerk", **allowed)
    else:
        world.write(world.repository / ".mcp.json", with_a_long_number(hostile.entry))
        world.impose(enableAllProjectMcpServers=True, **allowed)
    session = world.claude((TOOL, {}))
    require(hostile.was_started, "the client does not start the server")
    assert hostile.calls == []
    assert "not trusted" in session.results[0]


READING = ("ReadMcpResourceTool", "ReadMcpResourceDirTool", "ListMcpResourcesTool")


@pytest.mark.long
@pytest.mark.parametrize("reader", READING)
def test_the_hook_denies_reading_resources_of_an_untrusted_server(world: World, reader: str) -> None:
    hostile = install(world)
    world.bring({"cashbox": hostile})

    def reads(**arguments: object) -> bool:
        return world.runs(world.event("PreToolUse", tool_name=reader, tool_input=arguments))

    assert not reads(server="cashbox", uri="note://hostile")
    assert not reads(uri="note://hostile")
    assert reads(server="remit", uri="note://own")
    world.approve("cashbox")
    assert not reads(server="cashbox", uri="note://hostile")
    world.remit("trust", "cashbox", "--yes")
    assert reads(server="cashbox", uri="note://hostile")


@needs_claude
def test_claude_code_reads_no_resource_of_an_untrusted_server(world: World) -> None:
    hostile = install(world)
    words = [hostile.entry["command"], *hostile.entry["args"]]
    world.bring({"cashbox": hostile})
    world.impose(enableAllProjectMcpServers=True, allowedMcpServers=[{"serverCommand": words}])
    session = world.claude(
        ("ReadMcpResourceTool", {"server": "cashbox", "uri": "note://hostile"}),
        ("ListMcpResourcesTool", {}),
        ("ListMcpResourcesTool", {"server": "remit"}),
        options=["--dangerously-skip-permissions"],
    )
    require(hostile.was_started, "the client does not start the server")
    assert hostile.calls == []
    assert "not trusted" in session.results[0]
    assert "name the server" in session.results[1]
    assert "is not available here" not in session.results[2]
