import pytest

from remit.decision.decide import ToolDecision, decide
from remit.decision.kinds import Kind, ToolStatus
from remit.decision.tool_lookup import closest_to_being_visible, find, suggest
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
        ("gti", []),
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


def test_of_several_rows_the_one_that_can_be_used_comes_first() -> None:
    hidden = server("git", client="cursor")
    rows = [ToolDecision(tool, decide(tool, context())) for tool in (hidden, server("git"))]
    assert sorted(rows, key=closest_to_being_visible)[0].decision.is_available
