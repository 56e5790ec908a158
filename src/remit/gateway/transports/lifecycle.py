"""What every gateway does, however it is reached: it stops when told, and says how it is."""

import signal
import sys
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import cast

import anyio
from anyio.abc import TaskStatus

from remit.bootstrap import memory_of_this_process, open_gateway_files
from remit.errors import RemitError
from remit.gateway.ports import EndpointSpec
from remit.gateway.requests.dispatcher import Dispatcher
from remit.gateway.transports.status_monitor import StatusMonitor
from remit.upstream.ports import UpstreamPool

# The event loop of Windows knows none; there, the interpreter's own way of being interrupted has to do.
SIGNALS = [] if sys.platform == "win32" else [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]

Print = Callable[[str], None]  # to the person who started it, on stderr


def run_until_stopped(work: Callable[[], Awaitable[None]]) -> int:
    """Do some work until it is done or a signal asks to stop; gives the exit code.

    Raises:
        RemitError: it cannot be done.
    """
    try:
        return anyio.run(until_signal, work)
    except BaseExceptionGroup as group:
        raise _only(group) from None


async def until_signal(work: Callable[[], Awaitable[None]]) -> int:
    """Do some work until it is done or a signal asks to stop; gives the exit code."""
    received = 0
    async with anyio.create_task_group() as tasks:

        async def watch(*, task_status: TaskStatus[None]) -> None:
            nonlocal received
            with anyio.open_signal_receiver(*SIGNALS) as signals:
                task_status.started()
                async for number in signals:
                    received = 128 + number
                    break  # whoever asks a second time gets it at once
            tasks.cancel_scope.cancel()

        if SIGNALS:
            await tasks.start(watch)
        await work()
        tasks.cancel_scope.cancel()
    return received


def status_monitor(
    endpoints: Callable[[], Iterable[tuple[EndpointSpec, Dispatcher]]],
    links: UpstreamPool,
    url: str | None = None,
) -> StatusMonitor:
    """Watch a gateway that starts now."""
    return StatusMonitor(
        open_gateway_files(),
        endpoints=endpoints,
        conditions=links.statuses,
        memory=memory_of_this_process,
        url=url,
        started_at=time.time_ns() // 1_000_000,
    )


def describe_opening(opening: EndpointSpec) -> str:
    """Say what an endpoint serves, in a few words."""
    who = opening.client if opening.agent is None else f"{opening.client}, agent {opening.agent}"
    room = "" if opening.room is None else f", room {opening.room}"
    return f"{opening.directory} ({who}{room})"


def _only(error: BaseException) -> BaseException:
    """Take an error of ours out of the groups that tasks wrap it in; anything else stays as it is."""
    inner = error
    while isinstance(inner, BaseExceptionGroup):
        inner, *others = cast(BaseExceptionGroup[BaseException], inner).exceptions
        if others:
            return error
    return inner if isinstance(inner, RemitError) else error
