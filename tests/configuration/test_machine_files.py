"""Who may use a gateway is read from the files themselves."""

import os
from pathlib import Path

import pytest

from remit.configuration.config_model import AccessRule, Role
from remit.configuration.machine_files import MachineFiles
from remit.files.bounded_reader import Machine

RULE = '[[access]]\nprincipal = "{}"\nrole = "admin"\nprojects = ["*"]\n'
LATER = 4_000_000_000 * 10**9  # when every file has settled


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "remit.toml"


@pytest.fixture
def files(file: Path) -> MachineFiles:
    machine = Machine(home=str(file.parent), variables={"REMIT_CONFIG": str(file)})
    return MachineFiles(machine, now_ns=lambda: LATER)


def people(files: MachineFiles) -> list[str | None]:
    return [rule.principal for rule in files.current().access]


def test_a_changed_file_counts_at_once(file: Path, files: MachineFiles) -> None:
    assert people(files) == []
    file.write_text(RULE.format("grace"), "utf-8")
    assert files.current().access == (AccessRule(Role.ADMIN, ("*",), principal="grace"),)
    file.write_text(RULE.format("ada") + RULE.format("grace"), "utf-8")
    assert people(files) == ["ada", "grace"]
    file.unlink()
    assert people(files) == []


@pytest.mark.parametrize("text", ["access = [", "[[access]]\nrole = 'king'\n"], ids=["no TOML", "mistakes"])
def test_an_invalid_file_counts_with_the_last_version_that_was_valid(
    file: Path, files: MachineFiles, text: str
) -> None:
    file.write_text(text, "utf-8")
    assert not files.current().is_complete
    file.write_text(RULE.format("grace"), "utf-8")
    assert files.current().is_complete
    file.write_text(text, "utf-8")
    assert people(files) == ["grace"]
    assert files.current().is_complete


def test_a_file_that_was_emptied_just_now_counts_as_it_was(file: Path) -> None:
    now = LATER
    machine = Machine(home=str(file.parent), variables={"REMIT_CONFIG": str(file)})
    files = MachineFiles(machine, now_ns=lambda: now)
    file.write_text(RULE.format("grace"), "utf-8")
    assert people(files) == ["grace"]
    file.write_text("", "utf-8")
    now = os.stat(file).st_mtime_ns
    assert people(files) == ["grace"]
    now = LATER
    assert people(files) == []


def test_without_files_nobody_has_a_role_and_nothing_is_missing(tmp_path: Path) -> None:
    machine = Machine(home=str(tmp_path), variables={"REMIT_CONFIG": os.devnull})
    found = MachineFiles(machine).current()
    assert (found.access, found.identity, found.is_complete) == ((), None, True)
