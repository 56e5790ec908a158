import os
import subprocess
from pathlib import Path

import pytest

from remit.errors import NotFoundError
from remit.files import (
    ANYWHERE,
    git_directory,
    index_path,
    is_tracked,
    link_in_checkout,
    link_roots,
    locate,
)
from support.git import git


@pytest.fixture
def main(tmp_path: Path) -> Path:
    """A real repository with one commit."""
    root = tmp_path.resolve() / "main"
    root.mkdir()
    git("init", cwd=root)
    git("commit", "--allow-empty", "--message", "start", cwd=root)
    return root


def project_of(directory: Path) -> str:
    return locate(str(directory)).project.path


def test_a_checkout_is_its_own_project(main: Path) -> None:
    assert locate(str(main)) == locate(str(main / ".git" / ".."))
    assert project_of(main) == str(main)


def test_the_hash_is_the_start_of_the_sha_256_of_the_path(tmp_path: Path) -> None:
    # printf '%s' / | sha256sum
    assert locate("/").project.hash == "8a5edab282632443"
    assert len(locate(str(tmp_path)).project.hash) == 16


def test_a_subdirectory_is_another_workspace_of_the_same_project(main: Path) -> None:
    below = main / "packages" / "api"
    below.mkdir(parents=True)
    assert project_of(below) == str(main)
    assert locate(str(below)).dir == str(below)
    assert locate(str(below)).checkout == str(main)


def test_a_symlink_to_a_checkout_is_that_checkout(main: Path, tmp_path: Path) -> None:
    (main / "src").mkdir()
    link = tmp_path / "link"
    link.symlink_to(main)
    assert locate(str(link)) == locate(str(main))
    assert project_of(link / "src") == str(main)


def test_a_linked_worktree_belongs_to_the_main_checkout(main: Path, tmp_path: Path) -> None:
    git("worktree", "add", str(tmp_path / "feature"), cwd=main)
    worktree = tmp_path.resolve() / "feature"
    assert project_of(worktree) == str(main)
    assert locate(str(worktree)).checkout == str(worktree)


def test_a_linked_worktree_with_relative_links_belongs_to_the_main_checkout(
    main: Path, tmp_path: Path
) -> None:
    worktree = tmp_path.resolve() / "feature"
    git("worktree", "add", str(worktree), cwd=main)
    (worktree / ".git").write_text("gitdir: ../main/.git/worktrees/feature\n")
    (main / ".git/worktrees/feature/gitdir").write_text("../../../../feature/.git\n")
    assert project_of(worktree) == str(main)


def test_worktrees_of_a_bare_repository_share_the_repository(main: Path, tmp_path: Path) -> None:
    git("clone", "--bare", str(main), str(tmp_path / "store.git"), cwd=tmp_path)
    for name in ("one", "two"):
        git("worktree", "add", "-b", name, str(tmp_path / name), cwd=tmp_path / "store.git")
    assert (
        project_of(tmp_path / "one") == project_of(tmp_path / "two") == str(tmp_path.resolve() / "store.git")
    )


def test_a_submodule_is_a_project_of_its_own(main: Path, tmp_path: Path) -> None:
    parent = tmp_path.resolve() / "parent"
    parent.mkdir()
    git("init", cwd=parent)
    git("submodule", "add", str(main), "vendored", cwd=parent)
    assert project_of(parent / "vendored") == str(parent / "vendored")


def test_a_nested_repository_is_a_project_of_its_own(main: Path) -> None:
    nested = main / "nested"
    nested.mkdir()
    git("init", cwd=nested)
    assert project_of(nested) == str(nested)


def test_without_git_the_directory_is_the_project(tmp_path: Path) -> None:
    plain = tmp_path.resolve() / "plain" / "below"
    plain.mkdir(parents=True)
    assert project_of(plain) == str(plain)


def test_a_planted_git_file_cannot_claim_another_project(main: Path, tmp_path: Path) -> None:
    git("worktree", "add", str(tmp_path / "feature"), cwd=main)
    planted = tmp_path.resolve() / "planted"
    planted.mkdir()
    (planted / ".git").write_bytes((tmp_path / "feature" / ".git").read_bytes())
    assert project_of(planted) == str(planted)


def test_git_records_that_do_not_stand_among_the_worktrees_claim_nothing(main: Path, tmp_path: Path) -> None:
    planted = tmp_path.resolve() / "planted"
    records = planted / "records"
    records.mkdir(parents=True)
    (planted / ".git").write_text(f"gitdir: {records}\n")
    (records / "commondir").write_text(f"{main}/.git\n")
    (records / "gitdir").write_text(f"{planted}/.git\n")
    assert project_of(planted) == str(planted)


@pytest.mark.parametrize(
    "content", [b"", b"garbage", b"gitdir: ", b"gitdir: /nowhere\n", b"\xff\xfe\x00", b"gitdir: \0"]
)
def test_a_broken_git_file_makes_its_directory_a_project(content: bytes, tmp_path: Path) -> None:
    (tmp_path / ".git").write_bytes(content)
    assert project_of(tmp_path) == str(tmp_path.resolve())


def test_nothing_is_no_directory() -> None:
    with pytest.raises(NotFoundError):
        locate("")


@pytest.mark.parametrize("name", ["absent", "a\0b", "file", "loop"])
def test_what_is_no_directory_is_an_error_that_names_it(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(NotFoundError) as raised:
        locate(os.path.join(str(tmp_path), name))
    assert name.split("\0")[0] in str(raised.value)


def test_a_directory_whose_name_is_not_unicode_is_an_error(tmp_path: Path) -> None:
    odd = os.path.join(os.fsencode(tmp_path), b"\xff")
    os.mkdir(odd)
    with pytest.raises(NotFoundError):
        locate(os.fsdecode(odd))


def test_the_git_directory_of_a_submodule_is_that_of_its_linked_worktree(main: Path, tmp_path: Path) -> None:
    other = tmp_path.resolve() / "other"
    git("clone", "--quiet", str(main), str(other), cwd=main)
    git("submodule", "add", str(other), "lib", cwd=main)
    git("commit", "--message", "lib", cwd=main)
    git("worktree", "add", str(tmp_path / "feature"), cwd=main)
    worktree = tmp_path.resolve() / "feature"
    git("submodule", "update", "--init", cwd=worktree)
    assert git_directory(str(main / "lib")) == str(main / ".git/modules/lib")
    assert git_directory(str(worktree)) == str(main / ".git/worktrees/feature")
    assert git_directory(str(worktree / "lib")) == str(main / ".git/worktrees/feature/modules/lib")


@pytest.fixture
def tracking(tmp_path: Path) -> Path:
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
def test_tracked_files_are_known_in_every_version_of_the_index(tracking: Path, version: str) -> None:
    git("update-index", "--index-version", version, cwd=tracking)
    git("add", "--intent-to-add", "new/.mcp.json", cwd=tracking)  # which has more flags
    git("reset", "--quiet", "--", "a/much", cwd=tracking)
    assert tracked(tracking) == [".mcp.json", "a/.mcp.json", "a/much/deeper/.mcp.json", "new/.mcp.json"]
    git("rm", "--quiet", "--cached", "a/.mcp.json", "new/.mcp.json", cwd=tracking)
    assert tracked(tracking) == [".mcp.json", "a/much/deeper/.mcp.json"]


def test_many_files_with_long_names_are_read_in_the_compressed_version(tracking: Path) -> None:
    (tracking / ("d" * 200)).mkdir()
    for at in range(300):
        (tracking / ("d" * 200) / f"{at}").write_text("")
    (tracking / "zz").mkdir()
    (tracking / "zz" / ".mcp.json").write_text("{}")
    git("add", ".", cwd=tracking)
    git("update-index", "--index-version", "4", cwd=tracking)
    assert tracked(tracking)[-1] == "zz/.mcp.json"


def test_a_repository_with_longer_object_names_is_read(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    (root / ".mcp.json").write_text("{}")
    git("init", "--object-format=sha256", cwd=root)
    assert not is_tracked(str(root / ".mcp.json"))
    git("add", ".mcp.json", cwd=root)
    assert is_tracked(str(root / ".mcp.json"))


def test_a_linked_worktree_has_an_index_of_its_own(tracking: Path) -> None:
    linked = tracking.parent / "linked"
    git("worktree", "add", str(linked), cwd=tracking)
    git("rm", "--quiet", "--cached", ".mcp.json", cwd=linked)
    assert ".mcp.json" in tracked(tracking)
    assert tracked(linked) == ["a/.mcp.json", "a/much/deeper/.mcp.json"]


@pytest.mark.parametrize(
    "content", [b"", b"DIRC", b"DIRC" + b"\0\0\0\2" + b"\0\0\0\7" + b"x" * 70, b"x" * 99]
)
def test_a_damaged_index_tracks_nothing(tracking: Path, content: bytes) -> None:
    (tracking / ".git" / "index").write_bytes(content)
    assert tracked(tracking) == []


def test_outside_a_repository_nothing_is_tracked(tmp_path: Path) -> None:
    assert not is_tracked(os.path.join(tmp_path.resolve(), ".mcp.json"))


def test_an_index_that_is_no_file_tracks_nothing(tracking: Path) -> None:
    (tracking / ".git" / "index").unlink()
    (tracking / ".git" / "index").mkdir()
    assert tracked(tracking) == []


def test_an_index_that_is_a_link_out_of_the_repository_is_not_read(tracking: Path, tmp_path: Path) -> None:
    index = tracking / ".git/index"
    index.rename(tmp_path / "index")
    index.symlink_to(tmp_path / "index")
    assert tracked(tracking) == []


def test_a_checkout_whose_git_file_leads_elsewhere_may_track_anything(
    tracking: Path,
) -> None:
    planted = tracking.parent / "planted"
    planted.mkdir()
    (planted / ".git").write_text(f"gitdir: {tracking}/.git\n")
    assert is_tracked(str(planted / "new.json"))
    assert index_path(str(planted / "new.json")) == str(planted / ".git")
    assert index_path(str(tracking / "new.json")) == str(tracking / ".git/index")


def test_a_home_directory_kept_in_git_is_not_a_project(tmp_path: Path) -> None:
    home = tmp_path.resolve() / "home"
    (home / "shop").mkdir(parents=True)
    git("init", cwd=home)
    settings, shop = str(home / ".claude.json"), locate(str(home / "shop"))
    assert link_roots(settings, locate(str(home)), str(home)) == ANYWHERE
    assert link_roots(settings, shop, str(home)) == ANYWHERE
    assert link_roots(str(home / "shop/.mcp.json"), shop, str(home)) == (str(home / "shop"),)


def test_links_in_a_project_must_not_leave_it(main: Path, tmp_path: Path) -> None:
    git("worktree", "add", str(tmp_path / "feature"), cwd=main)
    worktree = tmp_path.resolve() / "feature"
    workspace = locate(str(worktree))
    assert link_roots(str(worktree / "a"), workspace, "/home/ada") == (str(worktree), str(main))
    assert link_roots("/home/ada/.claude.json", workspace, "/home/ada") == ANYWHERE


def test_the_first_link_on_the_way_to_a_file_in_a_checkout_is_named(main: Path) -> None:
    (main / "real").mkdir()
    (main / "link").symlink_to(main / "real")
    (main / "link/inner").symlink_to(main)
    assert link_in_checkout(str(main / "link/inner/x"), str(main)) == str(main / "link")
    assert link_in_checkout(str(main / "real/x"), str(main)) is None
    assert link_in_checkout("/etc/hosts", str(main)) is None


def test_git_is_never_run(main: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (main / "a").write_text("")
    git("add", "a", cwd=main)
    git("config", "core.fsmonitor", f"touch {main}/ran; false", cwd=main)
    started: list[object] = []

    def start(*words: object, **_: object) -> None:
        started.append(words)

    for module, name in ((os, "posix_spawn"), (subprocess, "Popen"), (os, "fork"), (os, "system")):
        monkeypatch.setattr(module, name, start)
    assert locate(str(main)).project.path == str(main)
    assert is_tracked(str(main / "a"))
    assert (started, (main / "ran").exists()) == ([], False)
