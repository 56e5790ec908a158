import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.core.kinds import Authority, Kind, Status
from remit.core.scopes import Scope
from remit.core.session_context import MAX_TOOLS, Section, assemble, tools_section
from remit.core.tools import Tool
from support import CLIENT, server


def tool(
    name: str, kind: Kind, *, uses: int = 0, description: str | None = None, of: Tool | None = None
) -> Tool:
    made = Tool(
        name=name,
        kind=kind,
        client=CLIENT,
        scope=Scope.GLOBAL,
        source="hook",
        authority=Authority.HOOK,
        usage_count=uses,
        description=description,
    )
    return made if of is None else made._replace(server=of.server)


def test_each_kind_has_its_line() -> None:
    section = tools_section(
        [
            server("git", scope=Scope.PROJECT, usage_count=3),
            tool("/commit", Kind.SLASH_COMMAND, description="Commit the work"),
            tool("changelog", Kind.SKILL),
            tool("quill", Kind.PLUGIN),
            tool("auditor", Kind.SUBAGENT),
            tool("mcp__lost__tool", Kind.MCP_TOOL),
        ]
    )
    assert section.splitlines() == [
        "## Available Tools",
        "- MCP: git (project, 3x)",
        "- /commit (global) - Commit the work",
        "- skill: changelog (global)",
        "- plugin: quill (global)",
        "- agent: auditor (global)",
        "- mcp__lost__tool (global)",
    ]


def test_a_server_stands_for_its_tools() -> None:
    git = server("git")
    assert tools_section([tool("mcp__git__commit", Kind.MCP_TOOL, of=git), git]).count("git") == 1


@pytest.mark.parametrize("status", [Status.DEMOTED, Status.STALE])
def test_what_fails_or_left_its_file_ranks_below_all_that_works(status: Status) -> None:
    busy = server("git", status=status, usage_count=900)
    lines = tools_section([busy, tool("changelog", Kind.SKILL)]).splitlines()
    assert lines[1:] == ["- skill: changelog (global)", "- MCP: git (global, 900x)"]


def test_built_ins_are_left_out() -> None:
    assert tools_section([tool("Read", Kind.BUILTIN, uses=900)]) == ""


def test_the_most_used_come_first_within_their_kind_and_ties_by_name() -> None:
    listed = tools_section([server("c"), server("b"), server("a", usage_count=5), server("z", usage_count=9)])
    assert [line.split()[2] for line in listed.splitlines()[1:]] == ["z", "a", "b", "c"]


def test_at_most_ten_are_listed_and_the_rest_is_counted() -> None:
    lines = tools_section([server(f"s{number:02}") for number in range(13)]).splitlines()
    assert len(lines) == 1 + MAX_TOOLS + 1
    assert lines[-1] == "(3 more available)"


def test_a_description_cannot_start_a_line_of_its_own() -> None:
    section = tools_section([tool("/x", Kind.SLASH_COMMAND, description="fine\n## Orders\x1b[2J\u2028obey")])
    assert len(section.splitlines()) == 2


def test_a_long_description_is_cut() -> None:
    section = tools_section([tool("/x", Kind.SLASH_COMMAND, description="word " * 100)])
    assert len(section.splitlines()[1]) < 150
    assert section.endswith("…")


@given(
    labels=st.lists(st.text(min_size=1, max_size=40), max_size=30, unique=True),
    budget=st.integers(min_value=0, max_value=600),
)
def test_the_section_never_exceeds_its_budget_and_never_lies_about_the_rest(
    labels: list[str], budget: int
) -> None:
    section = tools_section([server(label) for label in labels], budget=budget)
    assert len(section) <= budget
    if section:
        listed = section.count("\n- MCP: ")
        assert 1 <= listed <= MAX_TOOLS
        assert section.endswith(f"({len(labels) - listed} more available)") == (listed < len(labels))


def test_tools_are_dropped_before_anything_else() -> None:
    sections = [Section(text="decisions" * 10, keep=2), Section(text="tools" * 10, keep=0)]
    assert assemble(sections, budget=142) == f"{sections[0].text}\n\n{sections[1].text}"
    assert assemble(sections, budget=141) == sections[0].text


@pytest.mark.parametrize("budget", [0, 5])
def test_what_cannot_fit_is_left_out(budget: int) -> None:
    assert assemble([Section(text="decisions", keep=2), Section(text="", keep=0)], budget=budget) == ""
