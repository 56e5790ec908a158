import os
from pathlib import Path

import pytest

from remit.errors import BadFileError
from remit.files import (
    ANYWHERE,
    FileError,
    is_only_roots,
    read_bytes,
    read_part,
    read_start,
    read_text,
    this_machine,
)

LIMIT = 10_000


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


def test_a_device_is_not_opened_through_a_link_that_leads_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path.resolve()
    (here / "link").symlink_to("/dev/null")
    opened: list[object] = []
    real_open = os.open

    def counted(path: object, flags: int, *rest: int) -> int:
        if not flags & getattr(os, "O_PATH", 0):
            opened.append(path)
        return real_open(path, flags, *rest)  # pyright: ignore[reportArgumentType] - any path

    monkeypatch.setattr(os, "open", counted)
    with pytest.raises(FileError, match="leads out of the project"):
        read_text(str(here / "link"), limit=LIMIT, within=[str(here)])
    assert opened == []


def test_the_start_of_a_long_file_and_the_end_are_read(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"0123456789")
    assert read_start(str(path), size=3, within=ANYWHERE) == b"012"
    assert read_part(str(path), start=0, size=4, within=ANYWHERE) == (6, b"6789")
    assert read_part(str(path), start=8, size=4, within=ANYWHERE) == (8, b"89")
    assert read_bytes(str(path), limit=LIMIT, within=ANYWHERE) == b"0123456789"


def test_a_variable_that_is_not_text_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMIT_HOME", "/a\udcff")
    with pytest.raises(BadFileError, match="REMIT_HOME is not valid Unicode"):
        this_machine()
