"""Whether files and variables are as they were."""

import os
import time
from pathlib import Path

import pytest

from remit.files.bounded_reader import Machine
from remit.files.file_stamps import FileStamps

LATER = 10_000_000_000


def stamps(tmp_path: Path, variables: dict[str, str], *, later: int = LATER) -> FileStamps:
    inputs = [str(tmp_path / "there"), str(tmp_path / "absent"), "$STAGE", "~", "a\0b"]
    return FileStamps(inputs, Machine(home=str(tmp_path), variables=variables), now_ns=time.time_ns() + later)


@pytest.fixture(autouse=True)
def there(tmp_path: Path) -> Path:
    file = tmp_path / "there"
    file.write_text("one")
    return file


def test_what_nobody_touched_is_the_same(tmp_path: Path) -> None:
    assert stamps(tmp_path, {}).are_same()


def test_a_file_that_is_written_removed_replaced_or_new_is_not(tmp_path: Path, there: Path) -> None:
    for change in (
        lambda: there.write_text("two"),
        lambda: os.utime(there, (1, 1)),
        lambda: (tmp_path / "absent").touch(),
        lambda: (tmp_path / "absent").replace(there),
        lambda: there.unlink(),
    ):
        before = stamps(tmp_path, {})
        assert before.are_same()
        change()
        assert not before.are_same()


def test_a_variable_that_is_set_is_not_the_same(tmp_path: Path) -> None:
    variables = {"STAGE": "dev"}
    before = stamps(tmp_path, variables)
    assert before.are_same()
    variables["STAGE"] = "live"
    assert not before.are_same()


def test_a_file_that_was_just_written_may_be_written_again_unnoticed(tmp_path: Path) -> None:
    assert not stamps(tmp_path, {}, later=0).are_same()


def test_a_file_in_a_directory_that_is_absent_is_noticed_when_both_are_made(tmp_path: Path) -> None:
    paths = [str(tmp_path / "a/b/one"), str(tmp_path / "a/two"), "absent-and-relative/file"]
    before = FileStamps(paths, Machine(home=str(tmp_path), variables={}), now_ns=time.time_ns() + LATER)
    assert before.are_same()
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/one").touch()
    assert not before.are_same()
