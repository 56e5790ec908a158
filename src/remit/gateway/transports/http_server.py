"""Serves many clients on HTTP, each endpoint at its own URL."""

import socket
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing, suppress
from typing import TYPE_CHECKING, NamedTuple

import anyio
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from remit.decision.projects import Project
from remit.errors import ServingError, StoreUnavailableError
from remit.gateway.ports import EndpointSpec
from remit.gateway.transports.endpoint_pool import EndpointPool
from remit.gateway.transports.host_check import HostCheck, is_loopback
from remit.gateway.transports.http_routes import GatewayApp, GatewaySite
from remit.gateway.transports.lifecycle import GatewayOpeners, Print, describe_endpoint, run_until_stopped
from remit.gateway.transports.socket_server import Address, bind_socket, serve_until_cancelled

if TYPE_CHECKING:
    from remit.gateway.transports.token_grants import Tokens

_EXPOSED_HEADERS = ("Mcp-Session-Id", "WWW-Authenticate")  # readable by web pages

_PROJECTS_SECONDS = 2.0  # lifetime of the cached project list


class AllowedOrigins(NamedTuple):
    """The hosts and origins that a gateway accepts besides its own address."""

    hosts: Sequence[str] = ()  # other names of this machine
    origins: Sequence[str] = ()  # of web pages


def serve(
    spec: EndpointSpec, address: Address, allowed: AllowedOrigins, openers: GatewayOpeners, say: Print
) -> int:
    """Serve clients at an address and return the exit code.

    Raises:
        RemitError: the address is taken, other machines can reach it and there is no token, or the endpoint
            does not exist.
    """
    with closing(openers.tokens()) as tokens:
        return _serve(spec, address, allowed, openers, tokens, say)


def _serve(
    spec: EndpointSpec,
    address: Address,
    allowed: AllowedOrigins,
    openers: GatewayOpeners,
    tokens: "Tokens",
    say: Print,
) -> int:
    hosts = HostCheck(address.host, allowed.hosts, allowed.origins)
    tokens.follow()
    if not hosts.is_private and not tokens.grants():
        reached = next(name for name in (address.host, *allowed.hosts) if not is_loopback(name.lower()))
        raise ServingError(
            f"{reached} can be reached from other machines, but no token exists",
            hint="create one with `remit token add NAME`, or listen on 127.0.0.1 without --allow-host",
        )
    projects = _Projects(openers)
    site = GatewaySite(
        spec, projects.at(spec.directory), hosts, tokens.grants, projects.known, projects.push_states
    )
    listener = bind_socket(address)
    address = Address(address.host, listener.getsockname()[1])

    async def work() -> None:
        async with openers.upstream_pool() as upstreams, anyio.create_task_group() as tasks:
            endpoints = EndpointPool(lambda wanted: openers.endpoint(wanted, upstreams), tasks)
            monitor = openers.status_monitor(
                lambda: [(each.spec, each.dispatcher) for each in endpoints], upstreams, address.url("/mcp")
            )
            await endpoints.at(spec)  # open it now, so an error shows here and not to the first client
            tasks.start_soon(monitor.run)
            say(f"serving {describe_endpoint(spec)} on {address.url('/mcp')}")
            try:
                await serve_http(
                    allow_origins(GatewayApp(site, endpoints), allowed.origins), endpoints, listener
                )
            finally:
                tasks.cancel_scope.cancel()

    with listener:
        return run_until_stopped(work)


async def serve_http(app: ASGIApp, endpoints: EndpointPool, listener: socket.socket) -> None:
    """Serve clients until cancelled, then give requests a moment to finish."""
    await serve_until_cancelled(app, listener, on_stop=endpoints.end)


def allow_origins(app: ASGIApp, origins: Collection[str]) -> ASGIApp:
    """Add CORS headers for some origins, which the application must accept itself.

    Pages may send any header, because each tool chooses which arguments are repeated in headers. Browsers
    send no cookies.
    """
    if not origins:
        return app
    return CORSMiddleware(
        app,
        allow_origins=origins,
        allow_methods=("GET", "POST", "DELETE"),
        allow_headers=("*",),
        allow_private_network=True,
        expose_headers=_EXPOSED_HEADERS,
    )


class _Projects:
    """The projects in the registry, and the states that applications push for them."""

    def __init__(self, openers: GatewayOpeners) -> None:
        self._open_registry = openers.registry
        self._known: Sequence[Project] = ()
        self._read_at = -_PROJECTS_SECONDS

    def at(self, directory: str) -> Project:
        """Find the project of a directory."""
        with self._open_registry() as registry:
            return registry.at(directory).workspace.project

    def known(self) -> Sequence[Project]:
        """List all projects, from a short-lived cache; without the store, those that were last known."""
        if time.monotonic() - self._read_at > _PROJECTS_SECONDS:
            with suppress(StoreUnavailableError), self._open_registry() as registry:
                self._known = registry.projects.all()
            self._read_at = time.monotonic()
        return self._known

    def push_states(self, directory: str, states: Mapping[str, object]) -> None:
        """Store states that an application reports."""
        with self._open_registry() as registry:
            registry.states.push(states, registry.at(directory))
