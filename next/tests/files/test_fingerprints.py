"""Whether files and variables are as they were, and waiting until they are not."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest

from remit.files import Fingerprints, Machine, look_at, take_fingerprints, wait_for_change
from remit.files import fingerprints as fingerprints_module

LATER = 10_000_000_000


@pytest.fixture(autouse=True)
def there(tmp_path: Path) -> Path:
    file = tmp_path / "there"
    file.write_text("one")
    return file


def take(tmp_path: Path, variables: dict[str, str], *, later: int = LATER) -> Fingerprints:
    inputs = [str(tmp_path / "there"), str(tmp_path / "absent"), "$STAGE", "~", "a\0b", ""]
    machine = Machine(home=str(tmp_path), variables=variables)
    return take_fingerprints(inputs, machine, now_ns=time.time_ns() + later)


def test_what_nobody_touched_is_unchanged_even_when_it_was_stored_in_between(tmp_path: Path) -> None:
    prints = take(tmp_path, {"STAGE": "dev"})
    assert prints.are_unchanged()
    machine = Machine(home=str(tmp_path), variables={"STAGE": "dev"})
    assert Fingerprints(prints.stored, machine).are_unchanged()
    assert not Fingerprints({}, machine).are_unchanged()


def test_a_file_that_is_written_removed_replaced_or_new_is_a_change(tmp_path: Path, there: Path) -> None:
    for change in (
        lambda: there.write_text("two"),
        lambda: os.utime(there, (1, 1)),
        lambda: (tmp_path / "absent").touch(),
        lambda: (tmp_path / "absent").replace(there),
        lambda: there.unlink(),
    ):
        prints = take(tmp_path, {})
        assert prints.are_unchanged()
        change()
        assert not prints.are_unchanged()


def test_variables_and_the_home_are_inputs_and_of_a_value_only_a_digest_is_kept(tmp_path: Path) -> None:
    variables = {"STAGE": "secret"}
    prints = take(tmp_path, variables)
    assert "secret" not in str(prints.stored)
    variables["STAGE"] = "live"
    assert not prints.are_unchanged()
    assert not Fingerprints({"~": "/home/ada"}, Machine(home="/home/eve", variables={})).are_unchanged()


def test_a_file_that_was_just_written_may_be_written_again_unnoticed(tmp_path: Path) -> None:
    prints = take(tmp_path, {}, later=0)
    assert not prints.are_unchanged()
    assert not Fingerprints(prints.stored, Machine(home=str(tmp_path), variables={})).are_unchanged()


def test_a_file_in_an_absent_directory_is_noticed_when_both_are_made(tmp_path: Path) -> None:
    paths = [str(tmp_path / "a/b/one"), str(tmp_path / "a/two"), "absent-and-relative/file"]
    machine = Machine(home=str(tmp_path), variables={})
    prints = take_fingerprints(paths, machine, now_ns=time.time_ns() + LATER)
    assert prints.are_unchanged()
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/one").touch()
    assert not prints.are_unchanged()


class Pauses(Event):
    """An event with a script: what happens in each pause, and how long it was to be."""

    def __init__(self, *scenes: Callable[[], object]) -> None:
        super().__init__()
        self.lengths: list[float] = []
        self._scenes = list(scenes)

    def wait(self, timeout: float | None = None) -> bool:
        self.lengths.append(timeout or 0)
        if self._scenes:
            self._scenes.pop(0)()
        else:
            self.set()
        return self.is_set()


def test_a_wait_ends_with_the_paths_that_changed(tmp_path: Path, there: Path) -> None:
    absent = str(tmp_path / "absent")
    pauses = Pauses(lambda: None, lambda: there.write_text("two!"), lambda: None)
    assert wait_for_change([str(there), absent], pauses, 60) == {str(there)}
    assert len(pauses.lengths) == 2
    assert wait_for_change([absent], Pauses((tmp_path / "absent").touch), 60) == {absent}
    assert wait_for_change([absent], Pauses((tmp_path / "absent").unlink), 60) == {absent}
    assert wait_for_change([str(there)], Event(), 0) == set()


def test_what_changed_since_an_earlier_look_ends_the_wait_at_once(there: Path) -> None:
    before = look_at([str(there)])
    there.write_text("meanwhile")
    assert wait_for_change([str(there)], Event(), 60, since=before) == {str(there)}


def test_another_thread_ends_the_wait_at_once_with_one_more_look(there: Path) -> None:
    stop, started = Event(), time.monotonic()

    def write_and_wake() -> None:
        there.write_text("written by a call")
        stop.set()

    before = look_at([str(there)])
    threading.Timer(0.02, write_and_wake).start()
    assert wait_for_change([str(there)], stop, 60, since=before) == {str(there)}
    assert time.monotonic() - started < 0.4


def test_a_pause_is_long_when_looking_takes_long(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(1000))
    monkeypatch.setattr(fingerprints_module.time, "monotonic", lambda: next(clock) * 0.01)
    pauses = Pauses()
    wait_for_change([str(there)], pauses, 60)
    assert pauses.lengths == [pytest.approx(2.0)]
