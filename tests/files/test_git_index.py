import os
from pathlib import Path

import pytest

from remit.files.git_index import index_path, is_tracked
from support.processes import git


@pytest.fixture
def main(tmp_path: Path) -> Path:
    """A real repository that tracks some files, and has one that it does not."""
    root = tmp_path.resolve() / "main"
    for name in ("a/.mcp.json", "a/other.json", "a/much/deeper/.mcp.json", ".mcp.json", "new/.mcp.json"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("{}")
    git("init", cwd=root)
    git("add", "a", ".mcp.json", cwd=root)
    git("commit", "--message", "start", cwd=root)
    return root


def tracked(root: Path) -> list[str]:
    return sorted(str(file.relative_to(root)) for file in root.rglob(".mcp.json") if is_tracked(str(file)))


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_tracked_files_are_told_from_others_in_every_version_of_the_index(main: Path, version: str) -> None:
    git("update-index", "--index-version", version, cwd=main)
    git("add", "--intent-to-add", "new/.mcp.json", cwd=main)  # an entry with more flags, in version 3 and 4
    git("reset", "--quiet", "--", "a/much", cwd=main)
    assert tracked(main) == [".mcp.json", "a/.mcp.json", "a/much/deeper/.mcp.json", "new/.mcp.json"]
    git("rm", "--quiet", "--cached", "a/.mcp.json", "new/.mcp.json", cwd=main)
    assert tracked(main) == [".mcp.json", "a/much/deeper/.mcp.json"]


def test_many_files_with_long_names_are_read_in_the_compressed_version(main: Path) -> None:
    (main / ("d" * 200)).mkdir()
    for at in range(300):
        (main / ("d" * 200) / f"{at}").write_text("")
    (main / "zz").mkdir()
    (main / "zz" / ".mcp.json").write_text("{}")
    git("add", ".", cwd=main)
    git("update-index", "--index-version", "4", cwd=main)
    assert tracked(main)[-1] == "zz/.mcp.json"


def test_a_repository_with_longer_object_names_is_read(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    (root / ".mcp.json").write_text("{}")
    git("init", "--object-format=sha256", cwd=root)
    assert not is_tracked(str(root / ".mcp.json"))
    git("add", ".mcp.json", cwd=root)
    assert is_tracked(str(root / ".mcp.json"))


def test_a_linked_worktree_has_an_index_of_its_own(main: Path) -> None:
    linked = main.parent / "linked"
    git("worktree", "add", str(linked), cwd=main)
    git("rm", "--quiet", "--cached", ".mcp.json", cwd=linked)
    assert ".mcp.json" in tracked(main)
    assert tracked(linked) == ["a/.mcp.json", "a/much/deeper/.mcp.json"]


@pytest.mark.parametrize(
    "content", [b"", b"DIRC", b"DIRC" + b"\0\0\0\2" + b"\0\0\0\7" + b"x" * 70, b"x" * 99]
)
def test_a_damaged_index_tracks_nothing(main: Path, content: bytes) -> None:
    (main / ".git" / "index").write_bytes(content)
    assert tracked(main) == []


def test_outside_a_repository_nothing_is_tracked(tmp_path: Path) -> None:
    assert not is_tracked(os.path.join(tmp_path.resolve(), ".mcp.json"))


def test_an_index_that_is_no_file_tracks_nothing(main: Path) -> None:
    (main / ".git" / "index").unlink()
    (main / ".git" / "index").mkdir()
    assert tracked(main) == []


def test_an_index_that_is_a_link_out_of_the_repository_is_not_read(main: Path, tmp_path: Path) -> None:
    index = main / ".git/index"
    index.rename(tmp_path / "index")
    index.symlink_to(tmp_path / "index")
    assert tracked(main) == []


def test_a_checkout_whose_git_file_leads_elsewhere_may_track_anything(
    main: Path,
) -> None:
    planted = main.parent / "planted"
    planted.mkdir()
    (planted / ".git").write_text(f"gitdir: {main}/.git\n")
    assert is_tracked(str(planted / "new.json"))
    assert index_path(str(planted / "new.json")) == str(planted / ".git")
    assert index_path(str(main / "new.json")) == str(main / ".git/index")
