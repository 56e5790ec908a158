"""Embedding in the background: one run at a time, and a pause after a failure."""

import logging
from collections.abc import Generator

import pytest

from remit.decision.context import Context
from remit.errors import StoreError
from remit.gateway.search_preparation import VectorBackfill
from remit.registry import Registry
from support.embedding_service import (
    PATIENCE,
    EmbeddingService,
    embedding_service,
    threads,
    wait_for_threads,
)
from support.postgres import Databases, needs_postgres, open_everywhere
from support.sandbox import Sandbox

THREAD = "remit-embeddings"


@pytest.fixture
def service() -> Generator[EmbeddingService]:
    with embedding_service() as service:
        yield service


@pytest.fixture
def here(sandbox: Sandbox, service: EmbeddingService) -> Context:
    return scanned(sandbox, service, 130)


def scanned(sandbox: Sandbox, service: EmbeddingService, count: int) -> Context:
    sandbox.variables |= service.variables
    project = sandbox.project("shop")
    for at in range(count):
        sandbox.write(project / ".claude/commands" / f"c{at}.md", f"---\ndescription: Capture {at}\n---\n")
    with sandbox.registry() as registry:
        context = registry.at(str(project))
        registry.scan(context)
        return context


def commands(service: EmbeddingService) -> int:
    return sum("apture" in text for texts in service.requests for text in texts)


def test_vectors_are_stored_batch_by_batch_and_a_later_run_goes_on(
    sandbox: Sandbox, here: Context, service: EmbeddingService
) -> None:
    first = VectorBackfill(sandbox.registry)
    first.start(here)
    first.start(here)  # under way
    assert len(threads(THREAD)) == 1
    assert service.asked.wait(PATIENCE)
    service.asked.clear()
    service.answer(1)
    assert service.asked.wait(PATIENCE)
    first.stop()  # while the endpoint holds the second
    assert threads(THREAD) == []
    assert first.take(here) is None
    first.start(here)
    assert threads(THREAD) == []
    service.requests.clear()
    service.answer()
    second = VectorBackfill(sandbox.registry)
    second.start(here)
    wait_for_threads(THREAD)
    assert commands(service) == 130 - 64
    searcher = second.take(here)
    assert searcher is not None
    assert searcher.missing == 0
    assert second.take(here) is None


def test_a_searcher_with_the_vectors_so_far_is_ready_before_the_last_ones_arrive(
    sandbox: Sandbox, here: Context, service: EmbeddingService
) -> None:
    ticks = iter(range(0, 10_000, 100))
    backfill = VectorBackfill(sandbox.registry, lambda: float(next(ticks)))
    backfill.start(here)
    for _ in range(2):
        assert service.asked.wait(PATIENCE)
        service.asked.clear()
        service.answer(1)
    assert service.asked.wait(PATIENCE)  # the third batch is under way
    searcher = backfill.take(here)
    assert searcher is not None
    assert 0 < searcher.missing < 130
    backfill.stop()


def test_after_a_failure_nothing_is_tried_for_a_minute_and_the_same_is_logged_once(
    here: Context, caplog: pytest.LogCaptureFixture
) -> None:
    now, opened = [0.0], list[float]()

    def fail() -> Registry:
        opened.append(now[0])
        raise StoreError("the disk is full")

    backfill = VectorBackfill(fail, lambda: now[0])
    with caplog.at_level(logging.WARNING, "remit.gateway"):
        for at in (0.0, 1.0, 59.0, 60.0, 61.0):
            now[0] = at
            backfill.start(here)
            wait_for_threads(THREAD)
    assert opened == [0.0, 60.0]
    assert str(backfill.failure) == "the disk is full"
    assert [record.getMessage() for record in caplog.records] == [
        "new tools are found by words alone: the disk is full"
    ]
    backfill.stop()


@pytest.mark.long
@needs_postgres
def test_of_two_nodes_one_embeds_each_tool_and_the_other_looks_again_without_repeating_it(
    sandbox: Sandbox, service: EmbeddingService, databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_everywhere(monkeypatch, databases.create())
    context, now, opened = scanned(sandbox, service, 10), [10.0], list[float]()

    def open_noted() -> Registry:
        opened.append(now[0])
        return sandbox.registry()

    owner, other = VectorBackfill(sandbox.registry), VectorBackfill(open_noted, lambda: now[0])
    owner.start(context)
    assert service.asked.wait(PATIENCE)  # the answer is held
    held = threads(THREAD)
    for at in (10.0, 11.0, 15.0):
        now[0] = at
        other.start(context)
        for thread in threads(THREAD):
            if thread not in held:
                thread.join(PATIENCE)
    assert opened == [10.0, 15.0]  # after a pause, for the vectors of the owner
    service.answer()
    wait_for_threads(THREAD)
    now[0] = 20.0
    other.start(context)
    wait_for_threads(THREAD)
    searcher = other.take(context)
    assert searcher is not None
    assert searcher.missing == 0
    assert len(service.requests) == 1
    for each in (owner, other):
        each.stop()


def test_a_searcher_of_another_context_is_not_taken(
    sandbox: Sandbox, here: Context, service: EmbeddingService
) -> None:
    service.answer()
    backfill = VectorBackfill(sandbox.registry)
    backfill.start(here)
    wait_for_threads(THREAD)
    with sandbox.registry() as registry:
        assert backfill.take(registry.at(str(sandbox.project("blog")))) is None
