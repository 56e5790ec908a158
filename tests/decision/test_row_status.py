import pytest

from remit.decision.kinds import Authority, ConfigStatus, Kind, ToolStatus
from remit.decision.row_status import adopt
from remit.decision.scopes import Scope
from remit.decision.tools import Tool, Winner
from support.builders import CLIENT, SHOP, server

SEEN = Tool(
    name="mcp__git__commit",
    kind=Kind.MCP_TOOL,
    client=CLIENT,
    scope=Scope.PROJECT,
    project_hash=SHOP.project.hash,
    dir=SHOP.dir,
    server="git",
    source="hook",
    authority=Authority.HOOK,
)


def judged(*others: Tool, seen: Tool = SEEN) -> ConfigStatus | None:
    return next(tool.config_status for tool in adopt([seen, *others]) if tool.name == seen.name)


def test_a_tool_that_was_only_seen_shares_the_status_of_the_server_it_falls_under() -> None:
    assert judged(server("git", config_status=ConfigStatus.DISABLED)) is ConfigStatus.DISABLED


def test_of_several_servers_of_the_name_the_one_in_force_counts() -> None:
    shadowed = server("git", shadowed_by=Winner(scope=Scope.LOCAL, source="f"))
    off = server("git", scope=Scope.LOCAL, config_status=ConfigStatus.DISABLED)
    assert judged(shadowed, off) is judged(off, shadowed) is ConfigStatus.DISABLED


def test_a_server_that_waits_for_approval_does_not_speak_for_the_one_in_force() -> None:
    pending = server("git", scope=Scope.PROJECT, config_status=ConfigStatus.PENDING)
    assert judged(pending, server("git")) is ConfigStatus.ENABLED


def test_a_server_of_the_tools_own_label_counts_before_one_that_looks_alike() -> None:
    seen = SEEN._replace(name="mcp__a_b__run", server="a_b")
    pending = server("a_b", config_status=ConfigStatus.PENDING)
    assert judged(server("a.b"), pending, seen=seen) is ConfigStatus.PENDING
    assert judged(server("a.b"), seen=seen) is ConfigStatus.ENABLED


def test_a_tool_that_falls_only_under_an_agents_own_server_is_that_agents() -> None:
    own = server("git")._replace(agent="auditor")
    assert [tool.agent for tool in adopt([SEEN, own])] == ["auditor", "auditor"]
    assert [tool.agent for tool in adopt([SEEN, own, server("git")])] == [None, "auditor", None]


def test_what_was_seen_of_a_server_that_left_is_stale_with_it_unless_another_has_its_name() -> None:
    left = server("git", scope=Scope.LOCAL, status=ToolStatus.STALE, config_status=None)
    assert [tool.status for tool in adopt([SEEN, left])] == [ToolStatus.STALE, ToolStatus.STALE]
    assert judged(left, server("git")) is ConfigStatus.ENABLED


def test_a_reported_tool_of_a_server_that_was_declared_once_and_left_stays_as_it_is() -> None:
    reported = SEEN._replace(authority=Authority.REPORT)
    left = server("git", status=ToolStatus.STALE, config_status=None)
    assert adopt([reported, left]) == [reported, left]


def test_a_server_that_was_only_reported_answers_for_no_tool() -> None:
    told = server("git", config_status=None)._replace(authority=Authority.REPORT)
    assert adopt([SEEN, told]) == [SEEN, told]


def test_an_adopted_tool_has_the_label_and_the_plugin_of_its_server() -> None:
    seen = SEEN._replace(name="mcp__plugin_quill_ink__dip", server="plugin_quill_ink")
    ink = server("ink")._replace(name="mcp__plugin_quill_ink__*", plugin="quill")
    assert [(tool.server, tool.plugin) for tool in adopt([seen, ink])] == [("ink", "quill")] * 2


def test_the_longest_servers_name_counts() -> None:
    seen = SEEN._replace(name="mcp__my__server__run", server="my")
    longer = server("my__server", config_status=ConfigStatus.REJECTED)
    assert judged(server("my"), longer._replace(server="my"), seen=seen) is ConfigStatus.REJECTED


@pytest.mark.parametrize(
    "other",
    [
        server("github"),
        server("git", client="cursor"),
        SEEN._replace(name="mcp__git__push"),
    ],
)
def test_a_tool_that_falls_under_no_server_here_stays_as_it_is(other: Tool) -> None:
    assert SEEN in adopt([SEEN, other])


def test_a_tool_of_a_server_that_only_looks_alike_stays_as_it_is() -> None:
    seen = SEEN._replace(name="mcp__a_b__run", server="a.b")
    assert seen in adopt([seen, server("a_b")])


def test_what_a_configuration_stands_behind_stays_as_it_is() -> None:
    declared = SEEN._replace(authority=Authority.CONFIG, config_status=ConfigStatus.ENABLED)
    assert judged(server("git", config_status=ConfigStatus.DISABLED), seen=declared) is ConfigStatus.ENABLED


def test_what_was_only_seen_or_reported_stays_so_under_a_declared_server() -> None:
    (found, _) = adopt([SEEN, server("git")])
    assert (found.authority, found.source, found.scope) == (Authority.HOOK, "hook", Scope.PROJECT)


def test_a_row_that_belongs_to_one_declaration_shares_the_status_of_no_other() -> None:
    placed = SEEN._replace(is_placed=True, config_status=ConfigStatus.DISABLED)
    assert judged(server("git"), seen=placed) is ConfigStatus.DISABLED
