import pytest

from remit.decision.decide import ToolDecision, decide
from remit.decision.kinds import ConfigStatus, Kind, ToolStatus
from remit.decision.tool_lookup import closest_to_being_visible, find, near_names, suggest, with_bare_name
from remit.decision.tools import Tool
from support.builders import context, server


def made(name: str, kind: Kind, **more: object) -> Tool:
    return server("git")._replace(name=name, kind=kind, server=None)._replace(**more)  # pyright: ignore[reportArgumentType]


LISTED = [
    ToolDecision(tool, decide(tool, context()))
    for tool in (
        server("git"),
        server("wiki")._replace(listed_at=1),
        server("old")._replace(listed_at=1, is_outdated=True),
        made("mcp__wiki__read", Kind.MCP_TOOL, server="wiki"),
        made("/ship", Kind.SLASH_COMMAND),
        made("changelog", Kind.SKILL),
        made("/changelog", Kind.SLASH_COMMAND),
        made("quill@orchard", Kind.PLUGIN),
        made("auditor", Kind.SUBAGENT),
        made("mcp__gone__*", Kind.MCP_SERVER, server="gone", status=ToolStatus.STALE),
    )
]


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("git", ["mcp__git__*"]),
        ("mcp__git__*", ["mcp__git__*"]),
        ("mcp__git__anything", ["mcp__git__*"]),
        ("mcp__remit__wiki__read", ["mcp__wiki__read"]),
        ("wiki__read", ["mcp__wiki__read"]),
        ("mcp__wiki__nothing", []),
        ("mcp__old__anything", ["mcp__old__*"]),
        ("ship", ["/ship"]),
        ("/ship", ["/ship"]),
        ("/changelog", ["changelog", "/changelog"]),
        ("changelog", ["changelog", "/changelog"]),
        ("quill", ["quill@orchard"]),
        ("quill@orchard", ["quill@orchard"]),
        ("auditor", ["auditor"]),
        ("gone", ["mcp__gone__*"]),
        ("mcp__gone__*", ["mcp__gone__*"]),
        ("mcp__gone__x", []),
        ("nothing", []),
        ("", []),
    ],
)
def test_a_name_means_rows_however_it_is_written(name: str, rows: list[str]) -> None:
    assert [item.tool.name for item in find(name, LISTED)] == rows


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("gti", ["git"]),
        ("wikki", ["wiki"]),
        ("audtor", ["auditor"]),
        ("chnagelog", ["/changelog", "changelog"]),
        ("WIKY", ["wiki"]),
        ("something else", []),
        ("read", ["mcp__wiki__read"]),
    ],
)
def test_a_name_that_is_nearly_one_is_answered_with_what_may_be_meant(name: str, names: list[str]) -> None:
    assert suggest(name, LISTED) == names


def test_a_hidden_declaration_does_not_answer_for_a_server_that_another_one_makes_available() -> None:
    visible, waiting = (
        server("wiki")._replace(listed_at=1),
        server("wiki", config_status=ConfigStatus.PENDING),
    )
    listed = [ToolDecision(tool, decide(tool, context())) for tool in (visible, waiting)]
    assert find("mcp__wiki__raed", listed) == []
    assert find("mcp__wiki__raed", listed[1:]) == listed[1:]


def test_of_several_rows_the_one_that_can_be_used_comes_first() -> None:
    hidden = server("git", client="cursor")
    rows = [ToolDecision(tool, decide(tool, context())) for tool in (hidden, server("git"))]
    assert sorted(rows, key=closest_to_being_visible)[0].decision.is_available


SERVED = (
    "git__status",
    "git__log",
    "github__create_issue",
    "github__list_issues",
    "remit-memory__get_scope_state",
    "web__fetch",
    "why_tool",
    "/deploy",
    "invoice",
)
CANONICAL = ("mcp__git__git_status", "mcp__git__*", "mcp__hub__git_status", "Read")


@pytest.mark.parametrize(
    ("wanted", "near"),
    [
        ("get_scope_state", ["remit-memory__get_scope_state"]),  # without its server
        ("getScopeState", ["remit-memory__get_scope_state"]),
        ("mcp__remit__remit_memory__get_scope_state", ["remit-memory__get_scope_state"]),
        ("memory__get_scope_state", ["remit-memory__get_scope_state"]),  # of another server
        ("git_status", ["git__status"]),
        ("git.status", ["git__status"]),
        ("mcp__git__statuss", ["git__status"]),
        ("mcp__remit__git__statuss", ["git__status"]),
        ("gitt__status", ["git__status"]),
        ("nobody__fetch", ["web__fetch"]),
        ("create_isue", ["github__create_issue"]),
        ("issues_list", ["github__list_issues"]),  # the same words
        ("scope_state", ["remit-memory__get_scope_state"]),
        ("github__issues", ["github__list_issues"]),
        ("deploi", ["/deploy"]),
        ("/invoices", ["invoice"]),
        ("why", []),
        ("nobody__do", []),
        ("kubernetes", []),
        ("", []),
    ],
)
def test_a_name_is_near_in_every_spelling(wanted: str, near: list[str]) -> None:
    assert near_names(wanted, SERVED) == near


def test_canonical_names_are_compared_without_their_prefix() -> None:
    assert near_names("git_status", CANONICAL) == ["mcp__git__git_status", "mcp__hub__git_status"]
    assert near_names("gti", ["mcp__git__*"]) == ["mcp__git__*"]
    assert near_names("mcp__gitt__*", CANONICAL) == ["mcp__git__*"]
    assert near_names("Raed", ["Reed", "Read"]) == ["Read", "Reed"]
    assert near_names("mcp__notes__wrtie", ["Write", "mcp__notes__write"])[0] == "mcp__notes__write"


def test_no_more_than_three_are_told_nearest_first() -> None:
    known = [f"a__page_of_{word}" for word in ("all", "all_sorts", "x", "y")]
    assert near_names("page", known) == ["a__page_of_all", "a__page_of_x", "a__page_of_y"]


def test_a_name_of_any_length_is_compared_at_once() -> None:
    assert near_names("x" * 1_000_000, SERVED) == []


def test_a_tool_is_found_by_the_name_that_its_server_gives_it() -> None:
    tools = (
        server("wiki"),
        made("mcp__wiki__read", Kind.MCP_TOOL, server="wiki"),
        made("mcp__my__disk__read", Kind.MCP_TOOL, server="my__disk"),
        made("mcp__plugin_quill_ink__dip_in", Kind.MCP_TOOL, server="ink", plugin="quill"),
        made("mcp__gone__read", Kind.MCP_TOOL, server="gone", status=ToolStatus.STALE),
        made("mcp__nobody__read", Kind.MCP_TOOL),
    )
    listed = [ToolDecision(tool, decide(tool, context())) for tool in (*tools, tools[1])]
    assert with_bare_name("read", listed) == ["mcp__my__disk__read", "mcp__wiki__read"]
    assert with_bare_name("dip.in", listed) == ["mcp__plugin_quill_ink__dip_in"]
    assert with_bare_name("disk__read", listed) == with_bare_name("", listed) == []
