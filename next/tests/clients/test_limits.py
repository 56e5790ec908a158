"""A client's files are read within limits; what is over a limit is a problem, and the rest counts."""

import json
from pathlib import Path

from support.homes import Home, reasons, servers


def names(home: Home, shop: Path) -> set[str]:
    return {item.name for item in home.read(shop).declarations}


def test_links_of_a_project_stay_inside_it_and_links_of_the_user_lead_anywhere(
    home: Home, shop: Path
) -> None:
    elsewhere = home.write(home.root / "elsewhere/hello.md", "hello").parent
    for base in (shop, home.path):
        (base / ".claude").mkdir()
        (base / ".claude/commands").symlink_to(elsewhere)
    reading = home.read(shop)
    assert [item.scope for item in reading.declarations] == ["global"]
    assert "leads out of the project" in reasons(reading)[0]


def test_a_home_directory_in_git_is_no_project(home: Home) -> None:
    (home.path / ".git").mkdir()
    outside = home.write(home.root / "outside.json", servers("git"))
    (home.path / "download").mkdir()
    for path in (home.path / ".claude.json", home.path / "download/.mcp.json"):
        path.symlink_to(outside)
    assert [item.scope for item in home.read(home.path / "download").declarations] == ["global"]


def test_a_project_has_a_limited_number_of_commands(home: Home, shop: Path) -> None:
    for number in range(2_003):
        home.write(shop / f".claude/commands/c{number}.md", "hello")
    home.write(".claude/commands/mine.md", "hello")
    assert len(names(home, shop)) == 2_001
    assert reasons(home.read(shop)) == ["more than 2,000 such files; the others are left out"]


def test_a_file_has_a_limited_number_of_servers(home: Home, shop: Path) -> None:
    home.write(shop / ".mcp.json", servers(*(f"s{number}" for number in range(1_005))))
    assert len(names(home, shop)) == 1_000
    assert reasons(home.read(shop)) == ["1,005 servers; only the first 1,000 are read"]


def test_a_file_of_a_project_has_a_limited_size_and_the_users_a_large_one(home: Home, shop: Path) -> None:
    for path in (shop / ".mcp.json", home.path / ".claude.json"):
        home.write(path, " " * 2_000_000 + json.dumps(servers("git")))
    reading = home.read(shop)
    assert [item.scope for item in reading.declarations] == ["global"]
    assert "bytes; at most" in reasons(reading)[0]


def test_a_skill_with_too_much_yaml_keeps_its_plain_fields(home: Home, shop: Path) -> None:
    much = "k: [a]\n" * 3_000
    home.write(shop / ".claude/skills/big/SKILL.md", f"---\ndescription: Big\n{much}---\n")
    reading = home.read(shop)
    assert [(item.name, item.description) for item in reading.declarations] == [("big", "Big")]
    assert "only plain fields" in reasons(reading)[0]


def test_all_skills_of_a_project_together_have_a_limited_amount_of_yaml(home: Home, shop: Path) -> None:
    much = "k: [a, b]\n" * 1_500
    for number in range(20):
        home.write(shop / f".claude/skills/s{number}/SKILL.md", f"---\ndescription: 'x'\n{much}---\n")
    reading = home.read(shop)
    assert (len(reading.declarations), len(reading.problems)) == (20, 1)


def test_a_folder_of_skills_that_leads_out_has_no_plugins(home: Home, shop: Path) -> None:
    home.write(home.root / "elsewhere/tool/.claude-plugin/plugin.json", {"name": "tool"})
    (shop / ".claude").mkdir()
    (shop / ".claude/skills").symlink_to(home.root / "elsewhere")
    reading = home.read(shop)
    assert reading.declarations == []
    assert "leads out of the project" in reasons(reading)[0]


def test_paths_that_cannot_be_ones_lead_nowhere(home: Home, shop: Path) -> None:
    home.write(".claude/settings.json", {"enabledPlugins": {"quill@orchard": True}})
    for place in ("\ud800", "/a\ud800b", "\x00", "x" * 9_000):
        known = {"orchard": {"source": {"source": "directory"}, "installLocation": place}}
        home.write(".claude/plugins/known_marketplaces.json", known)
        assert home.read(shop).declarations == []
