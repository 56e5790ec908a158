"""Which files are Remit's own, however a path to them is written, and how the client is told."""

import os
from pathlib import Path

import pytest

from remit.configuration.own_files import denied_edits, is_own_file
from remit.files.bounded_reader import Machine

RULES = "home/.config/remit/remit.toml"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    for folder in ("home/.config/remit", "home/.local/share/remit", "code"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return Machine(home=str(tmp_path / "home"), variables={}, root=str(tmp_path / "machine"))


@pytest.mark.parametrize(
    ("path", "is_own"),
    [
        *((RULES, True), ("HOME/.CONFIG/remit/remit.toml", True), ("code/../" + RULES, True)),
        *(("home/.local/share/remit/remit.db", True), ("home/.local/share/remit/installs/x.json", True)),
        *(("home/.local/share/remit", True), ("machine/etc/remit/remit.toml", True)),
        *(("code/remit.toml", False), ("home/.config/remit/notes.md", False), ("home/.bashrc", False)),
        *(("home/.local/share/remit-notes/x", False), ("", False)),
    ],
)
def test_rules_and_data_are_remits_own_and_nothing_else(
    path: str, is_own: bool, machine: Machine, tmp_path: Path
) -> None:
    assert is_own_file(path, str(tmp_path), machine) is is_own
    assert is_own_file(str(tmp_path / path), "/", machine) is is_own


def test_links_and_other_names_of_a_file_lead_to_it(machine: Machine, tmp_path: Path) -> None:
    rules, code = tmp_path / RULES, tmp_path / "code"
    rules.write_text("")
    (code / "linked").symlink_to(rules)
    (code / "folder").symlink_to(rules.parent)
    (code / "far").symlink_to(tmp_path / "home/.local/share")
    os.link(rules, code / "same")
    for path in ("linked", "folder/remit.toml", "same", "far/remit/new", "far/../share/remit/new"):
        assert is_own_file(path, str(code), machine), path
    assert is_own_file("far/../../home/.config/remit/remit.toml", str(code), machine)  # `..` first
    assert is_own_file("~/.config/remit/remit.toml", str(code), machine)
    assert is_own_file(f"\ufeff {rules}\n", str(code), machine)


def test_rules_that_are_a_link_are_guarded_where_they_lie(machine: Machine, tmp_path: Path) -> None:
    kept = tmp_path / "home/dotfiles.toml"
    kept.write_text("")
    (tmp_path / RULES).symlink_to(kept)
    assert is_own_file(str(kept), "/", machine)
    assert {f"Edit(/{kept})", f"Edit(/{tmp_path / RULES})"} <= set(denied_edits(machine))


def test_what_variables_name_is_guarded(tmp_path: Path) -> None:
    variables = {"REMIT_CONFIG": str(tmp_path / "a.toml"), "REMIT_HOME": str(tmp_path / "data [1]")}
    machine = Machine(home="/home/ada", variables=variables)
    assert is_own_file("a.toml", str(tmp_path), machine)
    assert is_own_file("data [1]/remit.db", str(tmp_path), machine)
    assert denied_edits(machine) == [
        f"Edit(/{tmp_path}/a.toml)",
        "Edit(//etc/remit/**)",
        f"Edit(/{tmp_path}/data \\[1\\]/**)",
    ]


def test_an_administrators_rules_hold_in_every_home() -> None:
    machine = Machine(
        home="/home/ada", variables={"REMIT_HOME": "/srv/data", "REMIT_CONFIG": "/srv/own.toml"}
    )
    assert denied_edits(machine, is_managed=True) == [
        "Edit(~/.config/remit/remit.toml)",
        "Edit(//etc/remit/**)",
        "Edit(~/.local/share/remit/**)",
    ]


def test_filter_files_that_the_rules_name_are_guarded_like_the_rules(
    machine: Machine, tmp_path: Path
) -> None:
    rules, filters = tmp_path / RULES, tmp_path / "code/filters.py"
    filters.write_text("")
    assert not is_own_file(str(filters), "/", machine)
    rules.write_text(f'[filters]\nfiles = ["{filters}", "other.py", 7]\n')
    assert is_own_file(str(filters), "/", machine)
    assert f"Edit(/{filters})" in denied_edits(machine)
    assert not is_own_file("other.py", str(tmp_path), machine)


@pytest.mark.parametrize("text", ["filters = 1", "[filters]\nfiles = 'x'", "[filters", "# filters"])
def test_rules_without_usable_filter_files_name_none(text: str, machine: Machine, tmp_path: Path) -> None:
    (tmp_path / RULES).write_text(text)
    assert not is_own_file("code/filters.py", str(tmp_path), machine)
