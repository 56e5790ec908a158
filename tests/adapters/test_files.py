import os
from pathlib import Path

import pytest

from remit.adapters.files import HOME, FileError, Machine, fingerprint, read_json

LIMIT = 10_000
LATER = 2**62  # nanoseconds: every file has settled by then


def machine(**variables: str) -> Machine:
    return Machine(home="/home/ada", variables=variables)


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (b'{"a": 1}', {"a": 1}),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        (b'{"a": 1, "a": 2}', {"a": 2}),
        (b"null", None),
        (b'"\xff"', "\ufffd"),
        (b'"\\ud800"', "\ud800"),
    ],
)
def test_json_is_read_as_a_javascript_client_reads_it(content: bytes, value: object, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)
    assert read_json(str(tmp_path / "file"), limit=LIMIT) == (value,)


@pytest.mark.parametrize(
    ("content", "place", "reason"),
    [
        (b"", "", "empty"),
        (b" \n", "", "empty"),
        (b'{"a": 1', "line 1 column 8", "not valid JSON"),
        (b'{\n  // note\n  "a": 1}', "line 2 column 3", "not valid JSON"),
        (b'{"a": 1,}', "line 1", "not valid JSON"),
        (b"[NaN]", "", "NaN is not a value"),
        (b"[" * 5_000, "", "nested too deeply"),
        (b"9" * 6_000, "", "thousands of digits"),
        (b" " * (LIMIT + 1), "", "more than the 10,000"),
    ],
)
def test_what_is_no_json_is_refused_with_place_and_reason(
    content: bytes, place: str, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(FileError) as raised:
        read_json(str(tmp_path / "file"), limit=LIMIT)
    assert raised.value.place.startswith(place)
    assert reason in raised.value.reason


def test_a_missing_file_is_no_error(tmp_path: Path) -> None:
    assert read_json(str(tmp_path / "absent"), limit=LIMIT) is None


def test_a_directory_a_pipe_and_a_circle_of_links_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "circle"):
        with pytest.raises(FileError):
            read_json(str(path), limit=LIMIT)


def test_an_endless_device_is_refused(tmp_path: Path) -> None:
    (tmp_path / "zero").symlink_to("/dev/zero")
    with pytest.raises(FileError, match="not a regular file"):
        read_json(str(tmp_path / "zero"), limit=LIMIT)


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
