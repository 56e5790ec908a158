import os
from pathlib import Path

import pytest

from remit.trust.server_sandbox import SandboxError
from remit.upstream.launch import protected_files
from remit.upstream.launch.protected_files import protect


def test_what_runs_code_is_found_at_any_depth_except_in_installed_packages(tmp_path: Path) -> None:
    for name in ("out/a/b/.git", "out/.claude/.git", "out/node_modules/x/.vscode"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "out/a/.mcp.json").write_text("{}")
    found = protect([str(tmp_path / "out")], str(tmp_path))
    read_only, pinned = ({os.path.relpath(path, tmp_path) for path in paths} for paths in found)
    assert read_only == {"out/a/b/.git", "out/.claude", "out/a/.mcp.json"}
    assert pinned == {"out/a", "out/a/b"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]  # only a writable project gets names


def test_what_the_user_names_is_not_protected(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert str(tmp_path / ".git") in protect([str(tmp_path)], str(tmp_path)).read_only
    named = protect([str(tmp_path), str(tmp_path / ".git")], str(tmp_path)).read_only
    assert str(tmp_path / ".git") not in named
    assert str(tmp_path / ".claude") in named


def test_a_directory_that_cannot_be_searched_stays_read_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out/closed").mkdir(parents=True)

    def access(path: str, mode: int) -> bool:
        return mode == os.F_OK or not path.endswith("closed")

    monkeypatch.setattr(os, "access", access)  # root may search everything
    assert protect([str(tmp_path / "out")], str(tmp_path)).read_only == (str(tmp_path / "out/closed"),)


def test_a_directory_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protected_files, "_MOST_ENTRIES", 2)
    for name in ("a", "b", "c"):
        (tmp_path / "out" / name).mkdir(parents=True)
    with pytest.raises(SandboxError, match="out` is too large to make it writable: more than 2 files"):
        protect([str(tmp_path / "out")], str(tmp_path))


def test_a_name_that_cannot_be_reserved_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match=r"absent/\.git` cannot be protected: No such file or directory"):
        protect([str(tmp_path)], str(tmp_path / "absent"))
