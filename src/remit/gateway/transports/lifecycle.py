"""The lifecycle of a gateway process: it stops on signals and publishes its status."""

import signal
import sys
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, cast

import anyio
from anyio.abc import TaskStatus

from remit.errors import RemitError
from remit.gateway.ports import Endpoint, EndpointSpec
from remit.gateway.requests.call_metrics import CallMetrics
from remit.gateway.requests.dispatcher import Dispatcher
from remit.gateway.transports.health_routes import StoreHealth
from remit.gateway.transports.status_files import StatusFiles, resident_megabytes
from remit.gateway.transports.status_monitor import StatusMonitor
from remit.upstream.upstream_pool import UpstreamPool

if TYPE_CHECKING:  # loaded where they are opened
    from remit.configuration.machine_files import MachineFiles
    from remit.gateway.access.stored_tokens import Tokens
    from remit.gateway.transports.session_seal import SessionSeal
    from remit.memory.project_memory import Memory
    from remit.registry import Registry

# The event loop cannot handle signals on Windows, where the interpreter's own interrupt has to do.
SIGNALS = [] if sys.platform == "win32" else [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]

Print = Callable[[str], None]  # to the user, on stderr


class GatewayOpeners(NamedTuple):
    """Opens the resources of a gateway process."""

    registry: "Callable[[], Registry]"
    memory: "Callable[[str], Memory]"
    upstream_pool: Callable[[], AbstractAsyncContextManager[UpstreamPool]]
    endpoint: Callable[[EndpointSpec, UpstreamPool], AbstractAsyncContextManager[Endpoint]]
    tokens: "Callable[[], Tokens]"
    machine_files: "Callable[[], MachineFiles]"  # which say who may use the gateway
    session_seal: "Callable[[], AbstractContextManager[SessionSeal | None]]"  # of sessions that move
    status_files: Callable[[], StatusFiles]
    calls: CallMetrics  # of this process
    store_health: Callable[[], StoreHealth]
    spooled: Callable[[], int]  # batches of calls that wait for the store

    def status_monitor(
        self,
        endpoints: Callable[[], Iterable[tuple[EndpointSpec, Dispatcher]]],
        upstreams: UpstreamPool,
        url: str | None = None,
    ) -> StatusMonitor:
        """Create the status monitor of a gateway that starts now."""
        return StatusMonitor(
            self.status_files(),
            endpoints=endpoints,
            upstreams=upstreams.statuses,
            memory=resident_megabytes,
            url=url,
            started_at=time.time_ns() // 1_000_000,
        )


def run_until_stopped(work: Callable[[], Awaitable[None]]) -> int:
    """Run work until it is done or a signal arrives, and return the exit code.

    Raises:
        RemitError: the work raised it.
    """
    try:
        return anyio.run(until_signal, work)
    except BaseExceptionGroup as group:
        raise _unwrap(group) from None


async def until_signal(work: Callable[[], Awaitable[None]]) -> int:
    """Run work until it is done or a signal arrives, and return the exit code."""
    received = 0
    async with anyio.create_task_group() as tasks:

        async def watch(*, task_status: TaskStatus[None]) -> None:
            nonlocal received
            with anyio.open_signal_receiver(*SIGNALS) as signals:
                task_status.started()
                async for number in signals:
                    received = 128 + number
                    break  # a second signal ends the process at once
            tasks.cancel_scope.cancel()

        if SIGNALS:
            await tasks.start(watch)
        await work()
        tasks.cancel_scope.cancel()
    return received


def describe_endpoint(spec: EndpointSpec) -> str:
    """Describe an endpoint in a few words."""
    below = "".join(f" below {each}" for each in spec.parents)
    client = spec.client if spec.agent is None else f"{spec.client}, agent {spec.agent}{below}"
    room = "" if spec.room is None else f", room {spec.room}"
    return f"{spec.directory} ({client}{room})"


def _unwrap(error: BaseException) -> BaseException:
    """Unwrap a single Remit error from exception groups; return any other error unchanged."""
    inner = error
    while isinstance(inner, BaseExceptionGroup):
        inner, *others = cast(BaseExceptionGroup[BaseException], inner).exceptions
        if others:
            return error
    return inner if isinstance(inner, RemitError) else error
