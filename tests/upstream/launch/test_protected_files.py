import os
from pathlib import Path

import pytest

from remit.trust.server_sandbox import SandboxError
from remit.upstream.launch import protected_files
from remit.upstream.launch.protected_files import protect

HOME = "/nowhere"
RESERVED = {".git", ".claude", ".codex", ".cursor", ".gemini", ".opencode", ".vscode", "HEAD"}


def test_what_runs_code_is_found_at_any_depth_except_in_installed_packages(tmp_path: Path) -> None:
    for name in ("out/a/b/.git", "out/.claude/.git", "out/node_modules/x/.vscode"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "out/a/.mcp.json").write_text("{}")
    found = protect([str(tmp_path / "out")], str(tmp_path), HOME)
    read_only, pinned = ({os.path.relpath(path, tmp_path) for path in paths} for paths in found)
    assert read_only == {"out/a/b/.git", "out/.claude", "out/a/.mcp.json"}
    assert pinned == {"out/a", "out/a/b"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]  # only a writable project gets names


def test_what_the_user_names_is_not_protected(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert str(tmp_path / ".git") in protect([str(tmp_path)], str(tmp_path), HOME).read_only
    named = protect([str(tmp_path), str(tmp_path / ".git")], str(tmp_path), HOME).read_only
    assert str(tmp_path / ".git") not in named
    assert str(tmp_path / ".claude") in named


def test_a_directory_that_cannot_be_searched_stays_read_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out/closed").mkdir(parents=True)

    def access(path: str, mode: int) -> bool:
        return mode == os.F_OK or not path.endswith("closed")

    monkeypatch.setattr(os, "access", access)  # root may search everything
    assert protect([str(tmp_path / "out")], str(tmp_path), HOME).read_only == (str(tmp_path / "out/closed"),)


def test_a_directory_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protected_files, "_MOST_ENTRIES", 2)
    for name in ("a", "b", "c"):
        (tmp_path / "out" / name).mkdir(parents=True)
    with pytest.raises(SandboxError, match="out` is too large to make it writable: more than 2 files"):
        protect([str(tmp_path / "out")], str(tmp_path), HOME)


def test_a_name_that_cannot_be_reserved_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match=r"absent/\.git` cannot be protected: No such file or directory"):
        protect([str(tmp_path)], str(tmp_path / "absent"), HOME)


def protected(root: Path, *writable: str, home: str = HOME) -> tuple[set[str], set[str]]:
    found = protect([str(root / name) for name in writable], str(root), home)
    read_only, pinned = ({os.path.relpath(path, root) for path in paths} for paths in found)
    return read_only - RESERVED, pinned


def test_every_name_with_a_dot_at_the_top_of_a_project_is_protected(tmp_path: Path) -> None:
    for name in (".unheard-of", ".cache", "data/.index", "vendor/lib/.git", "vendor/lib/.rc"):
        (tmp_path / name).mkdir(parents=True)
    for name in (".env", ".gitignore", "docs/AGENTS.md", "data/.lock"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    read_only, pinned = protected(tmp_path, ".")
    assert read_only == {".unheard-of", ".env", "docs/AGENTS.md", "vendor/lib/.git", "vendor/lib/.rc"}
    assert pinned == {"docs", "vendor", "vendor/lib"}
    assert protected(tmp_path, "data") == (set(), set())  # of a server's own, below the top


def test_the_directories_of_clients_in_use_are_reserved(tmp_path: Path) -> None:
    (tmp_path / "home/.kiro").mkdir(parents=True)
    (tmp_path / "shop").mkdir()
    assert protected(tmp_path / "shop", ".", home=str(tmp_path / "home"))[0] == {".kiro"}
    assert (tmp_path / "shop/.kiro").is_dir()
    assert not (tmp_path / "shop/.qwen").exists()


def test_a_link_to_instructions_protects_its_target(tmp_path: Path) -> None:
    (tmp_path / "docs/agents").mkdir(parents=True)
    (tmp_path / "docs/agents/rules.txt").write_text("")
    (tmp_path / "CLAUDE.md").symlink_to("docs/agents/rules.txt")
    (tmp_path / ".out").symlink_to("/etc")
    (tmp_path / ".gone").symlink_to("nowhere")
    (tmp_path / ".here").symlink_to(".")
    assert protected(tmp_path, ".") == ({"docs/agents/rules.txt"}, {"docs", "docs/agents"})


def test_a_link_into_a_protected_directory_does_not_make_a_part_of_it_writable(tmp_path: Path) -> None:
    (tmp_path / ".tools/bin").mkdir(parents=True)
    (tmp_path / ".tools/bin/rules").write_text("")
    (tmp_path / "AGENTS.md").symlink_to(".tools/bin/rules")
    assert protected(tmp_path, ".") == ({".tools", ".tools/bin/rules"}, set())
