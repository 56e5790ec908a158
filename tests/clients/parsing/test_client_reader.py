"""A client's files are read within limits; what is over a limit is a problem, and the rest counts."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from remit.clients.claude_code import CLIENT
from remit.clients.parsing import client_reader
from remit.clients.parsing.client_reader import ClientReader, read_client
from remit.decision.declarations import ClientReading
from remit.decision.projects import View
from remit.files.bounded_reader import Machine
from remit.files.bounded_walk import WalkBudget
from remit.files.checkout import locate


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path.resolve() / "home"


@pytest.fixture
def shop(home: Path) -> Path:
    (home / "shop/.git").mkdir(parents=True)
    return home / "shop"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def machine(home: Path) -> Machine:
    return Machine(home=str(home), variables={}, root=str(home / "root"))


def read(directory: Path, home: Path) -> ClientReading:
    return read_client(CLIENT, View(CLIENT.name, locate(str(directory))), machine(home), now_ns=0)


def reader(directory: Path, home: Path) -> ClientReader:
    return ClientReader(View(CLIENT.name, locate(str(directory))), machine(home), now_ns=0)


def problems(reading: ClientReading) -> Mapping[str, str]:
    return {Path(each.source).name: each.reason for each in reading.problems}


def names(reading: ClientReading) -> set[str]:
    return {each.name for each in reading.declarations}


def test_links_of_a_project_stay_inside_it_and_links_of_the_user_lead_anywhere(
    home: Path, shop: Path
) -> None:
    checked = reader(shop, home)
    assert checked.within(str(shop / ".claude/commands")) == (str(shop),)
    assert checked.within(str(home / ".claude/commands")) == ()


def test_in_a_home_directory_that_is_a_checkout_only_a_directory_below_it_is_a_project(home: Path) -> None:
    (home / ".git").mkdir()
    (home / "download").mkdir()
    assert reader(home, home).within(str(home / ".claude/settings.json")) == ()
    below = reader(home / "download", home)
    assert below.within(str(home / "download/.mcp.json")) == (str(home / "download"),)
    assert below.within(str(home / ".claude/settings.json")) == ()


def test_a_project_has_a_limited_number_of_commands(
    home: Path, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_reader, "_MAX_FILES", 3)
    for number in range(6):
        write(shop / f".claude/commands/c{number}.md", "hello")
        write(home / f".claude/commands/h{number}.md", "hello")
    found = read(shop, home)
    assert len([name for name in names(found) if name.startswith("/c")]) == 3
    assert len([name for name in names(found) if name.startswith("/h")]) == 6
    assert [each.reason for each in found.problems] == ["more than 3 such files; the others are left out"]


def test_a_file_has_a_limited_number_of_servers(home: Path, shop: Path) -> None:
    servers = {f"s{number}": {"command": "x"} for number in range(1_005)}
    write(shop / ".mcp.json", json.dumps({"mcpServers": servers}))
    found = read(shop, home)
    assert len(found.declarations) == 1_000
    assert problems(found) == {".mcp.json": "1,005 servers; only the first 1,000 are read"}


def test_a_file_of_a_project_has_a_limited_size(home: Path, shop: Path) -> None:
    write(shop / ".mcp.json", " " * 2_000_000 + '{"mcpServers": {}}')
    write(home / ".claude.json", " " * 2_000_000 + '{"mcpServers": {"own": {"command": "x"}}}')
    found = read(shop, home)
    assert "mcp__own__*" in names(found)
    assert "bytes; at most" in problems(found)[".mcp.json"]


def test_a_skill_with_too_much_yaml_keeps_its_plain_fields(home: Path, shop: Path) -> None:
    much = "k: [a]\n" * 3_000
    write(shop / ".claude/skills/big/SKILL.md", f"---\ndescription: Big\n{much}---\n")
    found = read(shop, home)
    assert [(each.name, each.description) for each in found.declarations] == [("big", "Big")]
    assert "only plain fields" in problems(found)["SKILL.md"]


def test_all_skills_of_a_project_together_have_a_limited_amount_of_yaml(
    home: Path, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_reader, "_PROJECT_YAML", 100)
    for number in range(5):
        write(shop / f".claude/skills/s{number}/SKILL.md", "---\ndescription: 'x'\nk: [some, more, a]\n---\n")
    found = read(shop, home)
    assert len(found.declarations) == 5
    assert len(found.problems) == 1


def test_a_folder_of_skills_that_leads_out_has_no_plugins(home: Path, shop: Path) -> None:
    write(home / "elsewhere/tool/.claude-plugin/plugin.json", '{"name": "tool"}')
    (shop / ".claude").mkdir()
    (shop / ".claude/skills").symlink_to(home / "elsewhere")
    found = read(shop, home)
    assert found.declarations == []
    assert "leads out of the project" in problems(found)["skills"]


def test_too_many_names_in_a_folder_are_a_problem(home: Path, shop: Path) -> None:
    for number in range(20):
        write(shop / f"many/{number}", "")
    checked = reader(shop, home)
    checked._budgets[True] = WalkBudget(5, 60.0)  # pyright: ignore[reportPrivateUsage] - a low limit
    assert len(checked.names_in(str(shop / "many"))) == 5
    assert "more than 5 files" in checked.parsed[-1].problems[0].reason
