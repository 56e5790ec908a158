"""A file is changed whole or not at all, and never over what somebody else wrote."""

import os
import stat
from pathlib import Path

import pytest

from remit.errors import FileChangeError
from remit.files import FileChange, change_file, is_writable, observing, read_exactly
from remit.files.changes import TRIES


def test_what_a_function_makes_of_a_file_takes_its_place(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(b"\xef\xbb\xbfone\r\n\xff")
    change_file(str(file), lambda text: (text or "").replace("one", "two"))
    assert file.read_bytes() == b"\xef\xbb\xbftwo\r\n\xff"
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_file_keeps_its_mode_and_a_link_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "a.json"
    real.parent.mkdir()
    real.write_text("one")
    real.chmod(0o640)
    link = tmp_path / "a.json"
    link.symlink_to(real)
    change_file(str(link), lambda _: "two")
    assert link.is_symlink()
    assert real.read_text() == "two"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_new_file_is_for_its_user_alone_and_so_is_its_directory(tmp_path: Path) -> None:
    file = tmp_path / "made" / "a.json"
    change_file(str(file), lambda text: "new" if text is None else "old")
    assert file.read_text() == "new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_file_is_removed_when_nothing_is_to_be_in_it(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text("one")
    change_file(str(file), lambda _: None)
    assert not file.exists()
    change_file(str(file), lambda _: None)


def test_a_file_that_is_to_stay_as_it_is_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text("one")
    before = file.stat()
    change_file(str(file), lambda text: text)
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_what_somebody_writes_meanwhile_is_read_again_and_kept(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text("one")
    seen: list[str | None] = []

    def change(text: str | None) -> str:
        seen.append(text)
        if len(seen) == 1:
            file.write_text("two")  # as long as the first, and perhaps at the same tick
        return f"{text}!"

    change_file(str(file), change)
    assert seen == ["one", "two"]
    assert file.read_text() == "two!"
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_file_that_comes_or_goes_meanwhile_is_looked_at_again(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    seen: list[str | None] = []

    def change(text: str | None) -> str:
        seen.append(text)
        if len(seen) == 1:
            file.write_text("theirs")
        if len(seen) == 2:
            file.unlink()
        return "ours"

    change_file(str(file), change)
    assert seen == [None, "theirs", None]


def test_a_file_that_is_written_to_again_and_again_is_left_to_its_writer(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text("0")
    count = 0

    def change(_: str | None) -> str:
        nonlocal count
        count += 1
        file.write_text(str(count))
        return "ours"

    with pytest.raises(FileChangeError, match="kept changing"):
        change_file(str(file), change)
    assert count == TRIES
    assert file.read_text() == str(TRIES)
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_failure_before_the_file_is_replaced_leaves_it_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.json"
    file.write_text("one")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileChangeError, match="No space left"):
        change_file(str(file), lambda _: "two")
    assert file.read_text() == "one"
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_an_error_in_the_change_itself_passes_and_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text("one")

    def change(_: str | None) -> str:
        raise KeyError("x")

    with pytest.raises(KeyError):
        change_file(str(file), change)
    assert file.read_text() == "one"


def test_what_is_no_file_is_named_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileChangeError, match=r"folder cannot be read: not a regular file"):
        read_exactly(str(tmp_path / "folder"))
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    with pytest.raises(FileChangeError, match="circle"):
        change_file(str(tmp_path / "circle"), lambda _: "x")


def test_a_file_that_its_owner_made_read_only_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.json"
    file.write_text("one")
    monkeypatch.setattr(os, "access", lambda path, _mode: path != str(file))  # pyright: ignore[reportUnknownArgumentType, reportUnknownLambdaType] - root may write to everything
    with pytest.raises(FileChangeError, match="read-only"):
        change_file(str(file), lambda _: "two")
    assert file.read_text() == "one"


def test_a_new_file_for_every_user_can_be_read_by_all_whatever_the_umask(tmp_path: Path) -> None:
    file = tmp_path / "etc/remit/record.json"
    usual = os.umask(0o077)
    try:
        change_file(str(file), lambda _: "x", is_public=True)
    finally:
        os.umask(usual)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent, file.parent.parent)]
    assert modes == [0o644, 0o755, 0o755]


def test_whether_a_file_can_be_written_is_known_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "made.json"
    file.write_text("x")
    assert is_writable(str(file))
    assert is_writable(str(tmp_path / "not/there/yet.json"))
    closed = {str(file)}

    def may(path: str, _mode: int) -> bool:
        return path not in closed

    monkeypatch.setattr(os, "access", may)
    assert not is_writable(str(file))
    closed.add(str(tmp_path))
    assert not is_writable(str(tmp_path / "not/there/yet.json"))


def test_an_observer_hears_of_each_change_before_it_is_made(tmp_path: Path) -> None:
    file = tmp_path / "made" / "a.json"
    changes: list[tuple[FileChange, bool]] = []
    with observing(lambda change: changes.append((change, file.exists()))):
        change_file(str(file), lambda _: "x")
        change_file(str(file), lambda _: "x")
    change_file(str(file), lambda _: "y")
    assert changes == [(FileChange(str(file.resolve()), None, "x", (str(file.parent.resolve()),)), False)]


def test_a_write_that_no_timestamp_shows_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.json"
    file.write_text("one")
    frozen, stat_of = file.stat(), os.stat

    def coarse(path: str, **options: bool) -> os.stat_result:
        return frozen if str(path) == str(file) else stat_of(path, **options)

    seen: list[str | None] = []

    def change(text: str | None) -> str:
        seen.append(text)
        if len(seen) == 1:
            with open(file, "r+") as theirs:
                theirs.write("two")
        return f"{text}!"

    monkeypatch.setattr(os, "stat", coarse)
    change_file(str(file), change)
    assert (seen, file.read_text()) == (["one", "two"], "two!")


def test_a_file_and_its_directory_are_on_disk_before_the_command_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[bool] = []

    def fsync(descriptor: int) -> None:
        synced.append(stat.S_ISDIR(os.fstat(descriptor).st_mode))

    monkeypatch.setattr(os, "fsync", fsync)
    change_file(str(tmp_path / "a.json"), lambda _: "x")
    assert synced == [False, True]
