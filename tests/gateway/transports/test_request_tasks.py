"""Requests are served side by side, by tasks that wait for the next."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import NamedTuple

import anyio
import pytest

from remit.gateway.transports.request_tasks import MAX_IDLE, RequestTasks

pytestmark = pytest.mark.anyio


class Asked(NamedTuple):
    """A request that is served until it may end."""

    may_end: anyio.Event
    served_by: list[object]
    outcome: list[str]


def ask() -> Asked:
    return Asked(anyio.Event(), [], [])


async def serve(asked: Asked) -> None:
    asked.served_by.append(asyncio.current_task())
    try:
        await asked.may_end.wait()
        asked.outcome.append("served")
    except anyio.get_cancelled_exc_class():
        asked.outcome.append("cancelled")
        raise


@asynccontextmanager
async def request_tasks() -> AsyncGenerator[RequestTasks[Asked]]:
    async with anyio.create_task_group() as group:
        yield RequestTasks(group, serve)
        group.cancel_scope.cancel()


async def finish(*asked: Asked) -> None:
    for each in asked:
        each.may_end.set()
    await anyio.wait_all_tasks_blocked()


async def test_a_task_serves_one_request_after_another() -> None:
    one, two = ask(), ask()
    async with request_tasks() as tasks:
        for each in (one, two):
            tasks.start(each)
            await finish(each)
    assert one.served_by == two.served_by
    assert one.outcome == two.outcome == ["served"]


async def test_requests_do_not_wait_for_each_other() -> None:
    slow, quick = ask(), ask()
    async with request_tasks() as tasks:
        tasks.start(slow)
        tasks.start(quick)
        await finish(quick)
        assert quick.outcome == ["served"]
        assert not slow.outcome


async def test_a_request_that_is_cancelled_ends_alone() -> None:
    before, cancelled, other, after = ask(), ask(), ask(), ask()
    async with request_tasks() as tasks:
        tasks.start(before)
        await finish(before)
        tasks.start(cancelled).cancel()  # in the task that waits, before it runs
        tasks.start(other)
        await anyio.wait_all_tasks_blocked()
        tasks.start(after)
        await finish(other, after)
    assert cancelled.outcome == ["cancelled"]
    assert other.outcome == after.outcome == ["served"]


async def test_a_request_that_was_not_stopped_in_time_does_not_stop_the_next() -> None:
    served, after = ask(), ask()
    async with request_tasks() as tasks:
        served.may_end.set()
        tasks.start(served).cancel()  # it ends before it would wait
        await anyio.wait_all_tasks_blocked()
        tasks.start(after)
        await finish(after)
    assert after.outcome == ["served"]


async def test_only_some_tasks_wait_for_another_request() -> None:
    first, second = ([ask() for _ in range(MAX_IDLE + 3)] for _ in range(2))
    async with request_tasks() as tasks:
        for each in (first, second):
            for asked in each:
                tasks.start(asked)
            await finish(*each)
    both = {task for asked in first for task in asked.served_by} & {
        task for asked in second for task in asked.served_by
    }
    assert len(both) == MAX_IDLE
    assert all(asked.outcome == ["served"] for asked in (*first, *second))


async def test_a_request_at_the_end_is_cancelled_like_those_that_run() -> None:
    before, late = ask(), ask()
    async with anyio.create_task_group() as group:
        tasks = RequestTasks(group, serve)
        tasks.start(before)
        await finish(before)
        group.cancel_scope.cancel()  # the waiting task is cancelled, but did not notice yet
        tasks.start(late)
    assert late.outcome in ([], ["cancelled"])
