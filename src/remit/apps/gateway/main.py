"""Puts a gateway together and runs it, for the command line."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple

import anyio

from remit.apps.gateway.endpoints import Endpoints
from remit.apps.gateway.http import Front, Site
from remit.apps.gateway.monitor import Monitor
from remit.apps.gateway.server import Face
from remit.apps.gateway.serving import bound, on_http, on_stdio, until_told
from remit.bootstrap import (
    memory_of_this_process,
    open_endpoint,
    open_gateway_files,
    open_links,
    open_registry,
    open_tokens,
)
from remit.core.hosts import Hosts
from remit.core.projects import Project
from remit.errors import ServingError
from remit.exchange import Endpoint, Links, Opening

_FRESH = 2.0  # seconds for which the list of projects is not asked for again


class Address(NamedTuple):
    """Where a gateway listens."""

    host: str
    port: int

    def url(self, path: str = "") -> str:
        """Spell it as a URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}{path}"


def serve_stdio(opening: Opening, say: Callable[[str], None]) -> int:
    """Serve one client on the standard streams; gives the exit code."""

    async def work() -> None:
        async with open_links() as links:
            await _serve_one(open_endpoint(opening, links), opening, links, say)

    return anyio.run(until_told, work)


def serve_http(opening: Opening, address: Address, names: Sequence[str], say: Callable[[str], None]) -> int:
    """Serve whoever connects to an address; gives the exit code.

    Raises:
        ServingError: the address cannot be had, or is not for everybody and there is no token.
    """
    hosts, tokens = Hosts(address.host, names), open_tokens()
    if not hosts.is_loopback and not tokens.grants():
        raise ServingError(
            f"{address.host} can be reached from other machines, and there is no token to ask for",
            hint="`remit token add NAME` makes one; or listen on 127.0.0.1",
        )
    site = Site(opening, _project(opening), hosts, tokens.grants, _Known(), _push)
    listener = bound(*address)
    address = Address(address.host, listener.getsockname()[1])

    async def work() -> None:
        async with open_links() as links, anyio.create_task_group() as tasks:
            endpoints = Endpoints(lambda asked: open_endpoint(asked, links), tasks)
            monitor = _monitor(
                lambda: [(served.opening, served.face) for served in endpoints], links, address.url("/mcp")
            )
            tasks.start_soon(monitor.run)
            say(f"serving {_described(opening)} on {address.url('/mcp')}")
            say(f"this project has {address.url(f'/p/{site.project.short_name}/mcp')}, too")
            try:
                await on_http(Front(site, endpoints), endpoints, listener)
            finally:
                tasks.cancel_scope.cancel()

    return anyio.run(until_told, work)


async def _serve_one(
    opened: AbstractAsyncContextManager[Endpoint], opening: Opening, links: Links, say: Callable[[str], None]
) -> None:
    async with anyio.create_task_group() as tasks:

        async def on_open(face: Face) -> None:
            tasks.start_soon(_monitor(lambda: [(opening, face)], links, None).run)
            say(f"serving {_described(opening)} on stdio")

        await on_stdio(opened, on_open)
        tasks.cancel_scope.cancel()


def _monitor(
    endpoints: "Callable[[], Sequence[tuple[Opening, Face]]]", links: Links, url: str | None
) -> Monitor:
    return Monitor(
        open_gateway_files(),
        endpoints=endpoints,
        conditions=links.conditions,
        memory=memory_of_this_process,
        url=url,
        started_at=time.time_ns() // 1_000_000,
    )


def _described(opening: Opening) -> str:
    who = opening.client if opening.agent is None else f"{opening.client}, agent {opening.agent}"
    room = "" if opening.room is None else f", room {opening.room}"
    return f"{opening.directory} ({who}{room})"


def _project(opening: Opening) -> Project:
    with open_registry() as registry:
        return registry.at(opening.directory).workspace.project


def _push(directory: str, said: Mapping[str, object]) -> None:
    with open_registry() as registry:
        registry.push_states(said, registry.at(directory))


class _Known:
    """The projects that something is stored about, asked for now and then."""

    def __init__(self) -> None:
        self._projects: Sequence[Project] = ()
        self._read_at = -_FRESH

    def __call__(self) -> Sequence[Project]:
        if time.monotonic() - self._read_at > _FRESH:
            with open_registry() as registry:
                self._projects = registry.projects()
            self._read_at = time.monotonic()
        return self._projects
