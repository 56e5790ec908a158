"""Lines in the files of clients."""

from pathlib import Path

import pytest

from support.sandbox import Sandbox

SETTINGS = """{
  "note": "disableAllHooks",
  "env": {"disableAllHooks": "x",
    "PATH": "bin"},
  // the client allows comments
  "disableAllHooks": true
}
"""


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (("disableAllHooks",), 6),
        (("env", "disableAllHooks"), 3),
        (("env", "PATH"), 4),
        (("PATH",), 0),
        (("env", "HOME"), 0),
    ],
)
def test_the_line_is_that_of_the_member_and_not_of_a_word_like_it(
    sandbox: Sandbox, tmp_path: Path, keys: tuple[str, ...], line: int
) -> None:
    path = sandbox.write(tmp_path / "settings.json", SETTINGS)
    assert sandbox.client_files().line_of(str(path), *keys) == line


@pytest.mark.parametrize("content", ["{", "[]", "", '{"x": ' + "[" * 100_000])
def test_a_file_that_cannot_be_read_has_no_lines(sandbox: Sandbox, tmp_path: Path, content: str) -> None:
    path = sandbox.write(tmp_path / "settings.json", content)
    assert sandbox.client_files().line_of(str(path), "x") == 0
    assert sandbox.client_files().line_of(str(tmp_path / "none.json"), "x") == 0
