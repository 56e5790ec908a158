"""The screen of `remit tools`: how it groups, sorts and fits."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from support.builders import servers
from support.sandbox import Sandbox
from support.terminal import on_terminal

LABELS = [f"server-{number:02}" for number in range(50)]


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    """A machine for all tests that only look."""
    made = Sandbox(root=tmp_path_factory.mktemp("machine").resolve())
    made.home.mkdir()
    make_shop(made)
    return made


@pytest.fixture
def shop(machine: Sandbox) -> Path:
    return machine.root / "code/shop"


def make_shop(sandbox: Sandbox) -> Path:
    """Make a project with a hundred tools of fifty servers, and some of every other kind."""
    path = sandbox.project("shop")
    sandbox.write_state(*LABELS)
    sandbox.write(path / ".claude/commands/tidy.md", "Tidy up")
    for name in ("deploy", "review"):
        sandbox.write(path / f".claude/skills/{name}/SKILL.md", f"---\ndescription: {name} it\n---\n")
    with sandbox.registry() as registry:
        here = registry.at(str(path))
        for at, label in enumerate(LABELS):
            for name in ("a_tool_with_a_long_name_of_its_own", "other"):
                registry.usage.report_tool(
                    f"mcp__{label}__{name}", here, description="word " * at, input_schema={"type": "object"}
                )
        for _ in range(3):
            registry.usage.record("mcp__server-07__other", here)
    return path


def lines(sandbox: Sandbox, cwd: Path, *options: str) -> list[str]:
    done = sandbox.remit("tools", *options, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def names(shown: list[str]) -> list[str]:
    return [line.split()[0] for line in shown if re.match(r"  server-\d", line)]


@pytest.mark.long
@pytest.mark.parametrize("columns", ["80", "120", "200"])
def test_a_hundred_tools_take_at_most_forty_lines(machine: Sandbox, shop: Path, columns: str) -> None:
    shown = lines(replace(machine, variables={"COLUMNS": columns}), shop)
    assert len(shown) <= 40
    assert max(map(len, shown[1:])) <= int(columns)
    assert any(line.startswith("  and 26 more servers: 52 tools, ") for line in shown)


def test_everything_else_has_a_line_for_each_kind(machine: Sandbox, shop: Path) -> None:
    shown = lines(machine, shop)
    kinds = {line.split()[0]: line.split() for line in shown if line.startswith(("  commands", "  skills"))}
    assert (kinds["commands"][1], kinds["commands"][-1]) == ("1", "/tidy")
    assert (kinds["skills"][1], kinds["skills"][-2:]) == ("2", ["deploy,", "review"])


def test_servers_are_sorted_by_what_they_cost_unless_told_otherwise(machine: Sandbox, shop: Path) -> None:
    assert names(lines(machine, shop))[:2] == ["server-49", "server-48"]
    assert names(lines(machine, shop, "--sort", "uses"))[:2] == ["server-07", "server-00"]
    assert names(lines(machine, shop, "--sort", "name"))[:2] == ["server-00", "server-01"]


def test_the_tools_of_one_server_are_listed_on_demand(machine: Sandbox, shop: Path) -> None:
    shown = lines(machine, shop, "--server", "server-07", "--sort", "uses")
    assert shown[2].startswith("server-07: 2 tools, ")
    assert shown[2].endswith(" tokens, 3 uses (global, ~/.claude.json)")
    assert [line.split()[0] for line in shown[4:]] == [
        "mcp__server-07__other",
        "mcp__server-07__a_tool_with_a_long_name_of_its_own",
    ]
    failed = machine.remit("tools", "--server", "serve", cwd=shop)
    assert failed.returncode == 1
    assert failed.stderr.startswith("error: no server is called `serve` here")


@pytest.mark.long
def test_hidden_tools_are_listed_with_all_by_their_reason(sandbox: Sandbox) -> None:
    shop = make_shop(sandbox)
    sandbox.remit("disable", "mcp__server-07__other", "server-08", cwd=shop)
    overview = lines(sandbox, shop, "--sort", "name")
    assert overview[2].split() == ["server", "tools", "hidden", "tokens", "uses"]
    assert not any(line.startswith("  server-08") for line in overview)
    assert lines(sandbox, shop, "--server", "server-07")[-1] == "  1 hidden; `--all` shows why"
    shown = lines(sandbox, shop, "--all", "--sort", "name")
    at = next(at for at, line in enumerate(shown) if line.startswith("server-07: 1 tool, 1 hidden"))
    assert shown[at + 3] == "  hidden by policy: disabled in remit.local.toml line 2"
    assert shown[at + 4] == "    mcp__server-07__other"
    at = next(at for at, line in enumerate(shown) if line.startswith("server-08: 0 tools, 2 hidden"))
    assert shown[at + 1].startswith("  hidden by policy: ")
    assert max(map(len, shown[1:])) <= 80


def test_text_that_is_piped_is_the_same_everywhere(machine: Sandbox, shop: Path) -> None:
    assert lines(machine, shop) == on_terminal(machine, ["tools"], shop, columns=80, rows=60).lines


def test_a_name_longer_than_the_screen_is_whole(sandbox: Sandbox) -> None:
    path, label = sandbox.project("blog"), "a-server-with-quite-a-long-name-" * 3
    sandbox.write(path / ".mcp.json", servers(label))
    sandbox.write(path / f".claude/skills/{'s' * 90}/SKILL.md", "---\ndescription: x\n---\n")
    shown = "\n".join(lines(sandbox, path))
    assert label in shown
    assert "skills" in shown


def test_watching_redraws_in_place_and_leaves_the_screen_as_it_was(machine: Sandbox, shop: Path) -> None:
    drawn = on_terminal(machine, ["tools", "--watch"], shop, rows=20, ends_after="to stop.")
    assert drawn.shown.startswith("\x1b[?1049h\x1b[H")
    assert drawn.shown.rstrip("^C\r\n").endswith("\x1b[?1049l")
    body = drawn.shown.partition("\x1b[H")[2].partition("\x1b[J")[0]
    assert len(body.split("\n")) <= 20
    assert " more lines" in body
