"""Lists the tools of many servers at once, for synchronous callers: it starts the event loop."""

import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from queue import Empty, SimpleQueue

import anyio
from anyio.from_thread import start_blocking_portal

from remit.errors import OwnedElsewhereError
from remit.upstream.connect import HandshakeRequest, connect, silence_http_loggers
from remit.upstream.failures import explain
from remit.upstream.launch.launch_resources import LaunchResources
from remit.upstream.launch.ready_server import NotReadyError
from remit.upstream.messaging.forwarding import EXTRAS_SECONDS, list_parts
from remit.upstream.ownership import owned
from remit.upstream.ports import PARTS, RELAYED, TOOLS
from remit.upstream.tool_reader import read_offer
from remit.upstream.transports.process import ProcessRecord
from remit.upstream.upstream_model import Failure, Offer, Sharing, Upstream

MAX_CONCURRENT = 8

_POLL = 0.5  # seconds: on Windows, a longer wait blocks signals
Answers = SimpleQueue[tuple[int, Offer] | None]  # None: the end


class LiveServers:
    """Starts servers with the user's environment, as their client would."""

    def __init__(self, resources: LaunchResources) -> None:
        self._resources = resources

    def ask(self, upstreams: Sequence[Upstream], on_answer: Callable[[Upstream, Offer], None]) -> list[Offer]:
        """List the tools of servers, a few at once; a failure counts as an answer.

        `on_answer` runs in the caller's thread, so a slow one delays no server.
        """
        silence_http_loggers()
        answers, offers = Answers(), dict[int, Offer]()
        records = [ProcessRecord() for _ in upstreams]
        with (
            closing(self._resources.watchdog),
            _interrupted_by_signals(),
            _kill_processes(records),
            start_blocking_portal() as portal,
        ):
            asking = portal.start_task_soon(self._ask_all, upstreams, records, answers)
            asking.add_done_callback(lambda _: answers.put(None))
            for at, offer in _arriving(answers):
                offers[at] = offer
                on_answer(upstreams[at], offer)
            asking.result()
        return [offers[at] for at in range(len(upstreams))]

    async def _ask_all(
        self, upstreams: Sequence[Upstream], records: Sequence[ProcessRecord], answers: Answers
    ) -> None:
        limit = anyio.CapacityLimiter(MAX_CONCURRENT)

        async def ask(at: int, upstream: Upstream) -> None:
            async with limit:
                answers.put((at, await self.ask_one(upstream, records[at])))

        async with anyio.create_task_group() as tasks:
            for at, upstream in enumerate(upstreams):
                tasks.start_soon(ask, at, upstream)

    async def ask_one(self, upstream: Upstream, record: ProcessRecord) -> Offer:
        """List the tools of one server."""
        try:
            async with owned(upstream, self._resources.locks):
                return await self._ask_one(upstream, record)
        except OwnedElsewhereError as error:
            return Offer(
                failure=Failure(reason=error.reason, hint="the gateway that runs it lists its tools"),
                is_elsewhere=True,
            )

    async def _ask_one(self, upstream: Upstream, record: ProcessRecord) -> Offer:
        try:
            ready = self._resources.ready(upstream)
        except NotReadyError as error:
            return Offer(failure=error.failure)
        offer, began = None, time.monotonic()
        try:
            with anyio.fail_after(upstream.deadline) as limit:
                transport = self._resources.open_transport(ready, record)
                async with connect(transport, self._handshake(upstream)) as connection:
                    lists = await list_parts(connection, TOOLS, upstream.deadline)
                    limit.deadline += EXTRAS_SECONDS  # the other lists have their own limits
                    lists = await list_parts(connection, PARTS - TOOLS, upstream.deadline, lists)
                    lists = lists._replace(secrets=ready.secrets)
                    offer = replace(read_offer(lists, upstream), seconds=time.monotonic() - began)
        except Exception as error:  # one server must not take down the others
            if offer is None:
                failure = explain(error, record, upstream, ready.secrets())
                return Offer(failure=failure, seconds=time.monotonic() - began)
        assert offer is not None  # noqa: S101 - an error returned above
        return offer

    def _handshake(self, upstream: Upstream) -> HandshakeRequest:
        """Declare all that a gateway relays: a server may offer more to a client that can answer it."""
        is_single = upstream.sharing is Sharing.SINGLE  # then a gateway declares nothing either
        return HandshakeRequest(self._resources.client, {} if is_single else dict(RELAYED))


def _arriving(answers: Answers) -> Iterator[tuple[int, Offer]]:
    while True:
        with suppress(Empty):
            answer = answers.get(timeout=_POLL)
            if answer is None:
                return
            yield answer


@contextmanager
def _kill_processes(records: Sequence[ProcessRecord]) -> Generator[None]:
    """Kill processes that still run if even the cleanup is interrupted."""
    try:
        yield
    finally:
        for process in filter(None, (record.process for record in records)):
            process.kill()


@contextmanager
def _interrupted_by_signals() -> Generator[None]:
    """Treat termination signals like Ctrl-C, so no server outlives Remit."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    before = {number: signal.getsignal(number) for number in numbers}
    taken = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}
    try:
        for number in taken:
            signal.signal(number, signal.default_int_handler)
        yield
    finally:
        for number, handler in taken.items():
            signal.signal(number, handler)
