"""Serves many clients on HTTP, each endpoint at a URL of its own."""

import socket
import sys
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import anyio
import uvicorn
from starlette.types import ASGIApp

from remit.bootstrap import open_endpoint, open_registry, open_tokens, open_upstream_pool
from remit.decision.projects import Project
from remit.errors import ServingError
from remit.gateway.ports import EndpointSpec
from remit.gateway.transports.cors import allow_origins
from remit.gateway.transports.endpoint_pool import EndpointPool
from remit.gateway.transports.host_check import HostCheck, is_loopback
from remit.gateway.transports.http_routes import GatewayApp, GatewaySite
from remit.gateway.transports.lifecycle import Print, describe_opening, run_until_stopped, status_monitor

GRACE = 2  # seconds that requests have to end

_BACKLOG = 1024

_FRESH = 2.0  # seconds for which the list of projects is not asked for again


class Address(NamedTuple):
    """Where a gateway listens."""

    host: str
    port: int

    def url(self, path: str) -> str:
        """Spell it as a URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}{path}"


class AllowedOrigins(NamedTuple):
    """From where a gateway is reached, beside its own address."""

    names: Sequence[str] = ()  # that lead to it
    origins: Sequence[str] = ()  # of pages that may ask


def serve(opening: EndpointSpec, address: Address, reach: AllowedOrigins, say: Print) -> int:
    """Serve whoever connects to an address; gives the exit code.

    Raises:
        RemitError: the address cannot be had, other machines reach it and there is no token, or there is no
            such endpoint.
    """
    hosts, tokens = HostCheck(address.host, reach.names, reach.origins), open_tokens()
    if not hosts.is_private and not tokens.grants():
        reached = next(name for name in (address.host, *reach.names) if not is_loopback(name.lower()))
        raise ServingError(
            f"{reached} can be reached from other machines, and there is no token to ask for",
            hint="`remit token add NAME` makes one; or listen on 127.0.0.1, by no other name",
        )
    site = GatewaySite(opening, _project(opening), hosts, tokens.grants, _Known(), _push)
    listener = bind_socket(address)
    address = Address(address.host, listener.getsockname()[1])

    async def work() -> None:
        async with open_upstream_pool() as links, anyio.create_task_group() as tasks:
            endpoints = EndpointPool(lambda asked: open_endpoint(asked, links), tasks)
            watched = status_monitor(
                lambda: [(served.opening, served.desk) for served in endpoints], links, address.url("/mcp")
            )
            await endpoints.at(opening)  # so that a mistake shows now, and not to the first client
            tasks.start_soon(watched.run)
            say(f"serving {describe_opening(opening)} on {address.url('/mcp')}")
            try:
                await serve_http(
                    allow_origins(GatewayApp(site, endpoints), reach.origins), endpoints, listener
                )
            finally:
                tasks.cancel_scope.cancel()

    with listener:
        return run_until_stopped(work)


async def serve_http(front: ASGIApp, endpoints: EndpointPool, listener: socket.socket) -> None:
    """Serve whoever connects, until cancelled; then requests have a moment to end."""
    config = uvicorn.Config(
        front,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        timeout_keep_alive=75,  # longer than clients keep a connection that they do not use
        timeout_graceful_shutdown=GRACE,
    )
    server = _Server(config)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.run_to_its_end, listener)
        try:
            await anyio.sleep_forever()
        finally:
            endpoints.end()
            server.should_exit = True


def bind_socket(address: Address) -> socket.socket:
    """Take an address to listen on.

    Raises:
        ServingError: it cannot be had.
    """
    try:
        found = socket.getaddrinfo(*address, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, _, _, place = found[0]
        # Answers go out at once, and are not gathered for 40 ms: the event loop sees to that only where the
        # protocol is named, so connections are told here, too.
        listener = socket.socket(family, kind, socket.IPPROTO_TCP)
        try:
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if sys.platform != "win32":
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(place)
            listener.listen(_BACKLOG)
        except BaseException:
            listener.close()
            raise
        return listener
    except (OSError, UnicodeError) as error:
        words = error.strerror if isinstance(error, OSError) else None
        raise ServingError(
            f"cannot listen on {address.host}:{address.port}: {words or error}",
            hint="choose another address or port",
        ) from error


class _Server(uvicorn.Server):
    """Uvicorn, which leaves the signals to us."""

    async def run_to_its_end(self, listener: socket.socket) -> None:
        with anyio.CancelScope(shield=True):
            await self._serve([listener])  # `serve` would take the signals


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


def _project(opening: EndpointSpec) -> Project:
    with open_registry() as registry:
        return registry.at(opening.directory).workspace.project


def _push(directory: str, said: Mapping[str, object]) -> None:
    with open_registry() as registry:
        registry.push_states(said, registry.at(directory))
