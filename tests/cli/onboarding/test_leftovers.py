"""What stays on the disk, and how to remove it."""

from pathlib import Path

import pytest

from remit.cli.onboarding.leftovers import Leftover, hint_removal, leftovers, show
from remit.files.bounded_reader import Machine
from remit.files.own_environment import own_environment
from support.sandbox import Sandbox


def test_where_nothing_stays_nothing_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = list(leftovers([str(tmp_path)], Machine(home=str(tmp_path), variables={}, platform="linux")))
    assert found == []
    show(found)
    assert capsys.readouterr() == ("", "")


def test_what_everyone_needs_is_not_among_what_to_delete(capsys: pytest.CaptureFixture[str]) -> None:
    hint_removal(
        [Leftover("/data/my remit", "history"), Leftover("/shop/remit.toml", "rules", is_yours=False)]
    )
    first = capsys.readouterr().err.partition("\n")[0]
    assert first == "hint: to delete what is yours: rm -r '/data/my remit'"


def test_the_command_that_removes_remit_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    hint_removal([])
    assert capsys.readouterr().err == f"hint: to remove the command: {own_environment().remove_command()}\n"


def test_forget_names_the_files_that_stay_in_the_project(sandbox: Sandbox) -> None:
    shop = sandbox.project("shop")
    sandbox.write_state("git")
    sandbox.remit("disable", "git", cwd=shop)
    told = sandbox.remit("forget", str(shop), "--yes")
    assert "Still on the disk:\n" in told.stderr
    assert str(shop / "remit.local.toml") in told.stderr
