"""Rules that match nothing known, with what was perhaps meant."""

from remit.config import unmatched
from remit.decision import Kind
from support import builders
from support.configuration import Files

TOOLS = [
    builders.server("git"),
    builders.tool("mcp__git__push"),
    builders.tool("scout", kind=Kind.SUBAGENT),
]


def found(files: Files) -> list[tuple[str, bool]]:
    assert files.problems() == []
    findings = unmatched(files.now_says(), TOOLS)
    return [(f"{item.problem.place}: {item.problem.reason}", item.is_warning) for item in findings]


def test_what_names_known_tools_servers_and_agents_is_silent(files: Files) -> None:
    files.mine(
        'block = ["Bash", "mcp__git__*"]\npinned = ["git__push"]\n[tools."mcp__remit__git__push"]\n'
        'approval = true\n[servers."g*"]\nblock = ["push"]\n[agents.scout]\nblock = ["Read"]\n'
        '[tools."mcp__remit-memory__*"]\napproval = true\n'
    )
    assert found(files) == []


def test_a_rule_that_matches_nothing_is_told_with_its_place(files: Files) -> None:
    files.mine(
        "[tools.mcp__git__psuh]\napproval = true\n[servers.gti]\nsandbox = true\n[agents.scuot]\nallow = []\n"
    )
    files.shared('[tools.push]\nai_enabled = false\n[servers.git]\nblock = ["pull"]\n')
    assert found(files) == [
        (
            "line 1: tools.mcp__git__psuh: `mcp__git__psuh` matches no known tool "
            "(did you mean `mcp__git__push`?)",
            False,
        ),
        (
            "line 1: tools.push: `push` has no effect, because it does not name the tool's server "
            "(write `mcp__git__push`)",
            True,
        ),
        (
            "line 3: servers.gti: no server `gti` is known here, so `sandbox` has no effect "
            "(did you mean `git`?)",
            True,
        ),
        ("line 3: servers.git: `pull` matches no known tool of the server", False),
        ("line 6: agents.scuot.allow: no agent `scuot` is known here (did you mean `scout`?)", False),
    ]


def test_a_broken_file_has_none(files: Files) -> None:
    files.mine("[tools.nothing]\napproval = true\n")
    assert len(found(files)) == 1
    files.mine("\n\n[tools.nothing]\napproval = tru\n")
    assert unmatched(files.now_says(), TOOLS) == []
