"""The screen of `remit scan`, as a person gets it."""

from pathlib import Path

import pytest

from remit.catalog import summary
from remit.catalog.costs import SentDefinitions
from remit.catalog.summary import summarize
from remit.cli import render
from remit.cli.output import first_screen
from remit.decision.decide import Decision, ToolDecision, Verdict, decide
from remit.decision.declarations import Changes
from remit.decision.gates import Gate
from remit.decision.kinds import ConfigStatus
from remit.scanning.scanner import ScanResult
from support.builders import context, server, servers
from support.sandbox import Sandbox


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    """A project with a shadowed server, and one that waits for approval."""
    (sandbox.home / ".claude/settings.json").unlink()
    path = sandbox.project("shop")
    sandbox.write_state("wiki", "git", local={path: servers("git")})
    sandbox.write(path / ".mcp.json", servers("till"))
    return path


def scan(sandbox: Sandbox, cwd: Path) -> list[str]:
    finished = sandbox.remit("scan", cwd=cwd)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.splitlines()


def test_the_first_scan_sums_up_and_later_ones_list_what_changed(sandbox: Sandbox, shop: Path) -> None:
    assert scan(sandbox, shop) == [
        f"{shop} (claude-code)",
        "First scan here: 4 declarations in 2 files",
        "",
        "  local    1 server (~/.claude.json)",
        "  project  nothing; 1 hidden (.mcp.json)",
        "  global   1 server; 1 hidden (~/.claude.json)",
        "",
        "2 servers visible",
        "cost unknown for 2 servers: run `remit scan --connect`",
        "2 hidden",
        "",
        "Shadowed by a stronger declaration: 1",
        "  git (global): by local in ~/.claude.json",
        "",
        "Waiting for approval: 1; to change it, start Claude Code here and approve it,",
        "    then run `remit trust till` to let Remit start it too",
        "  till (project, .mcp.json)",
        "",
        "next: `remit why NAME` explains one, `remit tools --all` lists them all",
    ]
    assert "Since Remit last read" not in "".join(scan(sandbox, shop))
    sandbox.write(shop / ".mcp.json", servers("lamp"))
    assert scan(sandbox, shop)[1:4] == [
        "Since Remit last read the files here: 1 added, 1 removed",
        "  + lamp (project, .mcp.json)",
        "  - till (project, .mcp.json)",
    ]


def test_costs_are_told_as_far_as_they_are_known(sandbox: Sandbox, shop: Path) -> None:
    with sandbox.registry() as registry:
        here = registry.at(str(shop))
        for name in ("mcp__git__log", "mcp__till__open"):
            registry.usage.report_tool(
                name, here, description="word " * 2000, input_schema={"type": "object"}
            )
    lines = scan(sandbox, shop)
    assert lines[2:7] == [
        "  local    1 server and 1 tool: about 2,220 tokens (~/.claude.json)",
        "  project  nothing; 2 hidden (.mcp.json)",
        "  global   1 server; 1 hidden (~/.claude.json)",
        "",
        "2 servers and 1 tool visible: about 2,220 tokens",
    ]
    assert lines[7:11] == [
        "cost unknown for 1 server: run `remit scan --connect`",
        "(the client sends names only; the agent searches the definitions)",
        "3 hidden: about 2,220 tokens not sent",
        "costliest: git 2,220",
    ]
    sandbox.write_state("wiki", "git", local={shop: servers("git", "new")})
    assert "  local    2 servers and 1 tool: about 2,220+ tokens (~/.claude.json)" in scan(sandbox, shop)


def test_unknown_costs_name_the_server_and_the_step_that_helps(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write_state()
    sandbox.write(shop / ".mcp.json", servers("gitlab"))
    sandbox.write(sandbox.home / ".claude/settings.json", {"enableAllProjectMcpServers": True})
    shown = sandbox.remit("scan", "--connect", cwd=shop).stdout
    assert "cost unknown for `gitlab` (not trusted): run `remit trust gitlab`\n" in shown
    assert "run `remit scan --connect`" not in shown
    sandbox.remit("trust", "gitlab", "--yes", cwd=shop)
    shown = sandbox.remit("scan", "--connect", cwd=shop).stdout
    assert "cost unknown for `gitlab` (not working): run `remit doctor`\n" in shown


def test_a_long_list_of_servers_is_cut() -> None:
    assert render.quoted(["git"]) == "`git`"
    assert render.quoted(["a", "b", "c", "d", "e"]) == "`a`, `b`, `c` and 2 more"


def test_servers_that_start_the_same_program_are_named_together(sandbox: Sandbox, shop: Path) -> None:
    entry = {"command": "npx", "args": ["browser"]}
    sandbox.write_state(local={shop: servers(web=entry, fetch=entry)})
    lines = scan(sandbox, shop)
    at = lines.index("The same program or URL under several names: 1")
    assert lines[at + 1] == "  fetch (local), web (local)"


def test_long_groups_are_cut_and_the_screen_stays_short(sandbox: Sandbox, shop: Path) -> None:
    scan(sandbox, shop)
    labels = [f"server-{number:03}" for number in range(200)]
    sandbox.write_state(*labels, local={shop: servers(*labels)})
    lines = scan(sandbox, shop)
    assert "Since Remit last read the files here: 400 added, 3 removed" in lines
    assert lines.count("  and 390 more: `remit tools --all`") == 1
    assert lines.count("  and 195 more: `remit tools --all`") == 1
    assert len(lines) < 60


def test_the_screen_fits_eighty_columns(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write_state(
        "a-server-with-quite-a-long-name", local={shop: servers("a-server-with-quite-a-long-name")}
    )
    assert max(len(line) for line in scan(sandbox, shop)[1:]) <= 80


def test_a_long_path_is_cut_in_the_middle(sandbox: Sandbox) -> None:
    deep = sandbox.project("a-project-in-a-directory-with-a-long-name") / "and" / "below" / "it" / "another"
    deep.mkdir(parents=True)
    sandbox.write(deep.parent.parent.parent.parent / ".mcp.json", servers("till"))
    row = next(line for line in scan(sandbox, deep) if line.startswith("  project"))
    assert "..." in row
    assert row.endswith("/.mcp.json)")


def test_where_nothing_is_declared_the_screen_says_what_to_do(sandbox: Sandbox) -> None:
    lines = scan(sandbox, sandbox.project("empty"))
    assert lines[1] == "First scan here: 0 declarations in 0 files"
    assert lines[3] == "No tools are available here."
    assert lines[4].startswith("hint: ")


def test_an_inventory_names_the_clients(sandbox: Sandbox, shop: Path) -> None:
    shown = sandbox.remit("scan", "--client", "all", cwd=shop).stdout
    assert "  claude-code, local    1 server (~/.claude.json)" in shown


def test_what_other_clients_have_is_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    here = context()
    tools = [server("wiki"), *(server(label, client="cursor") for label in ("a", "b"))]
    listed = [ToolDecision(tool, decide(tool, here)) for tool in tools]
    found = ScanResult(changes=Changes(), problems=[], tools=listed)
    first_screen.show(found, summarize(listed, here), here, sent=SentDefinitions.ALL)
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("Declared for other clients: 2")
    assert lines[at + 1] == "  cursor: 2; `remit scan --client cursor`"


def test_what_a_gate_without_a_word_of_its_own_hides_is_shown_with_the_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    here = context()
    decision = Decision(verdict=Verdict.HIDDEN, gate=Gate.SCOPE, reason="because", unlock=None)
    listed = [ToolDecision(server("git"), decision)]
    found = ScanResult(changes=Changes(), problems=[], tools=listed)
    first_screen.show(found, summarize(listed, here), here, sent=SentDefinitions.ALL)
    shown = capsys.readouterr().out
    assert "Hidden by the gate `scope`: 1\n  git (global): because\n" in shown


def test_every_cause_of_hiding_has_its_words() -> None:
    assert set(ConfigStatus) - {ConfigStatus.ENABLED} <= set(summary.CAUSES)
    assert set(summary.CAUSES) == set(first_screen.CAUSES)
