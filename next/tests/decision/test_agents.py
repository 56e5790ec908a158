"""What an agent has: its servers, its tools, and what it inherits."""

import pytest

from remit.decision import Agent, AgentProfile, Gate, Scope, check_servers, decide, resolve_agent
from remit.errors import NotFoundError, PolicyError
from support.builders import context, server, tool

LISTS_GIT = AgentProfile(servers=("git",))


def has(agent: Agent, label: str, *, owner: str | None = None) -> bool:
    return decide(server(label, agent=owner), context(agent=agent)).gate is not Gate.AGENT


def test_an_explicit_list_is_all_and_an_empty_one_nothing() -> None:
    assert has(Agent("a", LISTS_GIT), "git")
    assert not has(Agent("a", LISTS_GIT), "web")
    assert not has(Agent("a", AgentProfile(servers=())), "git")


def test_without_a_list_project_and_parent_are_inherited_as_asked() -> None:
    parent = Agent("p", AgentProfile(servers=("web",)))
    closed = AgentProfile(inherits_project=False)
    assert has(Agent("a", AgentProfile()), "git")
    assert not has(Agent("a", closed), "git")
    child = Agent("a", closed._replace(inherits_parent=True), (parent,))
    assert has(child, "web")
    assert not has(child, "git")


def test_an_agent_whose_parent_is_unknown_inherits_nothing_and_says_so() -> None:
    orphan = Agent("a", AgentProfile(inherits_project=False, inherits_parent=True))
    decision = decide(server(), context(agent=orphan))
    assert decision.reason == "agent `a` inherits its parent's servers, and its parent is not known here"
    assert decision.unlock == "name its parent with `--parent`"
    assert has(orphan._replace(is_from_main=True), "git")


def test_an_agents_own_server_replaces_the_projects_of_that_name() -> None:
    owner = Agent("a", AgentProfile(servers=("git",), own_servers=("git",)))
    assert has(owner, "git", owner="a")
    assert not has(owner, "git")


def test_a_child_never_exceeds_the_tool_lists_above_it() -> None:
    parent = Agent("p", AgentProfile(tools=("mcp__git__log",)))
    child = Agent("c", AgentProfile(tools=("mcp__git",)), (parent,))
    gates = [decide(tool(f"mcp__git__{name}"), context(agent=child)).gate for name in ("log", "push")]
    assert gates == [None, Gate.AGENT]


def test_denied_tools_are_excluded_unless_only_some_of_their_uses_are() -> None:
    agent = Agent("a", AgentProfile(denied_tools=("mcp__git", "mcp__web__get(x)")))
    assert decide(tool(), context(agent=agent)).gate is Gate.AGENT
    assert decide(tool("mcp__web__get"), context(agent=agent)).gate is None


def test_an_agent_is_put_below_its_parents_and_a_wrong_name_says_which_exist() -> None:
    profiles = {"lead": AgentProfile(allowed_agents=("Scout",)), "Scout": AgentProfile()}
    scout = resolve_agent("scout", ["lead"], profiles)
    assert (scout.name, [parent.name for parent in scout.parents]) == ("Scout", ["lead"])
    with pytest.raises(NotFoundError, match="no agent is called `scot`") as error:
        resolve_agent("scot", [], profiles)
    assert error.value.hint == "the agents here are: `Scout`, `lead`"
    with pytest.raises(PolicyError, match="may not start"):
        resolve_agent("lead", ["lead"], profiles)


def test_a_listed_server_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(PolicyError, match="lists the server `git`, which does not exist here"):
        check_servers(Agent("a", LISTS_GIT), ["web"])
    check_servers(Agent("a", LISTS_GIT._replace(own_servers=("git",))), [])


def test_an_agents_server_is_nobody_elses() -> None:
    assert decide(server(agent="a", scope=Scope.GLOBAL), context()).gate is Gate.AGENT
