from dataclasses import replace

from remit.decision.globs import glob
from remit.decision.kinds import Kind
from remit.decision.state_snapshot import Snapshot, StateValue
from remit.decision.tools import Tool
from remit.policy.callbacks import FilterContext, ServerFilter, filter_context
from support.builders import SHOP, context, server


def no(context: FilterContext, tool: Tool) -> bool:
    return context.server != tool.server


class Object:
    def __call__(self, context: FilterContext, tool: Tool) -> bool:
        return context.server != tool.server


def test_only_a_plain_yes_lets_a_tool_through() -> None:
    asked = ServerFilter(no)
    assert asked.refusal(True) is None
    assert asked.refusal(False) == "the filter `no` says no"
    assert asked.refusal(None) == "the filter `no` answered neither true nor false, but NoneType"
    assert asked.refusal(1) == "the filter `no` answered neither true nor false, but int"
    assert ServerFilter(Object()).refusal(False) == "the filter `Object` says no"


def test_a_failure_names_its_type_and_not_what_it_says() -> None:
    assert ServerFilter(no).failure(ValueError("secret")) == "the filter `no` failed: ValueError"


def test_a_filter_may_be_for_some_servers_only() -> None:
    plugin = server("git")._replace(plugin="ci")
    builtin = server()._replace(server=None, kind=Kind.BUILTIN)
    assert [ServerFilter(no).concerns(each) for each in (server("git"), builtin)] == [True, True]
    assert [ServerFilter(no, glob("g*")).concerns(each) for each in (server("git"), builtin)] == [True, False]
    assert ServerFilter(no, glob("plugin:ci:*")).concerns(plugin)


def test_a_filter_sees_project_agent_server_states_and_what_the_run_brings() -> None:
    snapshot = Snapshot(states={"a": StateValue(True, ""), "b": StateValue(None, "")})
    seen = filter_context(replace(context(), snapshot=snapshot, run_context={"user": 7}), "git")
    assert (seen.project, seen.workspace, seen.client, seen.agent) == (
        SHOP.project,
        SHOP.dir,
        "claude-code",
        None,
    )
    assert (seen.server, seen.states, seen.run_context) == ("git", {"a": True, "b": None}, {"user": 7})
    assert filter_context(context(), None).states == {}
