"""How long a request waits for its answer."""

import os

import anyio
import pytest

from remit.upstream.messaging.pending_requests import PendingRequest
from remit.upstream.transports.process_pipes import PipeWriter

pytestmark = pytest.mark.anyio
LARGE = bytes(2**21)  # far more than a pipe holds


def limited(seconds: float) -> PendingRequest:
    request = PendingRequest(1)
    request.time_limit = seconds
    return request


async def test_a_request_without_an_answer_ends_after_its_time_limit() -> None:
    request = limited(0.01)
    request.start_clock()
    with anyio.fail_after(30):
        await request.arrived
    assert not request.is_over


async def test_an_answer_after_the_time_limit_changes_nothing() -> None:
    request = limited(0.01)
    request.start_clock()
    await request.arrived
    request.take_answer({"result": {}})
    request.fail(ValueError("gone"))
    assert request.result() == {}


async def test_progress_restarts_the_time_limit() -> None:
    request = limited(0.2)
    half = limited(0.1)
    began = anyio.current_time()
    request.start_clock()
    half.start_clock()
    await half.arrived
    request.extend()
    await request.arrived
    assert anyio.current_time() - began >= 0.3


async def test_the_time_limit_pauses_while_the_caller_is_asked() -> None:
    request = limited(0.01)
    request.questions[1] = anyio.CancelScope()
    request.start_clock()
    request.extend()
    await anyio.wait_all_tasks_blocked()
    later = limited(0.1)
    later.start_clock()
    await later.arrived
    assert not request.arrived.done()
    del request.questions[1]
    request.extend()
    with anyio.fail_after(30):
        await request.arrived


async def test_a_closed_request_has_no_time_limit_anymore() -> None:
    request, later = limited(0.01), limited(0.1)
    request.start_clock()
    request.close()
    request.extend()
    later.start_clock()
    await later.arrived
    assert not request.arrived.done()


async def test_a_request_that_cannot_be_written_ends_after_its_time_limit() -> None:
    reads, writes = os.pipe()
    writer, request = PipeWriter(writes), limited(0.01)
    rest = writer.send_now(LARGE)
    assert rest is not None
    with anyio.fail_after(30), request.within_limit() as scope:
        await rest
    assert scope.cancelled_caught
    with anyio.fail_after(30):
        await request.arrived
    await writer.aclose()
    os.close(reads)
