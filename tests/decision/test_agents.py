import pytest

from remit.decision.agents import (
    MAX_DEPTH,
    Agent,
    AgentProfile,
    check_servers,
    resolve_agent,
    server_refusal,
    tool_refusal,
)
from remit.decision.kinds import Kind
from remit.errors import AgentError

PROJECT = ("git", "wiki")  # the project's servers
PARENT = Agent(name="lead", profile=AgentProfile(servers=("wiki", "ledger"), own_servers=("ledger",)))


def has(agent: Agent) -> set[str]:
    """The servers that an agent has: the project's by name, agents' own with their owner."""
    project = {label for label in PROJECT if server_refusal(agent, (label,), owner=None) is None}
    return project | {f"{owner}'s ledger" for owner in ("lead", "scout") if _has_own(agent, owner)}


def _has_own(agent: Agent, owner: str) -> bool:
    return server_refusal(agent, ("ledger",), owner=owner) is None


@pytest.mark.parametrize(
    ("listed", "inherits_project", "inherits_parent", "servers"),
    [
        (("git",), True, False, {"git"}),
        (("git",), True, True, {"git"}),
        (("git",), False, False, {"git"}),
        (("git",), False, True, {"git"}),
        (None, True, False, {"git", "wiki"}),
        (None, True, True, {"git", "wiki", "lead's ledger"}),
        (None, False, False, set[str]()),
        (None, False, True, {"wiki", "lead's ledger"}),
    ],
)
def test_an_explicit_list_is_all_and_otherwise_project_and_parent_are_inherited_as_asked(
    listed: tuple[str, ...] | None, inherits_project: bool, inherits_parent: bool, servers: set[str]
) -> None:
    profile = AgentProfile(servers=listed, inherits_project=inherits_project, inherits_parent=inherits_parent)
    assert has(Agent(name="child", profile=profile, parents=(PARENT,))) == servers


def test_an_empty_list_means_no_servers() -> None:
    assert has(Agent(name="child", profile=AgentProfile(servers=()))) == set()


def test_without_a_parent_nothing_is_inherited_from_one() -> None:
    profile = AgentProfile(inherits_project=False, inherits_parent=True)
    assert has(Agent(name="child", profile=profile)) == set()


def test_what_the_main_session_starts_inherits_all_that_the_main_session_has() -> None:
    profile = AgentProfile(inherits_project=False, inherits_parent=True)
    assert has(Agent(name="child", profile=profile, is_from_main=True)) == {"git", "wiki"}
    alone = AgentProfile(inherits_project=False)
    assert has(Agent(name="child", profile=alone, is_from_main=True)) == set()


def test_a_refusal_says_that_the_parent_is_not_known() -> None:
    child = Agent(name="child", profile=AgentProfile(inherits_parent=True))
    words = "agent `child` inherits its parent's servers, and its parent is not known here"
    assert server_refusal(child, ("ledger",), owner="lead") == words
    assert server_refusal(child, ("git",), owner=None) is None


def test_a_child_may_name_a_server_that_its_parent_did_not_load() -> None:
    child = Agent(name="child", profile=AgentProfile(servers=("git",)), parents=(PARENT,))
    assert server_refusal(PARENT, ("git",), owner=None) is not None
    assert server_refusal(child, ("git",), owner=None) is None


def test_a_server_that_an_agent_brings_along_stands_before_the_projects_of_that_name() -> None:
    scout = Agent(name="scout", profile=AgentProfile(servers=("git",), own_servers=("git",)))
    assert server_refusal(scout, ("git",), owner=None) == "agent `scout` brings its own server of this name"
    assert server_refusal(scout, ("git",), owner="scout") is None
    assert (
        server_refusal(scout, ("git",), owner="lead") == "agent `scout` has only the servers it lists: `git`"
    )


def test_a_refusal_says_why() -> None:
    alone = Agent(name="alone", profile=AgentProfile(inherits_project=False))
    assert (
        server_refusal(alone, ("git",), owner=None) == "agent `alone` does not inherit the project's servers"
    )
    assert server_refusal(alone, ("git",), owner="scout") == "it is agent `scout`'s own"
    none = Agent(name="none", profile=AgentProfile(servers=()))
    assert server_refusal(none, ("git",), owner=None) == "agent `none` has only the servers it lists: none"
    child = Agent(
        name="child", profile=AgentProfile(inherits_project=False, inherits_parent=True), parents=(alone,)
    )
    assert server_refusal(child, ("git",), owner=None) == (
        "agent `child` inherits from its parent, and agent `alone` does not inherit the project's servers"
    )


@pytest.mark.parametrize(
    ("tools", "name", "kind", "admitted"),
    [
        (None, "Read", Kind.BUILTIN, True),
        (("Read",), "Read", Kind.BUILTIN, True),
        (("Read",), "Write", Kind.BUILTIN, False),
        (("*",), "Write", Kind.BUILTIN, True),
        (("Bash(git add:*)",), "Bash", Kind.BUILTIN, True),
        (("mcp__git",), "mcp__git__commit", Kind.MCP_TOOL, True),
        (("mcp__git__*",), "mcp__git__commit", Kind.MCP_TOOL, True),
        (("mcp__git__log",), "mcp__git__commit", Kind.MCP_TOOL, False),
        (("mcp__git__log",), "mcp__git__*", Kind.MCP_SERVER, True),
        (("mcp__git",), "mcp__git__*", Kind.MCP_SERVER, True),
        (("Read",), "mcp__git__*", Kind.MCP_SERVER, False),
        (("Read", "Skill"), "ship", Kind.SKILL, True),
        (("Read",), "ship", Kind.SKILL, False),
        (("Skill",), "/ship", Kind.SLASH_COMMAND, True),
        (("Read",), "scout", Kind.SUBAGENT, False),
        (("Task",), "scout", Kind.SUBAGENT, True),
        (("Read",), "quill@orchard", Kind.PLUGIN, True),
    ],
)
def test_a_list_of_tools_admits_what_it_names(
    tools: tuple[str, ...] | None, name: str, kind: Kind, admitted: bool
) -> None:
    agent = Agent(name="child", profile=AgentProfile(tools=tools))
    assert (tool_refusal(agent, name, kind) is None) == admitted


def test_what_is_denied_is_excluded_unless_only_some_of_its_uses_are() -> None:
    agent = Agent(name="child", profile=AgentProfile(denied_tools=("mcp__git", "Write", "Bash(rm:*)")))
    assert tool_refusal(agent, "mcp__git__commit", Kind.MCP_TOOL) == "agent `child` is denied it"
    assert tool_refusal(agent, "Write", Kind.BUILTIN) == "agent `child` is denied it"
    assert tool_refusal(agent, "Bash", Kind.BUILTIN) is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [("Read", Kind.BUILTIN), ("mcp__git__commit", Kind.MCP_TOOL), ("mcp__git__*", Kind.MCP_SERVER)],
)
def test_a_star_denies_everything(name: str, kind: Kind) -> None:
    agent = Agent(name="child", profile=AgentProfile(tools=("Read",), denied_tools=("*",)))
    assert tool_refusal(agent, name, kind) == "agent `child` is denied it"


def test_a_child_never_exceeds_the_lists_of_those_above_it() -> None:
    top = Agent(name="top", profile=AgentProfile(tools=("Read", "Write", "mcp__git")))
    lead = Agent(name="lead", profile=AgentProfile(denied_tools=("Write",)), parents=(top,))
    child = Agent(name="child", profile=AgentProfile(tools=("Read", "Write", "Bash")), parents=(lead, top))
    assert tool_refusal(child, "Read", Kind.BUILTIN) is None
    assert tool_refusal(child, "Write", Kind.BUILTIN) == "agent `lead` is denied it"
    assert tool_refusal(child, "Bash", Kind.BUILTIN) == "it is not among the tools of agent `top`"


def test_an_agent_may_start_the_agents_that_it_is_allowed() -> None:
    agent = Agent(name="child", profile=AgentProfile(allowed_agents=("scout",)))
    assert tool_refusal(agent, "scout", Kind.SUBAGENT) is None
    assert tool_refusal(agent, "lead", Kind.SUBAGENT) == "agent `child` may not start it"


PROFILES = {
    "lead": AgentProfile(allowed_agents=("scout",)),
    "scout": AgentProfile(),
    "loner": AgentProfile(allowed_agents=()),
}


def test_an_agent_is_put_to_work_below_its_parents() -> None:
    employed = resolve_agent("scout", ["lead"], PROFILES)
    assert (employed.name, [each.name for each in employed.parents]) == ("scout", ["lead"])
    deep = resolve_agent("scout", ["scout", "lead"], PROFILES)
    assert [each.name for each in deep.parents] == ["scout", "lead"]
    assert [each.name for each in deep.parents[0].parents] == ["lead"]


def test_the_case_of_a_name_matters_only_where_two_differ_by_it() -> None:
    assert resolve_agent("SCOUT", ["Lead"], PROFILES).name == "scout"
    with pytest.raises(AgentError, match="no agent is called `sCout`"):
        resolve_agent("sCout", [], {"scout": AgentProfile(), "Scout": AgentProfile()})


@pytest.mark.parametrize(
    ("name", "parents", "message", "hint"),
    [
        ("nobody", [], "no agent is called `nobody`", "the agents here are: `lead`, `loner`, `scout`"),
        ("scout", ["nobody"], "no agent is called `nobody`", "the agents here are: `lead`, `loner`, `scout`"),
        ("loner", ["lead"], "agent `lead` may not start `loner`", "its `allowedAgents` are: `scout`"),
        ("scout", ["loner"], "agent `loner` may not start `scout`", "its `allowedAgents` are: none"),
        (
            "scout",
            ["scout"] * MAX_DEPTH,
            "`scout` would be nested 4 deep; at most 3 are allowed",
            "start it from an agent closer to the main session",
        ),
    ],
)
def test_an_agent_that_cannot_be_put_to_work_is_an_error_that_says_what_can(
    name: str, parents: list[str], message: str, hint: str
) -> None:
    with pytest.raises(AgentError) as raised:
        resolve_agent(name, parents, PROFILES)
    assert (str(raised.value), raised.value.hint) == (message, hint)


def test_a_server_that_does_not_exist_is_an_error_that_lists_what_exists() -> None:
    agent = Agent(name="child", profile=AgentProfile(servers=("git", "own", "typo"), own_servers=("own",)))
    with pytest.raises(AgentError) as raised:
        check_servers(agent, PROJECT)
    assert str(raised.value) == "agent `child` lists the server `typo`, which does not exist here"
    assert raised.value.hint == "the servers here are: `git`, `wiki`"
    check_servers(Agent(name="child", profile=AgentProfile(servers=("git",))), PROJECT)
    with pytest.raises(AgentError, match="does not exist here"):
        check_servers(Agent(name="below", profile=AgentProfile(), parents=(agent,)), PROJECT)


def test_where_no_server_exists_the_error_says_so() -> None:
    with pytest.raises(AgentError) as raised:
        check_servers(Agent(name="child", profile=AgentProfile(servers=("git",))), ())
    assert raised.value.hint == "the servers here are: none"
