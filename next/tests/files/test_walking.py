"""Directories that others write are listed within limits, and no link leads out of a project."""

import os
from pathlib import Path

import pytest

from remit.files import ANYWHERE, WalkBudget, Walked, WalkLimitError, entries, files_below
from remit.files.reading import OUTSIDE


def walk(folder: Path, *within: Path, budget: WalkBudget | None = None, depth: int = 8) -> Walked:
    given = budget or WalkBudget(1_000, 60.0)
    return files_below(str(folder), budget=given, depth=depth, within=[str(root) for root in within])


def make(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()


def test_files_are_listed_by_their_relative_paths_down_to_a_depth(tmp_path: Path) -> None:
    make(tmp_path, "b", "a/c", "a/d/e", "a/d/f/g")
    assert walk(tmp_path).files == ["a/c", "a/d/e", "a/d/f/g", "b"]
    assert walk(tmp_path, depth=2).files == ["a/c", "a/d/e", "b"]
    assert walk(tmp_path / "nowhere") == ([], [])
    assert walk(tmp_path / "b") == ([], [])


def test_links_are_followed_inside_a_project_once(tmp_path: Path) -> None:
    root = tmp_path.resolve() / "shop"
    make(root, "docs/x", "folder/y")
    (root / "folder/docs").symlink_to("../docs")
    (root / "folder/again").symlink_to(".")
    (root / "folder/one").symlink_to("../docs/x")
    (root / "folder/nowhere").symlink_to("missing")
    assert walk(root / "folder", root) == (["docs/x", "nowhere", "one", "y"], [])


def test_a_link_out_of_a_project_is_a_problem(tmp_path: Path) -> None:
    root, outside = tmp_path.resolve() / "shop", tmp_path.resolve() / "home"
    make(root, "folder/y")
    make(outside, "secret")
    (root / "folder/file").symlink_to(outside / "secret")
    (root / "folder/all").symlink_to(outside)
    (root / "other").symlink_to(outside)
    found = walk(root / "folder", root)
    assert found.files == ["y"]
    assert sorted(found.problems) == [
        (str(root / "folder/all"), OUTSIDE),
        (str(root / "folder/file"), OUTSIDE),
    ]
    assert walk(root / "other", root) == ([], [(str(root / "other"), OUTSIDE)])
    assert walk(root / "other").files == ["secret"]


def test_a_limit_keeps_what_was_found_before(tmp_path: Path) -> None:
    make(tmp_path, *(f"{number}/x" for number in range(30)))
    by_entries = walk(tmp_path, budget=WalkBudget(40, 60.0))
    assert 0 < len(by_entries.files) < 30
    assert "more than 40 files" in by_entries.problems[0].reason
    by_directories = walk(tmp_path, budget=WalkBudget(1_000, 60.0, directories=10))
    assert len(by_directories.files) == 9
    assert "more than 10 directories" in by_directories.problems[0].reason


def test_a_walk_ends_when_its_time_is_over(tmp_path: Path) -> None:
    make(tmp_path, *(str(number) for number in range(250)))
    assert "takes too long" in walk(tmp_path, budget=WalkBudget(1_000, -1.0)).problems[0].reason


def test_many_problems_are_told_as_a_number(tmp_path: Path) -> None:
    root = tmp_path.resolve() / "shop"
    root.mkdir()
    for number in range(50):
        (root / str(number)).symlink_to("/")
    found = walk(root, root)
    assert len(found.problems) == 21
    assert found.problems[-1].reason == "30 more problems are not listed"


def test_the_entries_of_one_directory_are_counted(tmp_path: Path) -> None:
    make(tmp_path, "a", "b", "c")
    assert {entry.name for entry in entries(str(tmp_path), WalkBudget(3, 60.0), within=ANYWHERE)} == {
        "a",
        "b",
        "c",
    }
    with pytest.raises(WalkLimitError):
        list(entries(str(tmp_path), WalkBudget(2, 60.0), within=ANYWHERE))
    assert [*entries("\0", WalkBudget(3, 60.0), within=ANYWHERE)] == []
    assert [*entries(os.devnull, WalkBudget(3, 60.0), within=ANYWHERE)] == []


def test_a_directory_is_not_listed_through_a_link_that_leads_out(tmp_path: Path) -> None:
    here = tmp_path.resolve()
    make(here, "private/secret")
    make(here, "shop/file")
    (here / "shop/link").symlink_to(here / "private")
    for within, names in ((here / "shop", []), (here, ["secret"])):
        listed = entries(str(here / "shop/link"), WalkBudget(9, 60.0), within=[str(within)])
        assert [entry.name for entry in listed] == names
