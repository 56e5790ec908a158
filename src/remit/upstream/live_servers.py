"""Servers that are started or reached for real, side by side: the one place where an event loop starts."""

import logging
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from queue import Empty, SimpleQueue

import anyio
from anyio.from_thread import start_blocking_portal

from remit.protocol.constants import METHOD_NOT_FOUND
from remit.upstream.connect import HandshakeRequest, ProcessRecord, connect
from remit.upstream.connection import Connection
from remit.upstream.failures import explain, missing, secrets_of
from remit.upstream.launch.resources import LaunchResources
from remit.upstream.launch.server_environment import environment
from remit.upstream.launch.variable_expansion import expand
from remit.upstream.ports import JsonRpcError
from remit.upstream.tool_reader import MAX_NAME, read_tools
from remit.upstream.upstream_model import Offer, Upstream

AT_ONCE = 8

_BLINK = 0.5  # seconds: on Windows, no signal gets through a longer wait
_TALKATIVE = ("httpx2", "httpcore2")

Answers = SimpleQueue[tuple[int, Offer] | None]  # None: all have answered


class LiveServers:
    """Starts servers with the user's own environment, as their client would."""

    def __init__(self, means: LaunchResources) -> None:
        self._means = means
        self._greeting = HandshakeRequest(means.client, {})

    def ask(self, upstreams: Sequence[Upstream], on_answer: Callable[[Upstream, Offer], None]) -> list[Offer]:
        """Ask servers for their tools, a few at once; each failure is an answer, too.

        The listener is called in the caller's thread: however long it takes, no server waits for it.
        """
        for name in _TALKATIVE:  # what these say holds URLs and messages, and would go to stderr
            logging.getLogger(name).addHandler(logging.NullHandler())
        answers, offers = Answers(), dict[int, Offer]()
        traces = [ProcessRecord() for _ in upstreams]
        with (
            closing(self._means.watch),
            _interrupted_by_signals(),
            _nothing_left(traces),
            start_blocking_portal() as portal,
        ):
            asking = portal.start_task_soon(self._ask_all, upstreams, traces, answers)
            asking.add_done_callback(lambda _: answers.put(None))
            for at, offer in _arriving(answers):
                offers[at] = offer
                on_answer(upstreams[at], offer)
            asking.result()
        return [offers[at] for at in range(len(upstreams))]

    async def _ask_all(
        self, upstreams: Sequence[Upstream], traces: Sequence[ProcessRecord], answers: Answers
    ) -> None:
        limit = anyio.CapacityLimiter(AT_ONCE)

        async def one(at: int, upstream: Upstream) -> None:  # a task of its own, as the SDK demands
            async with limit:
                answers.put((at, await self.ask_one(upstream, traces[at])))

        async with anyio.create_task_group() as tasks:
            for at, upstream in enumerate(upstreams):
                tasks.start_soon(one, at, upstream)

    async def ask_one(self, upstream: Upstream, traces: ProcessRecord) -> Offer:
        """Ask one server for its tools."""
        expanded = expand(
            upstream.launch,
            self._means.variables,
            workspace=upstream.directory,
            home=self._means.home,
        )
        if expanded.missing:
            return Offer(failure=missing(expanded.missing, upstream))
        ready = replace(upstream, launch=expanded.launch)
        variables, began = self.environment(ready), time.monotonic()
        offer = None
        try:
            with anyio.fail_after(ready.deadline):
                reached = self._means.reach(ready, variables, traces)
                async with connect(reached, self._greeting) as connection:
                    offer = await _offer(connection, ready, began)
        except Exception as error:  # whatever one server does, the others are asked
            if offer is None:
                hidden = secrets_of(expanded, upstream.launch, variables)
                failure = explain(error, traces, ready, hidden)
                return Offer(failure=failure, seconds=time.monotonic() - began)
        assert offer is not None  # noqa: S101 - else it was an error
        return offer

    def environment(self, ready: Upstream) -> dict[str, str]:
        """Make a server's environment."""
        return environment(ready, self._means.variables)


async def _offer(connection: Connection, ready: Upstream, began: float) -> Offer:
    try:
        listed = await connection.pages("tools/list", "tools")
    except JsonRpcError as error:
        if error.code != METHOD_NOT_FOUND:
            raise
        listed = []  # it has resources or prompts only
    tools, quarantined = read_tools(listed, ready)
    version = connection.agreement.server.get("version")
    return Offer(
        tools=tools,
        quarantined=quarantined,
        protocol_version=connection.agreement.version,
        server_version=version[:MAX_NAME] if isinstance(version, str) else None,
        seconds=time.monotonic() - began,
    )


def _arriving(answers: Answers) -> Iterator[tuple[int, Offer]]:
    while True:
        with suppress(Empty):
            answer = answers.get(timeout=_BLINK)
            if answer is None:
                return
            yield answer


@contextmanager
def _nothing_left(traces: Sequence[ProcessRecord]) -> Generator[None]:
    """Kill what still runs when even the end is interrupted."""
    try:
        yield
    finally:
        for server in filter(None, (trace.server for trace in traces)):
            server.kill()


@contextmanager
def _interrupted_by_signals() -> Generator[None]:
    """Take every request to end as the one from the keyboard, so that no server outlives us."""
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
