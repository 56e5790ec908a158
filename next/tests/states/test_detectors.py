"""Detectors on real files: what holds, what does not, and what is unknown."""

import json
import os
import time
from pathlib import Path

import pytest

from remit.config import Comparison, Detector
from remit.files import Machine, locate
from remit.states import Look, Reading, detectors
from support.git import git


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path.resolve() / "shop"
    (path / ".git").mkdir(parents=True)
    return path


def look_at(path: Path, **variables: str) -> Look:
    return Look(locate(str(path)), Machine("/nowhere", {"PATH": os.environ["PATH"], **variables}))


def observe(detector: Detector, path: Path, **variables: str) -> Reading:
    return look_at(path, **variables).detect(detector, (str(path),))


def truth(detector: Detector, path: Path, **variables: str) -> bool | None:
    return observe(detector, path, **variables).truth


def file(*paths: str) -> Detector:
    return Detector("file", paths)


SOME = Comparison()


def pattern(text: str, amount: Comparison = SOME, timeout: float = 30) -> Detector:
    return Detector("glob", (text,), amount, timeout=timeout)


def write(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_any_of_several_files_is_enough(shop: Path) -> None:
    wanted = file("a.yaml", "sub/b.yaml", ".github/workflows/")
    assert observe(wanted, shop) == Reading(False, "no a.yaml or sub/b.yaml or .github/workflows/ in shop")
    write(shop / "sub/b.yaml")
    assert observe(wanted, shop) == Reading(True, "sub/b.yaml exists")
    (shop / "sub/b.yaml").unlink()
    (shop / ".github/workflows").mkdir(parents=True)
    assert truth(wanted, shop) is True


def test_a_path_that_ends_in_a_slash_is_a_directory_and_any_other_a_file(shop: Path) -> None:
    (shop / "tests").mkdir()
    write(shop / "a")
    assert truth(file("tests/"), shop) is True
    assert truth(file("tests"), shop) is False
    assert truth(file("a/"), shop) is False
    assert truth(file("a/b"), shop) is False
    assert truth(file("a\0b"), shop) is False


def test_what_is_not_a_regular_file_is_not_opened(shop: Path) -> None:
    os.mkfifo(shop / "pipe.json")
    assert observe(file("pipe.json"), shop) == Reading(None, "pipe.json is not a regular file")
    value = Detector("value", ("pipe.json#a",))
    assert observe(value, shop) == Reading(None, "pipe.json: not a regular file")


@pytest.mark.parametrize("name", ["link", "dir/file", "dir/sub/file"])
def test_no_link_leads_out_of_the_project(shop: Path, name: str) -> None:
    outside = shop.parent / "outside"
    write(outside / "file")
    write(outside / "sub/file")
    (shop / "dir").symlink_to(outside)
    (shop / "link").symlink_to(outside / "file")
    reason = f"{name}: a symbolic link leads out of the project"
    assert observe(file(name), shop) == Reading(None, reason)


def test_a_link_inside_the_project_is_followed_and_one_in_a_circle_is_not(shop: Path) -> None:
    write(shop / "real/file")
    (shop / "alias").symlink_to("real")
    (shop / "round").symlink_to("round")
    (shop / "gone").symlink_to("nothing")
    assert truth(file("alias/file"), shop) is True
    assert truth(file("gone"), shop) is False
    assert truth(file("round"), shop) is not True


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*.md", 1),
        ("**/*.md", 4),
        ("docs/**/*.md", 3),
        ("docs/*/c.md", 1),
        ("**", 9),
        ("docs/**", 7),
        ("**/docs/**/c.md", 1),
        ("**/**/c.md", 1),
        (".hidden/*.md", 1),
        ("docs/*/", 1),
        ("missing/*.md", 0),
        ("*/", 1),
        ("docs/a.md", 1),
    ],
)
def test_a_pattern_follows_no_link_and_skips_hidden_directories(shop: Path, text: str, expected: int) -> None:
    for name in ("x.md", "docs/a.md", "docs/b.md", "docs/in/c.md", "docs/in/d.txt", "docs/in/e"):
        write(shop / name)
    write(shop / ".hidden/h.md")
    write(shop / "docs/.h.md")
    (shop / "docs/link").symlink_to(shop.parent)  # counts itself, and nothing below it
    assert observe(pattern(text), shop).amount == expected


@pytest.mark.parametrize(
    ("sign", "truths"),
    [
        (">=", (False, True, True)),
        ("<=", (True, True, False)),
        ("==", (False, True, False)),
        ("!=", (True, False, True)),
        (">", (False, False, True)),
        ("<", (True, False, False)),
    ],
)
def test_a_count_is_compared_with_a_number(sign: str, truths: tuple[bool, ...]) -> None:
    assert tuple(map(Comparison(sign, 2).holds, (1, 2, 3))) == truths


def test_a_pattern_holds_by_its_count(shop: Path) -> None:
    write(shop / "a.md")
    write(shop / "b.md")
    assert observe(pattern("*.md"), shop) == Reading(True, "2 match *.md", 2)
    assert truth(pattern("*.md", Comparison(">", 2)), shop) is False
    assert truth(pattern("*.txt"), shop) is False


def test_at_least_is_certain_before_the_end_and_nothing_else_is(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detectors, "MOST_ENTRIES", 20)
    for number in range(30):
        write(shop / f"{number}.md")
    assert truth(pattern("*.md"), shop) is True
    assert truth(pattern("*.md", Comparison("<", 100)), shop) is None
    assert observe(pattern("*.txt"), shop).reason.startswith("more than 20 files")


def test_a_pattern_that_takes_too_long_is_unknown(shop: Path) -> None:
    for number in range(150):
        write(shop / f"{number}.md")
    observation = observe(pattern("**/x", timeout=-1), shop)
    assert observation.truth is None
    assert observation.reason.startswith("the search takes too long")


def test_a_hostile_pattern_reads_no_directory_twice(shop: Path) -> None:
    (shop / "/".join("a" * 60)).mkdir(parents=True)
    start = time.process_time()
    assert truth(pattern("**/a/" * 30 + "*b"), shop) is False
    assert time.process_time() - start < 2


def test_a_pattern_below_a_link_out_of_the_project_is_unknown(shop: Path) -> None:
    (shop / "out").symlink_to(shop.parent)
    assert truth(pattern("out/*"), shop) is None


def test_a_variable_is_set_or_has_a_value_which_is_never_shown(shop: Path) -> None:
    wanted = Detector("env", ("CI",))
    assert truth(wanted, shop, CI="1") is True
    assert truth(wanted, shop, CI="") is False
    assert truth(wanted, shop) is False
    assert truth(wanted._replace(equals="1"), shop, CI="1") is True
    other = observe(wanted._replace(equals="1"), shop, CI="hunter2")
    assert other == Reading(False, "the variable CI has another value")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{"scripts": {"test": "pytest", "list": [1, 2], "no": null}}'),
        ("a.toml", '[scripts]\ntest = "pytest"\nlist = [1, 2]'),
        ("a.yaml", "scripts:\n  test: pytest\n  list: [1, 2]\n  no: null"),
    ],
)
def test_a_file_has_a_value_which_is_never_shown(shop: Path, name: str, text: str) -> None:
    write(shop / name, text)

    def value(keys: str, equals: str | int | None = None) -> Reading:
        return observe(Detector("value", (f"{name}#{keys}",), equals=equals), shop)

    assert value("scripts.test").truth is True
    assert value("scripts.test", "pytest").truth is True
    assert value("scripts.test", "tox") == Reading(False, f"scripts.test in {name} is another value")
    assert value("scripts.list.1", 2).truth is True
    assert value("scripts.list.0", True).truth is False
    for keys in ("scripts.list.9", "scripts.no", "scripts.test.x", "nothing"):
        assert value(keys) == Reading(False, f"{name} has no {keys}")


def test_a_file_that_is_missing_broken_huge_or_elsewhere_has_no_value(shop: Path) -> None:
    wanted = Detector("value", ("a.json#x",))
    assert observe(wanted, shop) == Reading(False, "there is no a.json")
    write(shop / "a.json", "{")
    assert truth(wanted, shop) is None
    write(shop / "a.json", json.dumps({"x": "y" * 2**20}))
    assert "bytes; at most" in observe(wanted, shop).reason
    (shop / "a.json").unlink()
    (shop / "a.json").symlink_to(write(shop.parent / "b.json", '{"x": 1}'))
    assert observe(wanted, shop) == Reading(None, "a.json: a symbolic link leads out of the project")


def test_entities_are_files_of_a_pattern_or_items_in_a_file(shop: Path) -> None:
    write(shop / "posts/a.md")
    write(shop / "a.json", '{"items": [1, 2, 3], "map": {"a": 1}, "text": "x"}')
    assert observe(Detector("entities", ("posts/*.md",)), shop) == Reading(True, "1 match posts/*.md", 1)
    for keys, expected in (("items", 3), ("map", 1), ("text", 0), ("none", 0)):
        assert observe(Detector("entities", (f"a.json#{keys}",)), shop).amount == expected
    assert observe(Detector("entities", ("a.json#items",), Comparison("==", 3)), shop).truth is True
    assert observe(Detector("entities", ("missing.json#items",)), shop).truth is False


def fact(name: str, equals: str | None = None) -> Detector:
    return Detector("git", (name,), equals=equals)


@pytest.mark.parametrize(
    ("head", "detector", "expected"),
    [
        ("ref: refs/heads/main\n", fact("branch", "ma*"), True),
        ("ref: refs/heads/dev\n", fact("branch", "ma*"), False),
        ("5f1d0c3a9b2e4f675f1d0c3a9b2e4f675f1d0c3a\n", fact("branch"), False),
        ("5f1d0c3a9b2e4f675f1d0c3a9b2e4f675f1d0c3a\n", fact("detached"), True),
        ("ref: refs/heads/main\n", fact("detached"), False),
        ("ref: refs/heads/main\n", fact("merging"), False),
        ("ref: refs/heads/main\n", fact("rebasing"), False),
        ("ref: refs/heads/main\n", fact("repository"), True),
        ("", fact("branch", "*"), None),
        ("x" * 9000, fact("branch", "*"), None),
    ],
)
def test_gits_own_files_tell_where_it_stands(
    shop: Path, head: str, detector: Detector, expected: bool | None
) -> None:
    write(shop / ".git/HEAD", head)
    assert truth(detector, shop) is expected


def test_a_merge_and_a_rebase_are_seen(shop: Path) -> None:
    write(shop / ".git/HEAD", "ref: refs/heads/main\n")
    write(shop / ".git/MERGE_HEAD")
    (shop / ".git/rebase-merge").mkdir()
    assert observe(fact("merging"), shop) == Reading(True, "a merge is in progress")
    assert observe(fact("rebasing"), shop) == Reading(True, "a rebase is in progress")


def test_without_a_repository_no_fact_of_git_holds(tmp_path: Path) -> None:
    for name in ("repository", "branch", "detached", "merging", "rebasing", "dirty", "clean"):
        assert truth(fact(name), tmp_path) is False


def test_a_planted_git_file_tells_nothing_of_another_project(shop: Path) -> None:
    write(shop.parent / "other/.git/HEAD", "ref: refs/heads/secret\n")
    (shop / ".git").rmdir()
    write(shop / ".git", f"gitdir: {shop.parent}/other/.git\n")
    assert observe(fact("branch"), shop) == Reading(None, "`.git` points at another place")
    assert "secret" not in json.dumps(look_at(shop).variables(()))


def test_a_worktree_and_a_submodule_have_branches_of_their_own(shop: Path) -> None:
    (shop / ".git").rmdir()
    git("init", cwd=shop)
    git("commit", "--allow-empty", "-m", "x", cwd=shop)
    git("worktree", "add", "-b", "feature", str(shop.parent / "tree"), cwd=shop)
    other = shop.parent / "lib"
    other.mkdir()
    git("init", cwd=other)
    git("commit", "--allow-empty", "-m", "x", cwd=other)
    git("submodule", "add", str(other), "lib", cwd=shop)
    assert truth(fact("branch", "feature"), shop.parent / "tree") is True
    assert truth(fact("branch", "main"), shop / "lib") is True


def test_detectors_that_run_nothing_share_their_time(shop: Path) -> None:
    machine = Machine("/nowhere", {"PATH": os.environ["PATH"]})
    look = Look(locate(str(shop)), machine, seconds=1e-9)
    assert look.detect(file(".git/"), (str(shop),)).truth is True
    late = Reading(None, "checking all states takes longer than 1e-09 s")
    assert look.detect(file(".git/"), (str(shop),)) == late
    assert look.detect(Detector("command", ("true",), timeout=30), (str(shop),)).truth is True


def test_a_failing_detector_makes_its_state_unknown(shop: Path) -> None:
    assert observe(Detector("env", ()), shop) == Reading(None, "the detector failed: ValueError")


def test_a_projects_without_files_knows_only_pushed_states(shop: Path) -> None:
    workspace = locate(str(shop))
    look = Look(workspace._replace(group=workspace.project), Machine("/nowhere", {"STAGE": "dev"}))
    assert look.detect(file(".git/"), (str(shop),)).truth is None
    assert look.variables(()) == {"env": {}}


def test_conditions_see_only_variables_that_are_listed_and_no_secret(shop: Path) -> None:
    write(shop / ".git/HEAD", "ref: refs/heads/main\n")
    look = look_at(shop, STAGE="dev", OTHER="x", TOKENISH="ghp_" + "x7Kq" * 8)
    facts = {"repository": True, "branch": "main", "detached": False, "merging": False, "rebasing": False}
    variables = look.variables(("STAGE", "TOKENISH", "UNSET"))
    assert variables == {"env": {"STAGE": "dev"}, "git": facts, "os": "linux"}


def test_a_result_of_one_file_lasts_until_the_file_changes(shop: Path) -> None:
    detector = Detector("value", ("a.json#x",))
    bases = (str(shop),)
    absent = look_at(shop).basis(detector, bases, now_ns=0)
    write(shop / "a.json", "{}")
    first = look_at(shop).basis(detector, bases, now_ns=0)
    assert look_at(shop).basis(detector, bases, now_ns=0) == first
    write(shop / "a.json", '{"x": 1}')
    assert len({absent, first, look_at(shop).basis(detector, bases, now_ns=0)}) == 3
    assert look_at(shop).basis(file("a.json"), bases, now_ns=0) is None


def test_a_look_names_the_files_that_its_results_depend_on(shop: Path) -> None:
    look = look_at(shop)
    for detector, names in (
        (file("a", "b/"), ["a", "b"]),
        (pattern("docs/**/*.md"), ["docs"]),
        (Detector("value", ("a.json#x.y",)), ["a.json"]),
        (Detector("entities", ("posts/*.md",)), ["posts"]),
        (Detector("env", ("CI",)), []),
        (fact("branch"), [".git", ".git/HEAD", ".git/MERGE_HEAD", ".git/rebase-merge", ".git/rebase-apply"]),
    ):
        assert [*look.paths(detector, (str(shop),))] == [str(shop / name) for name in names]
