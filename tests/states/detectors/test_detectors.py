"""Detectors on real files, programs and servers: what holds, what does not, and what cannot be told."""

import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import apsw
import pytest

from remit.configuration.detector_kinds import Comparison, Detector, DetectorKind, GitFact
from remit.files.bounded_reader import Machine
from remit.files.checkout import locate
from remit.states.detectors import command_exit, glob_count
from remit.states.detectors.local_detectors import LocalDetectors
from remit.states.observations import Observation
from support.processes import git

FILE, DIRECTORY, GLOB = DetectorKind.FILE, DetectorKind.DIRECTORY, DetectorKind.GLOB


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path.resolve() / "shop"
    (path / ".git").mkdir(parents=True)
    return path


def observe(detector: Detector, at: Path, **variables: str) -> Observation:
    machine = Machine(home="/nowhere", variables={"PATH": os.environ["PATH"], **variables})
    return LocalDetectors(machine).look(locate(str(at))).detect(detector, (str(at),))


def truth(detector: Detector, at: Path, **variables: str) -> bool | None:
    return observe(detector, at, **variables).truth


def write(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_file_is_there_or_is_not(shop: Path) -> None:
    wanted = Detector(FILE, paths=("a.yaml", "sub/b.yaml", ".github/workflows/"))
    assert observe(wanted, shop) == Observation(
        False, "no a.yaml or sub/b.yaml or .github/workflows/ in shop"
    )
    write(shop / "sub/b.yaml")
    assert observe(wanted, shop) == Observation(True, "sub/b.yaml exists")
    (shop / "sub/b.yaml").unlink()
    (shop / ".github/workflows").mkdir(parents=True)
    assert truth(wanted, shop)


def test_a_directory_is_no_file_and_a_file_no_directory(shop: Path) -> None:
    (shop / "tests").mkdir()
    write(shop / "a")
    assert truth(Detector(DIRECTORY, paths=("tests",)), shop) is True
    assert truth(Detector(FILE, paths=("tests",)), shop) is False
    assert truth(Detector(DIRECTORY, paths=("a",)), shop) is False
    assert truth(Detector(FILE, paths=("a/b",)), shop) is False


def test_what_is_no_regular_file_is_not_waited_for(shop: Path) -> None:
    os.mkfifo(shop / "pipe.json")
    assert observe(Detector(FILE, paths=("pipe.json",)), shop) == Observation(
        None, "pipe.json is not a regular file"
    )
    value = Detector(DetectorKind.VALUE, paths=("pipe.json",), keys=("a",))
    assert observe(value, shop) == Observation(None, "pipe.json: not a regular file")


@pytest.mark.parametrize("name", ["link", "dir/file", "dir/sub/file"])
def test_no_link_leads_out_of_the_project(shop: Path, name: str) -> None:
    outside = shop.parent / "outside"
    write(outside / "file")
    write(outside / "sub/file")
    (shop / "dir").symlink_to(outside)
    (shop / "link").symlink_to(outside / "file")
    assert observe(Detector(FILE, paths=(name,)), shop) == Observation(
        None, f"{name}: a symbolic link leads out of the project"
    )


def test_a_link_inside_the_project_is_followed_and_one_in_a_circle_is_not(shop: Path) -> None:
    write(shop / "real/file")
    (shop / "alias").symlink_to("real")
    (shop / "round").symlink_to("round")
    (shop / "gone").symlink_to("nothing")
    assert truth(Detector(FILE, paths=("alias/file",)), shop) is True
    assert truth(Detector(FILE, paths=("gone",)), shop) is False
    assert truth(Detector(FILE, paths=("round",)), shop) is not True


def test_a_name_that_no_file_can_have_is_not_there(shop: Path) -> None:
    assert truth(Detector(FILE, paths=("a" * 300,)), shop) is None  # the system says that it is too long
    assert truth(Detector(FILE, paths=("a\0b",)), shop) is False


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.md", 1),
        ("**/*.md", 4),
        ("docs/**/*.md", 3),
        ("docs/*/c.md", 1),
        ("**", 8),
        ("docs/**", 6),
        ("**/docs/**/c.md", 1),
        ("**/**/c.md", 1),
        (".hidden/*.md", 1),
        ("docs/*/", 1),
        ("missing/*.md", 0),
        ("*/", 1),
        ("docs/a.md", 1),
    ],
)
def test_a_pattern_counts_what_it_names(shop: Path, pattern: str, expected: int) -> None:
    for name in (
        "x.md",
        "docs/a.md",
        "docs/b.md",
        "docs/in/c.md",
        "docs/in/d.txt",
        ".hidden/h.md",
        "docs/.h.md",
    ):
        write(shop / name)
    write(shop / "docs/in/e")
    (shop / "docs/link").symlink_to(shop.parent)
    count = observe(Detector(GLOB, glob=pattern, timeout=5), shop).amount
    assert count == expected + (
        1 if pattern in ("**", "docs/**") else 0
    )  # the link itself, not what it leads to


def test_a_count_is_compared(shop: Path) -> None:
    for name in ("a.md", "b.md"):
        write(shop / name)
    wanted = Detector(GLOB, glob="*.md", amount=Comparison(">=", 2), timeout=5)
    assert observe(wanted, shop) == Observation(True, "2 match *.md", 2)
    assert truth(wanted._replace(amount=Comparison(">", 2)), shop) is False
    assert truth(Detector(GLOB, glob="*.txt", timeout=5), shop) is False


def test_too_many_names_leave_a_count_open_unless_it_is_sure(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(glob_count, "MOST_ENTRIES", 20)
    for number in range(30):
        write(shop / f"{number}.md")
    wanted = Detector(GLOB, glob="*.md", timeout=5)
    assert truth(wanted, shop) is True
    assert truth(wanted._replace(amount=Comparison("<", 100)), shop) is None
    assert "more than 20 files" in observe(wanted._replace(glob="*.txt"), shop).reason


def test_a_pattern_that_takes_too_long_is_given_up(shop: Path) -> None:
    for number in range(150):
        write(shop / f"{number}.md")
    found = observe(Detector(GLOB, glob="**/x", timeout=-1), shop)
    assert found.truth is None
    assert found.reason.startswith("the search takes too long")


def test_a_hostile_pattern_reads_no_directory_twice(shop: Path) -> None:
    deep = shop
    for _ in range(60):
        deep = deep / "a"
    deep.mkdir(parents=True)
    start = time.process_time()
    assert truth(Detector(GLOB, glob="**/a/" * 30 + "*b", timeout=60), shop) is False
    assert time.process_time() - start < 2


def test_a_pattern_below_a_link_out_of_the_project_cannot_be_told(shop: Path) -> None:
    (shop / "out").symlink_to(shop.parent)
    assert observe(Detector(GLOB, glob="out/*", timeout=5), shop).truth is None


@pytest.mark.parametrize(
    ("detector", "variables", "expected"),
    [
        (Detector(DetectorKind.ENV, variable="CI"), {"CI": "1"}, True),
        (Detector(DetectorKind.ENV, variable="CI"), {"CI": ""}, False),
        (Detector(DetectorKind.ENV, variable="CI"), {}, False),
        (Detector(DetectorKind.ENV, variable="CI", equals="1"), {"CI": "1"}, True),
        (Detector(DetectorKind.ENV, variable="CI", equals="1"), {"CI": "hunter2"}, False),
    ],
)
def test_a_variable_is_set_or_has_a_value_which_is_never_told(
    shop: Path, detector: Detector, variables: dict[str, str], expected: bool
) -> None:
    found = observe(detector, shop, **variables)
    assert found.truth is expected
    assert "hunter2" not in found.reason


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{"scripts": {"test": "pytest", "list": [1, 2], "no": null}}'),
        ("a.toml", '[scripts]\ntest = "pytest"\nlist = [1, 2]'),
        ("a.yaml", "scripts:\n  test: pytest\n  list: [1, 2]\n  no: null"),
    ],
)
def test_a_value_is_found_in_a_file(shop: Path, name: str, text: str) -> None:
    write(shop / name, text)
    wanted = Detector(DetectorKind.VALUE, paths=(name,), keys=("scripts", "test"))
    assert truth(wanted, shop) is True
    assert truth(wanted._replace(equals="pytest"), shop) is True
    assert truth(wanted._replace(equals="tox"), shop) is False
    assert truth(wanted._replace(keys=("scripts", "list", "1"), equals=2), shop) is True
    assert truth(wanted._replace(keys=("scripts", "list", "0"), equals=True), shop) is False
    for keys in (("scripts", "list", "9"), ("scripts", "no"), ("scripts", "test", "x"), ("nothing",)):
        assert truth(wanted._replace(keys=keys), shop) is False
    assert "pytest" not in observe(wanted._replace(equals="tox"), shop).reason


def test_a_file_that_is_missing_broken_huge_or_elsewhere_has_no_value(shop: Path) -> None:
    wanted = Detector(DetectorKind.VALUE, paths=("a.json",), keys=("x",))
    assert observe(wanted, shop) == Observation(False, "there is no a.json")
    write(shop / "a.json", "{")
    assert observe(wanted, shop).truth is None
    write(shop / "a.json", json.dumps({"x": "y" * 2**20}))
    assert "bytes; at most" in observe(wanted, shop).reason
    (shop / "a.json").unlink()
    (shop / "a.json").symlink_to(write(shop.parent / "b.json", '{"x": 1}'))
    assert observe(wanted, shop) == Observation(None, "a.json: a symbolic link leads out of the project")


@pytest.mark.parametrize(
    ("head", "fact", "expected"),
    [
        ("ref: refs/heads/main\n", GitFact.BRANCH, True),
        ("ref: refs/heads/dev\n", GitFact.BRANCH, False),
        ("5f1d0c3a9b2e4f675f1d0c3a9b2e4f675f1d0c3a\n", GitFact.DETACHED, True),
        ("ref: refs/heads/main\n", GitFact.DETACHED, False),
        ("ref: refs/heads/main\n", GitFact.MERGING, False),
        ("ref: refs/heads/main\n", GitFact.REBASING, False),
        ("", GitFact.BRANCH, None),
        ("x" * 9000, GitFact.BRANCH, None),
    ],
)
def test_gits_own_files_tell_where_it_stands(
    shop: Path, head: str, fact: GitFact, expected: bool | None
) -> None:
    write(shop / ".git/HEAD", head)
    assert truth(Detector(DetectorKind.GIT, fact=fact, branch="ma*"), shop) is expected


def test_a_merge_and_a_rebase_are_seen(shop: Path) -> None:
    write(shop / ".git/HEAD", "ref: refs/heads/main\n")
    write(shop / ".git/MERGE_HEAD")
    (shop / ".git/rebase-merge").mkdir()
    assert truth(Detector(DetectorKind.GIT, fact=GitFact.MERGING), shop) is True
    assert truth(Detector(DetectorKind.GIT, fact=GitFact.REBASING), shop) is True


def test_without_a_repository_nothing_of_it_holds(tmp_path: Path) -> None:
    for fact in GitFact:
        assert truth(Detector(DetectorKind.GIT, fact=fact, branch="*", timeout=5), tmp_path) is False


def test_a_planted_git_file_tells_nothing_of_another_project(shop: Path) -> None:
    write(shop.parent / "other/.git/HEAD", "ref: refs/heads/secret\n")
    (shop / ".git").rmdir()
    write(shop / ".git", f"gitdir: {shop.parent}/other/.git\n")
    found = observe(Detector(DetectorKind.GIT, fact=GitFact.BRANCH, branch="*"), shop)
    assert found == Observation(None, "`.git` points at another place")
    detectors = LocalDetectors(Machine(home="/nowhere", variables={}))
    assert "branch" not in json.dumps(detectors.look(locate(str(shop))).variables(()))


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
    on_feature = Detector(DetectorKind.GIT, fact=GitFact.BRANCH, branch="feature")
    assert truth(on_feature, shop.parent / "tree") is True
    assert truth(on_feature._replace(branch="main"), shop / "lib") is True


def test_git_tells_what_is_not_committed(shop: Path) -> None:
    (shop / ".git").rmdir()
    git("init", cwd=shop)
    dirty = Detector(DetectorKind.GIT, fact=GitFact.DIRTY, timeout=30)
    clean = dirty._replace(fact=GitFact.CLEAN)
    assert (truth(dirty, shop), truth(clean, shop)) == (False, True)
    write(shop / "a")
    assert (truth(dirty, shop), truth(clean, shop)) == (True, False)


def test_a_repository_that_git_refuses_or_no_git_at_all_cannot_be_told(shop: Path) -> None:
    dirty = Detector(DetectorKind.GIT, fact=GitFact.DIRTY, timeout=30)
    assert observe(dirty, shop) == Observation(None, "git ended with 128")
    assert observe(dirty, shop, PATH="/nowhere").reason.startswith("git cannot be started")


def test_asking_git_runs_no_monitor_of_the_repository(shop: Path) -> None:
    (shop / ".git").rmdir()
    git("init", cwd=shop)
    script = write(shop / "evil.sh", f"#!/bin/sh\ntouch {shop}/ran\n")
    script.chmod(0o755)
    git("config", "core.fsmonitor", str(script), cwd=shop)
    assert truth(Detector(DetectorKind.GIT, fact=GitFact.DIRTY, timeout=30), shop) is True
    assert not (shop / "ran").exists()


def python(*code: str) -> Detector:
    script = "\n".join(code)
    return Detector(DetectorKind.COMMAND, argv=(sys.executable, "-c", script), timeout=30)


def test_a_program_says_yes_by_its_exit_code(shop: Path) -> None:
    assert truth(python("raise SystemExit(0)"), shop) is True
    assert truth(python("raise SystemExit(3)"), shop) is False
    assert truth(python("raise SystemExit(3)")._replace(exits=(3, 4)), shop) is True


def test_a_program_runs_in_its_directory_without_the_users_variables(shop: Path) -> None:
    script = "import os, sys; sys.exit(0 if os.getcwd() == sys.argv[1] and 'SECRET' not in os.environ else 1)"
    wanted = python(script)
    wanted = wanted._replace(argv=(*wanted.argv, str(shop)))
    assert truth(wanted, shop, SECRET="hunter2") is True  # noqa: S106 - it is not one


def test_no_shell_reads_a_program(shop: Path) -> None:
    assert observe(
        Detector(DetectorKind.COMMAND, argv=("true; touch ran",), timeout=30), shop
    ) == Observation(None, "true; touch ran cannot be started: no such file or directory")
    assert not (shop / "ran").exists()


@pytest.mark.long
def test_a_program_that_hangs_is_ended_with_all_that_it_started(shop: Path) -> None:
    os.mkfifo(shop / "alive")
    script = (
        "import subprocess, sys, time",
        'child = \'import time; held = open("alive", "w"); time.sleep(600)\'',
        "subprocess.Popen([sys.executable, '-c', child])",
        "held = open('alive', 'w')",
        "time.sleep(600)",
    )
    answers: list[Observation] = []
    asking = threading.Thread(
        target=lambda: answers.append(observe(python(*script)._replace(timeout=3), shop))
    )
    asking.start()
    with open(shop / "alive", "rb") as alive:
        assert alive.read() == b""  # returns when the last process that holds it is gone
    asking.join()
    assert answers == [Observation(None, f"{os.path.basename(sys.executable)} did not end within 3 s")]


def test_a_program_that_ends_takes_its_children_along(shop: Path) -> None:
    os.mkfifo(shop / "alive")
    child = "import time; held = open('alive', 'w'); time.sleep(600)"
    script = (
        "import subprocess, sys",
        f"subprocess.Popen([sys.executable, '-c', {child!r}])",
        "open('alive', 'w').close()",
    )
    asking = threading.Thread(target=lambda: observe(python(*script), shop))
    asking.start()
    with open(shop / "alive", "rb") as alive:
        assert alive.read() == b""
    asking.join()


def test_a_program_is_stopped_at_the_first_word_where_one_is_enough(shop: Path) -> None:
    machine = Machine(home="/nowhere", variables={"PATH": os.environ["PATH"]})
    script = "import time; print('x', flush=True); time.sleep(600)"
    ended = command_exit.run(
        (sys.executable, "-c", script), str(shop), machine, timeout=60, until_output=True
    )
    assert ended.has_output


def test_all_that_a_project_has_looked_at_takes_a_bounded_time_together(shop: Path) -> None:
    machine = Machine(home="/nowhere", variables={"PATH": os.environ["PATH"]})
    look = LocalDetectors(machine, seconds=1e-9).look(locate(str(shop)))
    there = Detector(DIRECTORY, paths=(".git",))
    assert look.detect(there, (str(shop),)).truth is True
    late = Observation(None, "checking all states takes longer than 1e-09 s")
    assert look.detect(there, (str(shop),)) == late
    assert look.detect(Detector(DetectorKind.COMMAND, argv=("true",), timeout=30), (str(shop),)).truth


@pytest.mark.parametrize("end", ["", "-wal", "-journal"])
def test_a_database_that_would_have_to_be_waited_for_is_not_opened(shop: Path, end: str) -> None:
    connection: Any = apsw.Connection(str(shop / "app.db"))
    connection.execute("create table posts (id)")
    connection.close()
    if not end:
        (shop / "app.db").unlink()
    os.mkfifo(shop / f"app.db{end}")
    posts = Detector(DetectorKind.ENTITIES, database="app.db", table="posts", timeout=30)
    assert observe(posts, shop) == Observation(None, "app.db is not a regular file")


@pytest.mark.long
def test_whoever_keeps_a_programs_output_open_is_not_waited_for(shop: Path) -> None:
    machine = Machine(home="/nowhere", variables={"PATH": os.environ["PATH"]})
    script = (
        "import subprocess, sys\n"
        "child = [sys.executable, '-c', 'import time; time.sleep(600)']\n"
        "print(subprocess.Popen(child, start_new_session=True).pid, file=open('pid', 'w'))"
    )
    ended = command_exit.run((sys.executable, "-c", script), str(shop), machine, timeout=3, until_output=True)
    os.kill(int((shop / "pid").read_text()), signal.SIGKILL)
    assert ended == command_exit.ProgramResult(exit_code=0)


class Answers(BaseHTTPRequestHandler):
    """Answers with the number in the path."""

    def do_GET(self) -> None:
        status = int(self.path.strip("/") or 200)
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/200")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serving() -> Generator[str]:
    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_a_server_says_yes_by_its_status_and_is_not_followed_elsewhere(shop: Path) -> None:
    with serving() as url:
        asked = Detector(DetectorKind.HTTP, url=f"{url}/", timeout=30)
        assert observe(asked, shop) == Observation(True, "127.0.0.1 answers 200")
        assert truth(asked._replace(url=f"{url}/503"), shop) is False
        assert truth(asked._replace(url=f"{url}/302"), shop) is False
        assert truth(asked._replace(url=f"{url}/404", statuses=(404,)), shop) is True


def test_a_server_that_is_not_there_or_says_nothing_cannot_be_told(shop: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        asked = Detector(DetectorKind.HTTP, url=f"http://127.0.0.1:{port}/", timeout=0.2)
        assert observe(asked, shop).truth is None
    assert observe(asked, shop) == Observation(None, "127.0.0.1 cannot be reached")


def test_a_server_that_speaks_slowly_for_ever_is_left_at_the_time_limit(shop: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as slow:
        port = slow.getsockname()[1]
        is_over = threading.Event()

        def drip() -> None:
            connection, _ = slow.accept()
            with connection:
                while not is_over.wait(0.01):
                    try:
                        connection.send(b"H")
                    except OSError:
                        return

        thread = threading.Thread(target=drip)
        thread.start()
        asked = Detector(DetectorKind.HTTP, url=f"http://127.0.0.1:{port}/", timeout=0.3)
        assert observe(asked, shop) == Observation(None, "127.0.0.1 did not answer within 0.3 s")
        is_over.set()
        thread.join()


def database(path: Path, *statements: str) -> Path:
    connection: Any = apsw.Connection(str(path))
    for statement in statements:
        connection.execute(statement)
    connection.close()
    return path


def test_entities_are_counted_in_files_lists_and_tables(shop: Path) -> None:
    some = Comparison(">=", 1)
    write(shop / "posts/a.md")
    write(shop / "a.json", '{"items": [1, 2, 3], "map": {"a": 1}, "text": "x"}')
    database(shop / "a.db", "create table posts (id)", "insert into posts values (1), (2)")
    kind = DetectorKind.ENTITIES
    assert observe(Detector(kind, glob="posts/*.md", amount=some, timeout=5), shop).amount == 1
    for keys, expected in (("items", 3), ("map", 1), ("text", 0), ("none", 0)):
        assert observe(Detector(kind, paths=("a.json",), keys=(keys,), amount=some), shop).amount == expected
    counted = Detector(kind, database="a.db", table="posts", amount=Comparison("==", 2), timeout=5)
    assert observe(counted, shop) == Observation(True, "there are 2", 2)
    assert observe(counted._replace(table='no "such'), shop) == Observation(False, "there are 0", 0)
    assert observe(counted._replace(database="missing.db"), shop).truth is False
    write(shop / "b.db", "this is no database, however one looks at it")
    assert observe(counted._replace(database="b.db"), shop) == Observation(
        None, "b.db cannot be read as a database"
    )


@pytest.mark.parametrize("is_in_use", [True, False])
def test_counting_rows_leaves_nothing_next_to_a_database(shop: Path, is_in_use: bool) -> None:
    connection: Any = apsw.Connection(str(shop / "a?b#%.db"))
    connection.execute(
        "pragma journal_mode = wal; create table posts (id); insert into posts values (1)"
    ).fetchall()
    if not is_in_use:
        connection.close()
    before = {path.name: path.stat().st_mtime_ns for path in shop.iterdir()}
    counted = Detector(DetectorKind.ENTITIES, database="a?b#%.db", table="posts", timeout=5)
    assert observe(counted, shop) == Observation(True, "there are 1", 1)
    assert {path.name: path.stat().st_mtime_ns for path in shop.iterdir()} == before
    connection.close()


def test_a_view_that_never_ends_is_not_counted(shop: Path) -> None:
    endless = (
        "create view posts as with recursive n(x) as (select 1 union all select x + 1 from n) select x from n"
    )
    database(shop / "a.db", endless)
    counted = Detector(DetectorKind.ENTITIES, database="a.db", table="posts", timeout=0.2)
    assert observe(counted, shop) == Observation(False, "there are 0", 0)


def test_a_detector_that_fails_in_an_unknown_way_leaves_the_state_unknown(shop: Path) -> None:
    found = observe(Detector(DetectorKind.COMMAND, argv=("a\0b",), timeout=1), shop)
    assert found.truth is None


def test_conditions_see_only_variables_that_are_listed_and_no_secret(shop: Path) -> None:
    write(shop / ".git/HEAD", "ref: refs/heads/main\n")
    token = "ghp_" + "x7Kq" * 8
    given = {"STAGE": "dev", "OTHER": "x", "TOKENISH": token}
    detectors = LocalDetectors(Machine(home="/nowhere", variables=given))
    known = detectors.look(locate(str(shop))).variables(("STAGE", "TOKENISH", "UNSET"))
    assert known["env"] == {"STAGE": "dev"}
    assert known["git"] == {
        "repository": True,
        "branch": "main",
        "detached": False,
        "merging": False,
        "rebasing": False,
    }
