"""Watching directories, with real files and the machine's own notices."""

import os
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from remit.files.directory_watcher import DirectoryNotifier
from remit.files.inotify import Inotify
from remit.files.polled_watch import PolledWatch

LONG = 30.0  # seconds that nobody waits, because a notice comes first


@pytest.fixture(params=[Inotify, PolledWatch] if sys.platform == "linux" else [PolledWatch])
def notifier(request: pytest.FixtureRequest) -> Iterator[DirectoryNotifier]:
    opened = DirectoryNotifier(request.param)
    yield opened
    opened.stop()


def noticed(notifier: DirectoryNotifier) -> bool:
    """Wait for a notice; what concerns none of the places may come before it."""
    return any(notifier.wait(LONG) for _ in range(10))


def test_a_file_that_is_made_written_replaced_or_removed_is_noticed(
    tmp_path: Path, notifier: DirectoryNotifier
) -> None:
    place, other = tmp_path / "remit.toml", tmp_path / "new"
    notifier.watch([str(place)])
    place.write_text("1")
    assert noticed(notifier)
    place.write_text("2")
    assert noticed(notifier)
    other.write_text("3")
    os.replace(other, place)
    assert noticed(notifier)
    place.unlink()
    assert noticed(notifier)


def test_what_happens_beside_a_place_is_not(tmp_path: Path, notifier: DirectoryNotifier) -> None:
    notifier.watch([str(tmp_path / "remit.toml")])
    (tmp_path / "other").write_text("1")
    assert not notifier.wait(LONG)


def test_a_place_in_a_directory_that_does_not_exist_yet_is_noticed_step_by_step(
    tmp_path: Path, notifier: DirectoryNotifier
) -> None:
    place = tmp_path / "a" / "b" / "file"
    notifier.watch([str(place)])
    (tmp_path / "a").mkdir()
    assert noticed(notifier)
    notifier.watch([str(place)])
    place.parent.mkdir()
    assert noticed(notifier)
    notifier.watch([str(place)])
    place.write_text("1")
    assert noticed(notifier)


def test_what_happens_in_a_directory_that_is_a_place_is_noticed(
    tmp_path: Path, notifier: DirectoryNotifier
) -> None:
    (tmp_path / "commands").mkdir()
    notifier.watch([str(tmp_path / "commands")])
    (tmp_path / "commands" / "deploy.md").write_text("1")
    assert noticed(notifier)


def test_a_directory_that_was_replaced_is_watched_anew(tmp_path: Path, notifier: DirectoryNotifier) -> None:
    folder, old = tmp_path / "commands", tmp_path / "old"
    folder.mkdir()
    notifier.watch([str(folder / "deploy.md")])
    folder.rename(old)  # kept, so that the new one has another number
    folder.mkdir()
    assert noticed(notifier)
    notifier.watch([str(folder / "deploy.md")])
    (folder / "deploy.md").write_text("1")
    assert noticed(notifier)
    shutil.rmtree(old)


def test_a_file_is_noticed_where_a_link_leads_to(tmp_path: Path, notifier: DirectoryNotifier) -> None:
    real = tmp_path / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_text("1")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".claude.json").symlink_to(real)
    notifier.watch([str(tmp_path / "home" / ".claude.json")])
    real.write_text("2")
    assert noticed(notifier)


def test_without_a_place_and_after_the_end_nothing_is_noticed(
    tmp_path: Path, notifier: DirectoryNotifier
) -> None:
    assert not notifier.wait(0.001)
    notifier.watch([])
    assert not notifier.wait(0.001)
    notifier.stop()
    assert notifier.is_stopped
    notifier.watch([str(tmp_path / "file")])
    assert not notifier.wait(LONG)


def test_whoever_waits_is_woken_by_the_end(tmp_path: Path, notifier: DirectoryNotifier) -> None:
    notifier.watch([str(tmp_path / "file")])
    answers: list[bool] = []
    waiting = threading.Thread(target=lambda: answers.append(bool(notifier.wait(600))))
    waiting.start()
    notifier.stop()
    waiting.join(LONG)
    assert answers == [False]


def test_a_place_that_no_file_can_have_is_left_out(tmp_path: Path, notifier: DirectoryNotifier) -> None:
    notifier.watch([str(tmp_path / "a\0b"), str(tmp_path / "file")])
    (tmp_path / "file").write_text("1")
    assert noticed(notifier)


def test_a_notice_names_the_paths_that_changed(tmp_path: Path, notifier: DirectoryNotifier) -> None:
    place = tmp_path / "file"
    notifier.watch([str(place)])
    place.write_text("1")
    assert {path for _ in range(10) for path in notifier.wait(0.2)} == {str(place)}
