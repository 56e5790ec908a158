"""Remit's own files are for their user alone, and locks end with their process."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from remit.files import ExposedFileError, file_lock, open_private, read_secret, try_lock, write_private


def test_a_private_file_and_its_directory_are_for_their_user_alone(tmp_path: Path) -> None:
    file = tmp_path / "made/a"
    write_private(str(file), "one")
    write_private(str(file), "two")
    assert file.read_text() == "two"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent)] == [0o600, 0o700]
    assert os.listdir(file.parent) == ["a"]


def test_a_private_file_is_not_opened_through_a_link_of_any_kind(tmp_path: Path) -> None:
    theirs, others = tmp_path / "theirs", tmp_path / "others"
    theirs.write_text("keep")
    others.write_text("keep")
    (tmp_path / "soft").symlink_to(others)
    os.link(theirs, tmp_path / "hard")
    for name in ("soft", "hard"):
        with pytest.raises(OSError, match=r"link|symbolic"):
            open_private(str(tmp_path / name), os.O_WRONLY | os.O_TRUNC)
    assert theirs.read_text() == others.read_text() == "keep"


def test_a_file_that_existed_becomes_private_when_it_is_opened(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text("old")
    file.chmod(0o644)
    with open(file, "w", opener=open_private) as opened:
        opened.write("new")
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == ("new", 0o600)


def test_a_secret_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("hunter2\n")
    file.chmod(0o644)
    with pytest.raises(ExposedFileError):
        read_secret(str(file))
    file.chmod(0o600)
    assert read_secret(str(file)) == "hunter2"
    file.write_bytes(b"\xff")
    with pytest.raises(OSError, match="not UTF-8"):
        read_secret(str(file))


def test_a_lock_is_held_while_its_file_is_replaced_and_ends_with_the_block(tmp_path: Path) -> None:
    file = str(tmp_path / "tokens")
    with file_lock(file):
        write_private(file, "replaced")
        assert try_lock(f"{file}.lock") is None
    descriptor = try_lock(f"{file}.lock")
    assert descriptor is not None
    os.close(descriptor)


def test_the_lock_of_a_process_that_ended_is_free(tmp_path: Path) -> None:
    path = str(tmp_path / "owner")
    script = "import sys; from remit.files import try_lock; print(try_lock(sys.argv[1], is_new=True))"
    found = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True)
    assert found.stdout.strip().isdecimal()
    with pytest.raises(FileExistsError):
        try_lock(path, is_new=True)
    descriptor = try_lock(path)
    assert descriptor is not None
    os.close(descriptor)
