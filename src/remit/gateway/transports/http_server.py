"""Serves many clients on HTTP, each endpoint at its own URL."""

import socket
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, closing, suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import anyio
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from remit.decision.projects import Project, Workspace
from remit.errors import ServingError, StoreError, StoreUnreachableError
from remit.gateway.access.access_settings import AccessSettings, unknown_projects, with_projects
from remit.gateway.access.authenticator import Authenticator, describe_callers
from remit.gateway.ports import EndpointSpec
from remit.gateway.transports.endpoint_pool import EndpointPool
from remit.gateway.transports.health_routes import GatewayState, HealthRoutes
from remit.gateway.transports.host_check import HostCheck, is_loopback
from remit.gateway.transports.http_routes import GatewayApp, GatewaySite
from remit.gateway.transports.lifecycle import GatewayOpeners, Print, describe_endpoint, run_until_stopped
from remit.gateway.transports.page_mount import ROOT, MountedPages, OpenPages, PageHost
from remit.gateway.transports.socket_server import GRACE, Address, bind_socket, serve_until_cancelled
from remit.gateway.transports.store_wait import wait_for_store

if TYPE_CHECKING:
    from remit.gateway.access.stored_tokens import Tokens
    from remit.gateway.transports.session_seal import SessionSeal

_EXPOSED_HEADERS = ("Mcp-Session-Id", "WWW-Authenticate")  # readable by web pages

DRAIN = 20  # seconds for calls in flight to finish
_MOST_NAMED = 10  # projects of teams, at the start
_PROJECTS_SECONDS = 2.0  # lifetime of the cached project list


class AllowedOrigins(NamedTuple):
    """The hosts and origins that a gateway accepts besides its own address."""

    hosts: Sequence[str] = ()  # other names of this machine
    origins: Sequence[str] = ()  # of web pages


def serve(
    spec: EndpointSpec,
    address: Address,
    allowed: AllowedOrigins,
    openers: GatewayOpeners,
    say: Print,
    open_pages: OpenPages | None = None,
) -> int:
    """Serve clients at an address, and pages for people if these can be opened, and return the exit code.

    Raises:
        RemitError: the address is taken, other machines can reach it and there is no token, or the endpoint
            does not exist.
    """
    hosts = HostCheck(address.host, allowed.hosts, allowed.origins)
    with bind_socket(address) as listener:
        while True:
            try:
                with closing(openers.tokens()) as tokens, openers.session_seal() as seal:
                    return _serve(
                        spec, address, allowed, openers, tokens, seal, hosts, listener, say, open_pages
                    )
            except StoreUnreachableError as error:
                say(f"waiting for the store: {error}")
                if code := run_until_stopped(partial(wait_for_store, openers, hosts, listener)):
                    return code


def _serve(
    spec: EndpointSpec,
    address: Address,
    allowed: AllowedOrigins,
    openers: GatewayOpeners,
    tokens: "Tokens",
    seal: "SessionSeal | None",
    hosts: HostCheck,
    listener: socket.socket,
    say: Print,
    open_pages: OpenPages | None,
) -> int:
    tokens.follow()
    projects = _Projects(openers)
    workspace, access = projects.at(spec.directory), projects.access()
    spec, project = spec._replace(directory=workspace.dir), workspace.project
    if not hosts.is_private and not tokens.grants() and access.identity is None:
        reached = next(name for name in (address.host, *allowed.hosts) if not is_loopback(name.lower()))
        raise ServingError(
            f"{reached} can be reached from other machines, but no token exists",
            hint="create one with `remit token add NAME`, or listen on 127.0.0.1 without --allow-host",
        )
    if open_pages is not None:
        _require_people(seal, knows_people=bool(tokens.grants()) or access.identity is not None)
    address = Address(address.host, listener.getsockname()[1])

    async def work(stopping: anyio.Event) -> None:
        async with (
            openers.upstream_pool() as upstreams,
            anyio.create_task_group() as tasks,
            AsyncExitStack() as opened,
        ):
            endpoints = EndpointPool(lambda wanted: openers.endpoint(wanted, upstreams), tasks, seal=seal)
            monitor = openers.status_monitor(
                lambda: [(each.spec, each.dispatcher) for each in endpoints], upstreams, address.url("/mcp")
            )
            state = GatewayState(
                openers.calls,
                openers.store_health,
                openers.spooled,
                lambda: [each.dispatcher for each in endpoints],
                upstreams.statuses,
            )
            health_routes = HealthRoutes(state)
            authenticator = Authenticator(
                tokens.grants, projects.access, tasks, is_private=hosts.is_private, newer=tokens.newer
            )
            site = GatewaySite(
                spec, project, hosts, authenticator, projects.known, projects.push_states, health_routes
            )
            gateway = GatewayApp(site, endpoints)
            app = allow_origins(gateway, allowed.origins)
            pages = None
            if open_pages is not None and seal is not None:
                host = PageHost(
                    spec.client,
                    authenticator,
                    tokens.grants,
                    seal,
                    gateway.limiters,
                    gateway.project,
                    projects.known,
                    lambda: openers.store_health().is_reachable,
                )
                pages = gateway.pages = await opened.enter_async_context(open_pages(host))
            try:
                # Opened now, so an error shows here and not to the first client.
                if await _unless(stopping, partial(endpoints.at, spec)):
                    tasks.start_soon(monitor.run)
                    say(f"serving {describe_endpoint(spec)} on {address.url('/mcp')}")
                    for line in describe_teams(projects.known(), address.url("/p/")):
                        say(line)
                    say(f"callers: {describe_callers(access, len(tokens.grants()))}")
                    for name in access.unknown:
                        say(f"warning: `access` names the project `{name}`, which is not known yet")
                    if pages is not None:
                        say(f"pages: {address.url(ROOT)}")
                    await _unless(
                        stopping, partial(serve_http, app, endpoints, listener, health_routes, pages)
                    )
            finally:
                tasks.cancel_scope.cancel()

    return run_until_stopped(partial(_drained, work))


def describe_teams(known: Sequence[Project], url: str) -> Iterator[str]:
    """Yield a line for each project of a team, with its URL; many are only counted."""
    of_teams = sorted(each for each in known if each.is_of_team)
    for project in of_teams[:_MOST_NAMED]:
        yield f"serving {project.path} on {url}{project.short_name}/mcp"
    if len(of_teams) > _MOST_NAMED:
        yield f"serving {len(of_teams) - _MOST_NAMED} more projects of teams: see `remit team list`"


def _require_people(seal: "SessionSeal | None", *, knows_people: bool) -> None:
    if seal is None:
        raise ServingError(
            "--web needs a shared store in PostgreSQL", hint="on one machine, use `remit web` instead"
        )
    if not knows_people:
        raise ServingError(
            "--web needs people who can sign in, but no token exists",
            hint="create one with `remit token add NAME --role ROLE`, or configure `[identity]`",
        )


async def _drained(work: Callable[[anyio.Event], Awaitable[None]]) -> None:
    """Run work that ends by itself after a signal, instead of being cancelled."""
    stopping = anyio.Event()

    async def wait() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            stopping.set()

    async with anyio.create_task_group() as waiting:
        waiting.start_soon(wait)
        with anyio.CancelScope(shield=True):
            await work(stopping)
        waiting.cancel_scope.cancel()


async def _unless(stopping: anyio.Event, work: Callable[[], Awaitable[object]]) -> bool:
    """Run work, cancelled once the gateway stops; tell whether it goes on."""
    async with anyio.create_task_group() as group:

        async def cancel() -> None:
            await stopping.wait()
            group.cancel_scope.cancel()

        group.start_soon(cancel)
        await work()
        group.cancel_scope.cancel()
    return not stopping.is_set()


async def serve_http(
    app: ASGIApp,
    endpoints: EndpointPool,
    listener: socket.socket,
    health_routes: HealthRoutes,
    pages: MountedPages | None = None,
) -> None:
    """Serve clients until cancelled; then end streams, so that clients reconnect, and let calls finish."""

    async def drain() -> None:
        if pages is not None:
            await pages.end()
        await endpoints.drain(DRAIN)

    await serve_until_cancelled(
        app, listener, before_stop=health_routes.take_leave, on_stop=drain, grace=DRAIN + GRACE
    )


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
    """The projects in the registry, the access to them, and the states that applications push for them."""

    def __init__(self, openers: GatewayOpeners) -> None:
        self._open_registry = openers.registry
        self._files = openers.machine_files()
        self._known: Sequence[Project] = ()
        self._read_at = -_PROJECTS_SECONDS

    def at(self, directory: str) -> Workspace:
        """Find the workspace of a directory, or of a team's project."""
        with self._open_registry() as registry:
            return registry.at(directory).workspace

    def known(self) -> Sequence[Project]:
        """List all projects, from a short-lived cache; without a usable store, those that were last known."""
        if time.monotonic() - self._read_at > _PROJECTS_SECONDS:
            with suppress(StoreError), self._open_registry() as registry:
                self._known = registry.projects.all()
            self._read_at = time.monotonic()
        return self._known

    def access(self) -> AccessSettings:
        """Read who may use the gateway.

        Not from the store: whoever can write to it must not be able to appoint anybody.
        """
        found, known = self._files.current(), self.known()
        return AccessSettings(
            identity=found.identity,
            memberships=with_projects(found.access, known),
            unknown=unknown_projects(found.access, known),
            limits=found.limits,
            is_complete=found.is_complete,
        )

    def push_states(self, directory: str, states: Mapping[str, object]) -> None:
        """Store states that an application reports."""
        with self._open_registry() as registry:
            registry.states.push(states, registry.at(directory))
