"""Servers that are started or reached for real, side by side: the one place where an event loop starts."""

import asyncio
import logging
import signal
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

import anyio
from mcp_types import Implementation

from remit.adapters.upstream.connection import Connection, Traces, connect
from remit.adapters.upstream.failures import explain, secrets_of
from remit.adapters.upstream.tools import read_tools
from remit.core.expansion import expand
from remit.core.upstreams import Failure, Offer, Upstream

AT_ONCE = 8
DEPTH = "REMIT_DEPTH"  # under which Remit does not serve: it was started by itself

_TALKATIVE = ("mcp", "client", "httpx2", "httpcore2")


class LiveServers:
    """Starts servers with the user's own environment, as their client would."""

    def __init__(self, variables: Mapping[str, str], *, home: str, version: str) -> None:
        self._variables = variables
        self._home = home
        self._self = Implementation(name="remit", version=version)

    def ask(self, upstreams: Sequence[Upstream], on_answer: Callable[[Upstream, Offer], None]) -> list[Offer]:
        """Ask servers for their tools, a few at once; each failure is an answer, too."""
        for name in _TALKATIVE:  # what these say holds URLs and messages, and would go to stderr
            logging.getLogger(name).addHandler(logging.NullHandler())
        try:
            return asyncio.run(self._ask_all(upstreams, on_answer))
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None  # by a signal, and every server was ended

    async def _ask_all(
        self, upstreams: Sequence[Upstream], on_answer: Callable[[Upstream, Offer], None]
    ) -> list[Offer]:
        offers: dict[int, Offer] = {}
        problems: list[Exception] = []
        limit = anyio.CapacityLimiter(AT_ONCE)

        async def one(at: int, upstream: Upstream) -> None:  # a task of its own, as the SDK demands
            async with limit:
                offers[at] = await self.ask_one(upstream)
            try:
                on_answer(upstream, offers[at])
            except Exception as error:  # carried out of the task group as itself
                problems.append(error)
                tasks.cancel_scope.cancel()

        with _cancelled_by_signals():
            async with anyio.create_task_group() as tasks:
                for at, upstream in enumerate(upstreams):
                    tasks.start_soon(one, at, upstream)
        if problems:
            raise problems[0]
        return [offers[at] for at in range(len(upstreams))]

    async def ask_one(self, upstream: Upstream) -> Offer:
        """Ask one server for its tools."""
        expanded = expand(
            upstream.launch,
            self._variables,
            workspace=upstream.directory,
            home=self._home,
        )
        if expanded.missing:
            return Offer(failure=_missing(expanded.missing, upstream))
        ready = replace(upstream, launch=expanded.launch)
        environment, traces, began = self.environment(ready), Traces(), time.monotonic()
        offer = None
        try:
            with anyio.fail_after(ready.deadline):
                async with connect(
                    ready.launch, env=environment, directory=ready.place, client=self._self, traces=traces
                ) as connection:
                    offer = await _offer(connection, ready, began)
        except Exception as error:  # whatever one server does, the others are asked
            if offer is None:
                hidden = secrets_of(expanded, upstream.launch, environment)
                failure = explain(error, traces, ready, hidden)
                return Offer(failure=failure, seconds=time.monotonic() - began)
        assert offer is not None  # noqa: S101 - else it was an error
        return offer

    def environment(self, ready: Upstream) -> dict[str, str]:
        """Make a server's environment: the user's whole, the client's own, the entry's."""
        place = {"PWD": ready.place}
        own = {"CLAUDE_PROJECT_DIR": ready.directory} if ready.client == "claude-code" else {}
        launch = ready.launch
        return {**self._variables, **place, **own, **launch.variables, **launch.env, DEPTH: "1"}


async def _offer(connection: Connection, ready: Upstream, began: float) -> Offer:
    tools, quarantined = read_tools(await connection.list_tools(), ready)
    info = connection.server_info
    return Offer(
        tools=tools,
        quarantined=quarantined,
        protocol_version=connection.protocol_version,
        server_version=None if info is None else info.version,
        seconds=time.monotonic() - began,
    )


def _missing(names: Sequence[str], upstream: Upstream) -> Failure:
    many = ", ".join(f"`{name}`" for name in names)
    verb = "is" if len(names) == 1 else "are"
    return Failure(
        reason=f"needs {many}, which {verb} not set",
        hint=f"set {names[0]} in your environment, or give it a default in {upstream.source}",
    )


@contextmanager
def _cancelled_by_signals() -> Generator[None]:
    """Turn a request to end into a cancellation, so that no server outlives us."""
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    numbers = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    if task is not None and threading.current_thread() is threading.main_thread():
        with suppress(NotImplementedError):  # on Windows
            for number in numbers:
                loop.add_signal_handler(number, task.cancel)
    yield
