"""What is told of traces."""

from remit.memory.traces import FAILS, OBSERVED, PASSES, StoredTrace, Trace, TraceKind


def left(sort: TraceKind, subject: str, verb: str, times: int = 1) -> str:
    return StoredTrace(1, sort, subject, verb, times, 0, None).text


def test_what_is_told_of_traces() -> None:
    assert left(TraceKind.FILE, "src/a.py", "edited") == "Edited src/a.py"
    assert left(TraceKind.FILE, "src/a.py", "wrote", 3) == "Wrote src/a.py (3 times)"
    assert left(TraceKind.COMMIT, "63fc4b8 Say bye", "committed") == "Committed 63fc4b8 Say bye"
    assert left(TraceKind.CHECK, "make test", "fails") == "`make test` failed when it was last run"
    assert (
        left(TraceKind.CHECK, "make test", "fails", 2)
        == "`make test` failed when it was last run (2 times in a row)"
    )
    assert (
        left(TraceKind.CHECK, "make test", "passes", 2) == "`make test` passes again, after it failed 2 times"
    )
    assert left(TraceKind.PAGE, "https://a.org/b", "read", 2) == "Read https://a.org/b"
    assert left(TraceKind.MANUAL, "/vercel/next.js", "read") == "Read the documentation of /vercel/next.js"
    assert left(TraceKind.SEARCH, "sqlite wal", "searched") == "Searched the web for: sqlite wal"


def test_every_trace_is_a_change_a_finding_or_a_reference() -> None:
    assert set(OBSERVED) == set(TraceKind)
    assert {StoredTrace(1, sort, "x", "", 1, 0, None).observed for sort in TraceKind} == {
        "change",
        "finding",
        "reference",
    }


def test_that_a_check_passes_is_no_news_by_itself() -> None:
    assert Trace(TraceKind.CHECK, "make test", FAILS).is_new
    assert not Trace(TraceKind.CHECK, "make test", PASSES).is_new
