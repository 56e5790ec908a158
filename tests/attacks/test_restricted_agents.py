"""Rules for an agent and for all that it starts: no other name and no long text frees it."""

import pytest

from attacks.peers import Server, tool
from attacks.worlds import World, require

FILTER = """
def tool_filter(context, tool):
    above = [context.agent.name, *(each.name for each in context.agent.parents)]
    return "scout" not in above or tool.server_name != "own"
"""


@pytest.fixture
def own(world: World) -> Server:
    """The user's server, which the agent `scout` may not use."""
    own = world.server("own", tool("read_it"))
    world.declare({"own": own})
    world.configure('[agents.scout]\nblock = ["mcp__own__*", "Read"]\n')
    world.install()
    return own


def ask_hook(world: World, tool_name: str, agent: str = "scout", **given: object) -> str | None:
    """What the hook answers to a call by an agent in a client that never asks."""
    server = {"mcp_server": {"name": "remit", "source": "user"}} if tool_name.startswith("mcp__") else {}
    answer = world.hook(
        "PreToolUse",
        permission_mode=given.pop("permission_mode", "bypassPermissions"),
        transcript_path=str(world.home / "s-1.jsonl"),
        agent_type=agent,
        agent_id="a2",
        tool_name=tool_name,
        tool_input=given,
        tool_use_id="toolu_01",
        **server,
    )
    return answer.get("permissionDecision")


def start(world: World, agent: str, *, below: str | None = None, description: str = "x") -> None:
    """Keep what the client keeps of an agent that was started."""
    above = {"agentType": below, "spawnDepth": 1}
    meta = {"agentType": agent, "spawnDepth": 1, "description": description}
    if below is not None:
        world.write(world.home / "s-1/subagents/agent-a1.meta.json", above)
        meta |= {"parentAgentId": "a1", "spawnDepth": 2}
    world.write(world.home / "s-1/subagents/agent-a2.meta.json", meta)


SPELLINGS = ["own__read_it", "own__read.it", "mcp__own__read_it", "mcp__remit__mcp__own__read_it"]


@pytest.mark.long
@pytest.mark.parametrize("is_listed", [True, False])
def test_no_spelling_frees_an_agent(world: World, own: Server, is_listed: bool) -> None:
    start(world, "scout")
    if is_listed:
        with world.serve_as_installed() as gateway:
            for name in SPELLINGS:
                gateway.call("call_tool", name=name)
            require(len(own.calls) == len(SPELLINGS), "the gateway does not know each spelling")
    assert [ask_hook(world, "mcp__remit__call_tool", name=name) for name in SPELLINGS] == ["deny"] * 4
    assert ask_hook(world, "mcp__remit__own__read_it") == "deny"
    start(world, "clerk")
    assert ask_hook(world, "mcp__remit__own__read_it", "clerk") != "deny"


@pytest.mark.long
@pytest.mark.usefixtures("own")
@pytest.mark.parametrize("length", [1, 70_000, 9_000_000])
def test_a_long_description_does_not_free_a_child(world: World, length: int) -> None:
    start(world, "helper", below="scout", description="y" * length)
    assert ask_hook(world, "Read", "helper") == "deny"
    assert ask_hook(world, "mcp__remit__own__read_it", "helper") == "deny"
    assert ask_hook(world, "Edit", "helper", file_path="notes.txt") != "deny"


@pytest.mark.usefixtures("own")
def test_a_filter_that_looks_at_parents_holds_where_the_parent_is_unknown(world: World) -> None:
    world.write(world.home / ".claude/agents/scout.md", "---\nname: scout\ndescription: Looks.\n---\nLook.\n")
    filters = world.home / ".config/remit/filters.py"
    world.write(filters, FILTER)
    world.configure(f'[filters]\nfiles = ["{filters}"]\n')
    start(world, "helper")
    require(ask_hook(world, "mcp__remit__own__read_it", "helper") != "deny", "the filter refuses everybody")
    start(world, "helper", below="scout", description="y" * 9_000_000)
    assert ask_hook(world, "mcp__remit__own__read_it", "helper") == "deny"


@pytest.mark.long
def test_plan_mode_holds_for_a_tool_that_calls_itself_read_only(world: World) -> None:
    world.declare({"own": world.server("own", tool("delete_all", readOnlyHint=True))})
    world.settle(permissions={"allow": ["mcp__own__*"]})
    world.configure("token_budget = 6000\n")  # lists tools that were not used, too
    world.install()
    with world.serve_as_installed() as gateway:
        require("own__delete_all" in gateway.tools(), "the gateway does not list the tool")
    start(world, "clerk")
    assert ask_hook(world, "mcp__remit__own__delete_all", "clerk", permission_mode="plan") == "ask"
    assert ask_hook(world, "mcp__remit__discover_tools", "clerk", permission_mode="plan") != "deny"
