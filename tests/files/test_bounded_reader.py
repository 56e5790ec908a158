import os
from pathlib import Path

import pytest

from remit.files.bounded_reader import (
    ANYWHERE,
    HOME,
    FileError,
    Machine,
    fingerprint,
    is_only_roots,
    read_part,
    read_text,
)

LIMIT = 10_000
LATER = 2**62  # nanoseconds: every file has settled by then


def machine(**variables: str) -> Machine:
    return Machine(home="/home/ada", variables=variables)


def test_text_is_read_without_its_byte_order_mark_and_with_replacements(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\xef\xbb\xbfa\xff")
    assert read_text(str(tmp_path / "file"), limit=LIMIT, within=ANYWHERE) == "a\ufffd"


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b" " * (LIMIT + 1))
    with pytest.raises(FileError, match="at most 10,000"):
        read_text(str(tmp_path / "file"), limit=LIMIT, within=ANYWHERE)


def test_a_missing_file_is_no_error(tmp_path: Path) -> None:
    assert read_text(str(tmp_path / "absent"), limit=LIMIT, within=ANYWHERE) is None


def test_a_directory_a_pipe_and_a_circle_of_links_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "circle"):
        with pytest.raises(FileError):
            read_text(str(path), limit=LIMIT, within=ANYWHERE)


def test_an_endless_device_is_refused(tmp_path: Path) -> None:
    (tmp_path / "zero").symlink_to("/dev/zero")
    with pytest.raises(FileError, match="not a regular file"):
        read_text(str(tmp_path / "zero"), limit=LIMIT, within=ANYWHERE)


def test_a_fingerprint_tells_content_times_and_absence_apart(tmp_path: Path) -> None:
    path, seen = tmp_path / "file", set[str]()
    for content in (None, "a", "bb"):
        if content is not None:
            path.write_text(content)
        seen.add(fingerprint(str(path), machine(), now_ns=LATER))
    assert len(seen) == 3
    assert fingerprint(str(path), machine(), now_ns=LATER) == fingerprint(str(path), machine(), now_ns=LATER)


def test_a_file_that_was_written_just_now_is_read_again_next_time(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("a")
    written = path.stat().st_mtime_ns
    assert fingerprint(str(path), machine(), now_ns=written) != fingerprint(
        str(path), machine(), now_ns=written + 1
    )


def test_variables_and_the_home_are_inputs_too_and_their_values_are_not_kept() -> None:
    assert fingerprint(HOME, machine(), now_ns=0) == "/home/ada"
    assert fingerprint("$KEY", machine(), now_ns=0) == ""
    assert "secret" not in fingerprint("$KEY", machine(KEY="secret"), now_ns=0)
    assert fingerprint("$KEY", machine(KEY="a"), now_ns=0) != fingerprint("$KEY", machine(KEY="b"), now_ns=0)


def test_a_path_that_cannot_exist_has_the_fingerprint_of_an_absent_one() -> None:
    assert fingerprint("/a\0b", machine(), now_ns=0) == ""


def test_a_file_is_roots_alone_when_nobody_else_can_write_it_or_a_directory_above_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("a")
    path.chmod(0o666)
    assert not is_only_roots(str(path))
    assert not is_only_roots(str(tmp_path / "absent"))


def test_a_part_is_not_read_through_a_link_that_leads_out(tmp_path: Path) -> None:
    here = tmp_path.resolve()
    (here / "shop").mkdir()
    (here / "secret").write_text("secret")
    (here / "shop/link").symlink_to(here / "secret")
    link = str(here / "shop/link")
    assert read_part(link, start=0, size=6, within=[str(here / "shop")]) is None
    assert read_part(link, start=0, size=6, within=[str(here)]) == (0, b"secret")
