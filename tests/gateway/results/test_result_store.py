"""Where large results are kept: privately, within bounds, and not longer than their session."""

import multiprocessing
import os
import stat
from pathlib import Path

import pytest

from remit.files.file_lock import try_lock
from remit.gateway.results.result_store import FOLDER, LIFETIME, KeptResult, ResultStore
from remit.presentation.results.result_document import ResultDocument

DOCUMENT = ResultDocument("text \ud800 of a result", {"a": [1.5, None]})


class Clock:
    now = 1_000_000_000_000

    def __call__(self) -> int:
        return self.now


def kept(id: str, session: str = "one", principal: str | None = None) -> KeptResult:
    return KeptResult(id, session, principal, ("key",), "fs__read", False)


def files(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / FOLDER).glob("*/*") if path.name != "lock")


def test_a_result_is_read_as_it_was_kept_by_its_session_and_principal_alone(tmp_path: Path) -> None:
    store = ResultStore(str(tmp_path), Clock())
    assert store.keep(DOCUMENT, kept("a", principal="me"))
    assert store.find("a", "one", "me") == kept("a", principal="me")
    assert store.read("a") == DOCUMENT
    assert store.find("a", "two", "me") is None
    assert store.find("a", "one", None) is None
    assert store.find("b", "one", "me") is None
    assert store.read("b") is None
    store.close()


def test_only_its_user_can_read_it(tmp_path: Path) -> None:
    store = ResultStore(str(tmp_path), Clock())
    store.keep(DOCUMENT, kept("a"))
    for path in [tmp_path / FOLDER, *(tmp_path / FOLDER).rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
    store.close()


def test_it_is_gone_with_its_session_and_with_the_endpoint(tmp_path: Path) -> None:
    store = ResultStore(str(tmp_path), Clock())
    for id, session in (("a", "one"), ("b", "two")):
        store.keep(DOCUMENT, kept(id, session))
    store.leave("one")
    assert files(tmp_path) == ["b"]
    assert store.find("a", "one", None) is None
    store.close()
    assert list((tmp_path / FOLDER).iterdir()) == []
    store.close()


def test_a_session_keeps_its_latest_results_within_its_bound(tmp_path: Path) -> None:
    store = ResultStore(str(tmp_path), Clock(), per_session=1_000)
    large = ResultDocument("x" * 400)
    for id in ("a", "b"):
        assert store.keep(large, kept(id))
    assert store.read("a") is not None
    assert store.keep(large, kept("c"))
    assert store.keep(large, kept("d", "two"))
    assert files(tmp_path) == ["a", "c", "d"]
    assert not store.keep(ResultDocument("x" * 2_000), kept("e"))
    store.close()


def test_all_gateways_together_keep_within_a_bound(tmp_path: Path) -> None:
    one, two = (ResultStore(str(tmp_path), Clock(), in_all=1_000) for _ in range(2))
    large = ResultDocument("x" * 400)
    assert one.keep(large, kept("a"))
    assert one.keep(large, kept("b"))
    assert not two.keep(large, kept("c"))  # the other's results are not its own to drop
    assert one.keep(large, kept("d", "two"))
    assert files(tmp_path) == ["b", "d"]
    for store in (one, two):
        store.close()


def test_a_result_that_nobody_reads_for_long_is_dropped(tmp_path: Path) -> None:
    clock = Clock()
    store = ResultStore(str(tmp_path), clock)
    for id in ("a", "b"):
        store.keep(DOCUMENT, kept(id))
    clock.now += LIFETIME
    assert store.read("a") == DOCUMENT
    clock.now += 1
    assert store.find("b", "one", None) is None
    assert files(tmp_path) == ["a"]
    store.close()


def _keep_and_die(directory: str) -> None:
    ResultStore(directory, Clock()).keep(DOCUMENT, kept("left"))
    os._exit(1)


def test_what_a_crashed_gateway_left_is_removed_at_the_next_start_and_what_runs_is_not(
    tmp_path: Path,
) -> None:
    running = ResultStore(str(tmp_path), Clock())
    running.keep(DOCUMENT, kept("a"))
    crashed = multiprocessing.get_context("fork").Process(target=_keep_and_die, args=(str(tmp_path),))
    crashed.start()
    crashed.join()
    assert files(tmp_path) == ["a", "left"]
    (tmp_path / FOLDER / "empty").mkdir()
    (tmp_path / FOLDER / "stray").write_text("not a folder")
    ResultStore(str(tmp_path), Clock()).sweep()
    assert files(tmp_path) == ["a"]
    assert running.read("a") == DOCUMENT
    running.close()


def test_nothing_is_kept_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("in the way")
    store = ResultStore(str(tmp_path), Clock())
    store.sweep()
    assert not store.keep(DOCUMENT, kept("a"))
    store.close()


def test_a_result_that_was_damaged_is_gone(tmp_path: Path) -> None:
    store = ResultStore(str(tmp_path), Clock())
    store.keep(DOCUMENT, kept("a"))
    next((tmp_path / FOLDER).glob("*/a")).write_text("{")
    assert store.read("a") is None
    assert files(tmp_path) == []
    store.close()


def test_a_lock_that_someone_holds_is_not_taken(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    first = try_lock(path, is_new=True)
    assert first is not None
    assert try_lock(path) is None
    os.close(first)
    again = try_lock(path)
    assert again is not None
    os.close(again)
    with pytest.raises(OSError, match="exists"):
        try_lock(path, is_new=True)
