"""Which traces calls leave."""

import pytest

from remit.memory.trace_rules import trace_of
from remit.memory.traces import Trace, TraceKind

MADE = "[main (root-commit) 63fc4b8] Say bye\n 3 files changed, 3 insertions(+)\n"


def run(
    command: str, answer: object = "Exit code 1", *, succeeded: bool = False, **given: object
) -> Trace | None:
    return trace_of("Bash", {"command": command, **given}, answer, succeeded=succeeded)


@pytest.mark.parametrize(
    ("tool", "given", "verb"),
    [
        ("Edit", {"file_path": "/code/shop/a.py", "old_string": "x", "new_string": "y"}, "edited"),
        ("MultiEdit", {"file_path": "/code/shop/a.py"}, "edited"),
        ("NotebookEdit", {"notebook_path": "/code/shop/a.py"}, "edited"),
        ("Write", {"file_path": "/code/shop/a.py", "content": "x"}, "wrote"),
    ],
)
def test_a_file_that_was_written_is_a_change(tool: str, given: dict[str, object], verb: str) -> None:
    assert trace_of(tool, given, {}, succeeded=True) == Trace(TraceKind.FILE, "/code/shop/a.py", verb)
    assert trace_of(tool, given, "File does not exist", succeeded=False) is None


@pytest.mark.parametrize("given", [{}, {"file_path": 3}, {"file_path": ""}, {"file_path": "x" * 1000}])
def test_a_file_without_a_name_leaves_nothing(given: dict[str, object]) -> None:
    assert trace_of("Edit", given, {}, succeeded=True) is None


def test_a_commit_is_known_by_what_git_says_of_it() -> None:
    found = run("git add -A && git commit -m 'Say bye'", {"stdout": MADE}, succeeded=True)
    assert found == Trace(TraceKind.COMMIT, "63fc4b8 Say bye", "committed")
    assert run("git commit -qm x", {"stdout": ""}, succeeded=True) is None
    assert run("cat log", {"stdout": MADE}, succeeded=True) is None
    assert run("git commit -m x", {"stdout": 3}, succeeded=True) is None


@pytest.mark.parametrize(
    ("command", "check"),
    [
        ("make test", "make test"),
        ("make test 2>&1", "make test"),
        ("timeout 300 .venv/bin/python -m pytest tests/a.py -q -x > log", "pytest tests/a.py"),
        ("CI=1 uv run pytest -k october", "pytest -k october"),
        ("npm run test:unit", "npm run test:unit"),
        ("go test ./...", "go test ./..."),
        ("./gradlew build", "gradlew build"),
    ],
)
def test_a_check_is_named_by_its_command(command: str, check: str) -> None:
    assert run(command) == Trace(TraceKind.CHECK, check, "fails")
    assert run(command, {"stdout": "ok"}, succeeded=True) == Trace(TraceKind.CHECK, check, "passes")


def test_a_check_in_another_directory_is_another_check() -> None:
    assert run("cd web && npm test") == Trace(TraceKind.CHECK, "npm test", "fails", "web")


@pytest.mark.parametrize(
    "command",
    [
        "make test | tail",  # whose exit code would it be?
        "make test; echo done",
        "make test &",
        "make test || true",
        "build && make test",
        "cd $HOME && make test",
        "cd web && cd .. && make test",
        "make deploy",
        "npm",
        "python -m http.server",
        "echo make test",
        "pytest 'a b'",  # what cannot be told in full
        f"pytest {'x/' * 100}a.py",
        "pytest --token ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "pytest --token october",  # no word of its own looks like one
        "npm test -- --db-password hunter2",
        "",
    ],
)
def test_of_what_is_not_certain_nothing_is_said(command: str) -> None:
    assert run(command) is None


def test_a_command_that_still_runs_or_was_broken_off_says_nothing() -> None:
    assert run("make test", {"stdout": ""}, succeeded=True, run_in_background=True) is None
    assert run("make test", {"backgroundTaskId": "b1"}, succeeded=True) is None
    assert run("make test", {"interrupted": True}, succeeded=True) is None
    assert run("make test", "Command timed out") is None
    assert run("make test", ["Exit code 1"]) is None
    assert run("x" * 20_000) is None


@pytest.mark.parametrize(
    ("url", "page"),
    [
        ("https://Docs.python.org/3/library/os.html?q=x#y", "https://docs.python.org/3/library/os.html"),
        ("https://ada:hunter2@docs.python.org:443", "https://docs.python.org"),
    ],
)
def test_a_page_is_named_without_what_only_its_reader_was_given(url: str, page: str) -> None:
    for tool in ("WebFetch", "mcp__web__fetch", "mcp__crawler__scrape_page"):
        assert trace_of(tool, {"url": url}, "...", succeeded=True) == Trace(TraceKind.PAGE, page, "read")


@pytest.mark.parametrize(
    "url", ["http://localhost:3000/", "http://10.0.0.1/x", "https://wiki.internal/x", "ftp://x.org/y", "", 3]
)
def test_what_is_no_public_page_is_no_reference(url: object) -> None:
    assert trace_of("WebFetch", {"url": url}, "...", succeeded=True) is None


def test_a_search_and_a_librarys_documentation_are_references() -> None:
    search = trace_of("WebSearch", {"query": "sqlite\nwal"}, "...", succeeded=True)
    assert search == Trace(TraceKind.SEARCH, "sqlite wal", "searched")
    manual = trace_of("mcp__context7__query-docs", {"libraryId": "/vercel/next.js"}, "...", succeeded=True)
    assert manual == Trace(TraceKind.MANUAL, "/vercel/next.js", "read")
    assert trace_of("mcp__context7__query-docs", {}, "...", succeeded=True) is None


def test_what_is_secret_in_a_name_is_hidden() -> None:
    found = trace_of("WebSearch", {"query": "ghp_16C7e42F292c6912E7710c838347Ae178B4a"}, "", succeeded=True)
    assert found == Trace(TraceKind.SEARCH, "***", "searched")


@pytest.mark.parametrize("length", range(100, 160, 5))
def test_no_part_of_a_secret_is_left_where_a_name_is_cut(length: int) -> None:
    query = f"{'why ' * (length // 4)}ghp_16C7e42F292c6912E7710c838347Ae178B4a"
    found = trace_of("WebSearch", {"query": query}, "", succeeded=True)
    assert found is not None
    assert "ghp" not in found.subject
    assert len(found.subject) <= 160


@pytest.mark.parametrize("tool", ["Read", "Grep", "mcp__ledger__search"])
def test_most_calls_leave_nothing(tool: str) -> None:
    assert (
        trace_of(tool, {"file_path": "/code/shop/a.py", "url": "https://a.org"}, "", succeeded=True) is None
    )
