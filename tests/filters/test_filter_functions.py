from dataclasses import replace

import pytest

from remit.decision.context import FilterRefusal
from remit.decision.globs import glob
from remit.decision.kinds import Kind
from remit.decision.state_snapshot import Snapshot, StateValue
from remit.decision.tools import Definition
from remit.filters.filter_functions import (
    FilterStates,
    FilterTool,
    ServerFilter,
    ToolFilterContext,
    filter_context,
    filter_tool,
)
from support.builders import SHOP, context, server


def no(context: ToolFilterContext, tool: FilterTool) -> bool:
    return context.server_name != tool.server_name


def fail(*_: object) -> bool:
    raise KeyError("secret")


FAILING = fail.__code__.co_firstlineno + 1


class Object:
    def __call__(self, context: ToolFilterContext, tool: FilterTool) -> bool:
        return context.server_name != tool.server_name


def reason(refusal: FilterRefusal | None) -> str | None:
    return None if refusal is None else refusal.reason


def test_only_a_plain_yes_lets_a_tool_through() -> None:
    asked = ServerFilter(no)
    assert asked.refusal(True) is None
    assert reason(asked.refusal(False)) == "hidden by the filter `no`"
    assert reason(asked.refusal(None)) == "the filter `no` returned NoneType, expected True or False"
    assert reason(asked.refusal(1)) == "the filter `no` returned int, expected True or False"
    assert reason(ServerFilter(Object()).refusal(False)) == "hidden by the filter `Object`"


def test_a_failure_names_its_type_and_not_what_it_says() -> None:
    failed = ServerFilter(no).failure(ValueError("secret"))
    assert failed == FilterRefusal("the filter `no` failed: ValueError")


def test_a_person_reads_which_line_of_which_file_failed() -> None:
    asked = ServerFilter(fail, path=__file__)
    with pytest.raises(KeyError) as raised:
        fail()
    found = asked.failure(raised.value)
    assert found.reason == "the filter `fail` failed: KeyError"
    assert found.detail == f"{found.reason} ({__file__} line {FAILING})"
    assert found.unlock == f"change `fail` in {__file__} line {FAILING}"
    elsewhere = asked.failure(ValueError())
    assert elsewhere.unlock == f"change `fail` in {__file__}"


def test_a_filter_may_be_for_some_servers_only() -> None:
    plugin = server("git")._replace(plugin="ci")
    builtin = server()._replace(server=None, kind=Kind.BUILTIN)
    assert [ServerFilter(no).concerns(each) for each in (server("git"), builtin)] == [True, True]
    assert [ServerFilter(no, glob("g*")).concerns(each) for each in (server("git"), builtin)] == [True, False]
    assert ServerFilter(no, glob("plugin:ci:*")).concerns(plugin)


def test_a_filter_sees_project_agent_server_states_and_what_the_run_brings() -> None:
    snapshot = Snapshot(states={"a": StateValue(True, ""), "b": StateValue(None, "")})
    states = FilterStates(snapshot)
    seen = filter_context(replace(context(), run_context={"user": 7}), "git", states)
    assert (seen.project, seen.workspace, seen.client) == (SHOP.project, SHOP.dir, "claude-code")
    assert (seen.server_name, seen.states, seen.run_context) == (
        "git",
        {"a": True, "b": None},
        {"user": 7},
    )


def test_the_main_session_is_an_agent_without_a_name() -> None:
    seen = filter_context(context(), None, FilterStates(Snapshot()))
    assert (seen.agent.name, seen.agent.parents) == ("", ())


def test_a_filter_sees_the_servers_own_name_next_to_the_canonical_one() -> None:
    listed = server("my disk")._replace(name="mcp__my_disk__wipe_all", kind=Kind.MCP_TOOL)
    definition = Definition(name=listed.name, server="my disk", tool="wipe.all")
    seen = filter_tool(listed, definition)
    assert (seen.name, seen.server_name, seen.canonical_name) == (
        "wipe.all",
        "my disk",
        "mcp__my_disk__wipe_all",
    )
    assert filter_tool(listed, None).name == "wipe_all"
    plugins = listed._replace(plugin="ci", name="mcp__plugin_ci_my_disk__wipe")
    assert filter_tool(plugins, None).name == "wipe"
    builtin = server()._replace(name="Bash", server=None, kind=Kind.BUILTIN)
    assert (filter_tool(builtin, None).name, filter_tool(builtin, None).server_name) == ("Bash", None)


def test_the_states_note_which_of_them_were_read() -> None:
    states = FilterStates(Snapshot(states={"a": StateValue(True, ""), "b": StateValue(None, "")}))
    assert (states["a"], states.get("c"), states.read) == (True, None, {"a", "c"})
    assert (len(states), list(states), states.read) == (2, ["a", "b"], {"a", "b", "c"})


def test_states_that_were_not_checked_cannot_be_read() -> None:
    with pytest.raises(RuntimeError, match="not checked"):
        FilterStates(None).get("a")
