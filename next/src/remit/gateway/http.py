"""The door of many clients: streamable HTTP, each endpoint at its own URL.

Requests cannot name a command, a file or a directory: they name a known project by its hash or short name. A
forbidden endpoint looks like one that does not exist.
"""

import asyncio
import json
import logging
import os
import re
import secrets
import socket
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Generator, Iterable, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from hashlib import sha256
from ipaddress import ip_address
from typing import Any, NamedTuple, Protocol, cast

import anyio
import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from remit.catalog import Registry
from remit.decision import Project, project_called
from remit.errors import RemitError, ServingError, StoreError
from remit.files import write_private
from remit.gateway.endpoint import Endpoint, EndpointSpec, Identity
from remit.gateway.gateway import Gateway, run_until_stopped
from remit.gateway.refusals import STORE_DOWN
from remit.gateway.sdk_server import IDENTITY, SdkServer
from remit.gateway.status import Status
from remit.protocol import ErrorCode

LOOPBACK = ("127.0.0.1", "localhost", "::1")
MAX_SESSIONS = 1_000  # per endpoint
IDLE = 1_800.0  # seconds after which an unused session ends
MAX_BODY = 4 * 2**20
MAX_STATES = 2**18  # bytes of pushed states
MAX_CONNECTIONS = 1_000
HEADER_SECONDS = 10.0  # for the headers of a request
BODY_SECONDS = 30.0  # for each part of a body
GRACE = 2  # seconds for requests to finish
DRAIN = 20  # seconds for calls in flight to finish
_PROJECTS_SECONDS = 2.0  # lifetime of the cached project list
_PATH = re.compile(
    r"(?:/p/(?P<project>[^/]+))?(?P<agents>(?:/a/[^/]+)*)(?:/rooms/(?P<room>[^/]+))?/(?P<what>mcp|state)"
)
_ORIGIN = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<host>\[[0-9a-f:.]+\]|[^/?#@:\s]+)(?::(?P<port>\d+))?"
)
_HOST = re.compile(r"(?:\[(?P<address>[^\[\]@]+)\]|(?P<name>[^\[\]@:/?#\s]+))(?::[0-9]*)?")
_PORTS = {"http": "80", "https": "443"}
_ALL_GRANTS = ("call", "push", "approve")
_log = logging.getLogger("remit.gateway")

Say = Callable[[str], None]  # to the user, on stderr


class Address(NamedTuple):
    """The address that a server listens on."""

    host: str
    port: int

    def url(self, path: str) -> str:
        """Return the URL of a path."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}{path}"


class Statistics(NamedTuple):
    """What a gateway does now."""

    endpoints: int
    sessions: int
    calls_in_flight: int


class HttpGateway(Protocol):
    """What an authenticator may ask of the gateway that it wraps."""

    not_found: Response  # forbidden and absent look alike

    def project(self, path: str) -> Project | None: ...  # that a URL names
    def projects(self) -> Sequence[Project]: ...
    def registry(self) -> AbstractContextManager[Registry]: ...
    def statistics(self) -> Statistics: ...


class Authenticator(Protocol):
    """Says who calls: it wraps the application, and sets the identity in the scope of each request."""

    is_open: bool  # nobody has to prove anything: for loopback only

    def wrap(self, app: ASGIApp, gateway: HttpGateway) -> AbstractAsyncContextManager[ASGIApp]: ...


class HostCheck:
    """The names and origins that a gateway accepts, to stop DNS rebinding and foreign web pages.

    A web page can make a browser send requests to this machine under the page's own host name, but never
    under another name or an address. Pages of other programs on this machine come from another port.
    """

    def __init__(self, address: str, others: Iterable[str] = (), origins: Iterable[str] = ()) -> None:
        named = [name.lower() for name in others]
        # Any other name implies a proxy or a tunnel, which other machines can reach.
        self.is_private = is_loopback(address) and all(map(is_loopback, named))
        self._takes_addresses = not is_loopback(address)
        self._names = frozenset({*LOOPBACK, address.lower(), *named})
        self._origins = frozenset(origins)

    def objection(self, headers: Headers) -> Response | None:
        """Refuse a request for another host, from a foreign page, or of an ambiguous form."""
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or len(origins) > 1:
            return refuse(400, "send one `Host` and at most one `Origin`")
        if "content-length" in headers and "transfer-encoding" in headers:
            return refuse(400, "send `Content-Length` or `Transfer-Encoding`, not both")
        name = _hostname(hosts[0])
        if name is None or not (name in self._names or (self._takes_addresses and _is_address(name))):
            return refuse(421, "the request is for another host")
        if origins and not self._allows(origins[0], hosts[0]):
            return refuse(403, "requests from this origin are not accepted")
        return None

    def _allows(self, origin: str, host: str) -> bool:
        """Check an origin: an allowed one, or one of our own pages; a TLS proxy may change the scheme."""
        if origin in self._origins:
            return True
        found = _ORIGIN.fullmatch(origin)
        if found is None or found["scheme"] not in _PORTS:
            return False
        usual = _PORTS[found["scheme"]]
        is_here = _hostname(found["host"]) in {*self._names, _hostname(host)}
        port = host.rpartition("]")[2].partition(":")[2] or usual
        return is_here and (found["port"] or usual) == port


class Tokens:
    """The plain authenticator: a file with the hashes of tokens, and what each permits.

    On this machine alone, calls need no token; approvals and states always do, because any program on the
    machine could be the client.
    """

    def __init__(self, path: str, *, is_private: bool) -> None:
        self.is_open = is_private
        self._path = path

    def make(self) -> dict[str, str]:
        """Make tokens unless there are some, and return them by what they permit: this is the only time."""
        if os.path.exists(self._path):
            return {}
        tokens = {"call": secrets.token_urlsafe(32), ", ".join(_ALL_GRANTS): secrets.token_urlsafe(32)}
        grants = {_digest(token): permitted.split(", ") for permitted, token in tokens.items()}
        write_private(self._path, json.dumps(grants, indent=1))
        return tokens

    @asynccontextmanager
    async def wrap(self, app: ASGIApp, gateway: HttpGateway) -> AsyncGenerator[ASGIApp]:
        """Check the token of each request."""
        del gateway

        async def checked(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                identity = self._identify(Headers(scope=scope).get("authorization"))
                if identity is None:
                    response = refuse(401, "a valid token is needed")
                    response.headers["WWW-Authenticate"] = "Bearer"
                    await response(scope, receive, send)
                    return
                scope[IDENTITY] = identity
            await app(scope, receive, send)

        yield checked

    def _identify(self, authorization: str | None) -> Identity | None:
        if authorization is None:
            return Identity(may_approve=False) if self.is_open else None
        scheme, _, token = authorization.partition(" ")
        grants = self._grants().get(_digest(token.strip())) if scheme.lower() == "bearer" else None
        if grants is None:
            return None
        call, push, approve = (grant in grants for grant in _ALL_GRANTS)
        return Identity(may_call=call, may_push=push, may_approve=approve)

    def _grants(self) -> dict[str, list[str]]:
        try:
            with open(self._path, encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError) as error:
            _log.error("tokens cannot be checked: %s", error)
            return {}


class _Site:
    """One endpoint behind the SDK's session manager, which has to be entered and left in one task."""

    def __init__(self, endpoint: Endpoint, gateway: Gateway) -> None:
        self.endpoint = endpoint
        self._is_ready = asyncio.Event()
        self._sessions = StreamableHTTPSessionManager(
            SdkServer(endpoint, gateway.process.tasks),
            session_idle_timeout=IDLE,
            max_sessions=MAX_SESSIONS,
            max_request_body_size=MAX_BODY,
        )
        gateway.process.tasks.start(self._hold())

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._is_ready.wait()
        await self._sessions.handle_request(scope, receive, send)

    async def _hold(self) -> None:
        async with self._sessions.run():
            self._is_ready.set()
            await self.endpoint.is_closed.wait()


class GatewayApp:
    """The ASGI application."""

    def __init__(self, gateway: Gateway, spec: EndpointSpec, usual: Project) -> None:
        self.not_found = refuse(404, "there is no such endpoint")
        self._gateway = gateway
        self._spec = spec
        self._usual = usual
        self._sites: dict[EndpointSpec, _Site] = {}
        self._known: Sequence[Project] = ()
        self._read_at = -_PROJECTS_SECONDS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        if scope["type"] != "http":
            return
        try:
            response = await self._answer(scope, receive, send)
        except (ClientDisconnect, TimeoutError):
            return
        if response is not None:
            await response(scope, receive, send)

    def project(self, path: str) -> Project | None:
        """Return the project that a URL names."""
        found = _PATH.fullmatch(path)
        if found is None:
            return None
        name = found["project"]
        return self._usual if name is None else project_called(name, {self._usual, *self.projects()})

    def projects(self) -> Sequence[Project]:
        """List all known projects, from a short-lived cache; without the store, those last known."""
        if time.monotonic() - self._read_at > _PROJECTS_SECONDS:
            try:
                with self.registry() as registry:
                    self._known = registry.store.catalog.projects()
            except StoreError as error:
                _log.warning("projects cannot be read: %s", error)
            self._read_at = time.monotonic()
        return self._known

    def registry(self) -> AbstractContextManager[Registry]:
        """Open a registry."""
        return self._gateway.parts.open_registry()

    def statistics(self) -> Statistics:
        """Say what the gateway does now."""
        endpoints = self._gateway.endpoints.values()
        return Statistics(
            len(endpoints),
            sum(endpoint.sessions for endpoint in endpoints),
            sum(endpoint.calls_in_flight for endpoint in endpoints),
        )

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> Response | None:
        found = _PATH.fullmatch(scope["path"])
        project = None if found is None else await asyncio.to_thread(self.project, scope["path"])
        if found is None or project is None:
            return self.not_found
        directory = self._spec.directory if project == self._usual else project.path
        if found["what"] == "state":
            if found["agents"] or found["room"]:
                return self.not_found
            return await self._push(directory, Request(scope, receive))
        agent, *parents = found["agents"].split("/a/")[:0:-1] or [None]
        spec = self._spec._replace(
            directory=directory,
            agent=agent or self._spec.agent,
            parents=tuple(filter(None, parents)) if agent else self._spec.parents,
            room=found["room"] or self._spec.room,
        )
        try:
            endpoint = await self._gateway.endpoint(spec)
        except ServingError as error:
            return refuse(503, str(error))
        except StoreError as error:  # its place and how to repair it are for people
            _log.warning("an endpoint cannot be opened: %s", error)
            return refuse(503, STORE_DOWN)
        except RemitError as error:  # an unknown agent or room
            return refuse(404, f"{error}; {error.hint}" if error.hint else str(error))
        site = self._sites.get(spec)
        if site is None or site.endpoint is not endpoint:
            site = self._sites[spec] = _Site(endpoint, self._gateway)
        await site.answer(scope, receive, send)
        return None

    async def _push(self, directory: str, request: Request) -> Response:
        """Store the states that an application reports, if its token permits that."""
        identity: Identity = request.scope[IDENTITY]
        if request.method != "POST":
            return Response(status_code=405, headers={"Allow": "POST"})
        if not identity.may_push:
            return refuse(403, "a token with the grant `push` is needed")
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_STATES:
                return refuse(413, f"the states are longer than {MAX_STATES} bytes")
        try:
            states: Any = json.loads(body)
        except (ValueError, RecursionError):
            return refuse(400, "the body is not JSON")
        if not isinstance(states, dict):
            return refuse(400, "the body is not an object of states")
        pushed = cast("dict[str, object]", states)
        try:
            await self._gateway.process.worker.run(
                lambda registry: registry.states.push(pushed, registry.at(directory, self._spec.client))
            )
        except StoreError as error:
            _log.warning("states could not be stored: %s", error)
            return refuse(503, "the states cannot be stored now; push them again later")
        except RemitError as error:
            return refuse(400, f"{error}; {error.hint}" if error.hint else str(error))
        for endpoint in self._gateway.endpoints.values():
            endpoint.lists.look()
        return JSONResponse({"pushed": list(pushed)})


def serve_http(
    gateway: Gateway,
    spec: EndpointSpec,
    address: Address,
    *,
    hosts: Sequence[str] = (),
    origins: Sequence[str] = (),
    authenticator: Authenticator | None = None,
    say: Say = lambda _: None,
) -> int:
    """Serve clients at an address until a signal, and return the exit code.

    Raises:
        RemitError: the address is taken, or the endpoint does not exist.
    """
    check = HostCheck(address.host, hosts, origins)
    with bind(address) as listener:
        address = Address(address.host, listener.getsockname()[1])
        path = os.path.join(gateway.parts.data_directory, "http-tokens.json")
        tokens = Tokens(path, is_private=check.is_private)
        for permitted, token in tokens.make().items() if authenticator is None else ():
            say(f"token to {permitted.replace('call', 'call tools').replace('push', 'push states')}: {token}")

        async def serve() -> None:
            async with gateway:
                endpoint = await gateway.endpoint(spec)  # an error shows here, not to the first client
                usual = endpoint.lists.last.served.catalog.context.workspace.project
                app = GatewayApp(gateway, spec, usual)
                async with (authenticator or tokens).wrap(app, app) as wrapped:
                    gateway.process.tasks.start(Status(gateway, address.url("/mcp")).run())
                    say(f"serving {spec.title} on {address.url('/mcp')}")
                    checked = guarded(_allow_origins(wrapped, origins), check)

                    async def drain() -> None:
                        await gateway.drain(DRAIN)

                    await serve_app(checked, listener, on_stop=drain, grace=DRAIN + GRACE)

        return run_until_stopped(serve)


def bind(address: Address) -> socket.socket:
    """Listen on an address.

    Raises:
        ServingError: it is not available.
    """
    try:
        found = socket.getaddrinfo(*address, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, _, _, place = found[0]
        # Send answers at once instead of collecting them for 40 ms. The event loop sets TCP_NODELAY only on
        # sockets with an explicit protocol, and connections inherit it from here.
        listener = socket.socket(family, kind, socket.IPPROTO_TCP)
        try:
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if sys.platform != "win32":
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(place)
            listener.listen(MAX_CONNECTIONS)
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


async def serve_app(
    app: ASGIApp,
    listener: socket.socket,
    *,
    on_stop: Callable[[], Awaitable[None]] | None = None,
    grace: int = GRACE,
) -> None:
    """Serve an application until cancelled; then accept no more, and give requests some seconds to finish."""
    config = uvicorn.Config(
        app,
        http=_Protocol,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=75,  # longer than clients keep an unused connection
        timeout_graceful_shutdown=grace,
    )
    server = _Server(config)
    serving = asyncio.ensure_future(server.serve([listener]))
    try:
        await asyncio.shield(serving)
    finally:
        with anyio.CancelScope(shield=True):
            if on_stop is not None:
                await on_stop()  # streams end before the server waits for requests
            server.should_exit = True
            await asyncio.wait([serving])


def refuse(status: int, words: str) -> Response:
    """Return the response that refuses a request, with a JSON-RPC error."""
    code = ErrorCode.INVALID_REQUEST if status < 500 else ErrorCode.INTERNAL_ERROR
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": int(code), "message": words}}
    headers = {"Connection": "close"} if status == 400 else None
    return JSONResponse(body, status_code=status, headers=headers)


def is_loopback(name: str) -> bool:
    """Return whether a name or an address is loopback."""
    is_named = name == "localhost" or name.endswith(".localhost")
    return is_named or (_is_address(name) and ip_address(name).is_loopback)


class _Protocol(H11Protocol):
    """Closes connections that do not send the headers of a request in time."""

    _clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._clock = self.loop.call_later(HEADER_SECONDS, self._close_idle)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._clock is not None:
            self._clock.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._clock is None and not self._is_answering:  # the headers of another request begin
            self._clock = self.loop.call_later(HEADER_SECONDS, self._close_idle)
        super().data_received(data)
        if self._clock is not None and self._is_answering:
            self._clock.cancel()
            self._clock = None

    @property
    def _is_answering(self) -> bool:
        cycle: Any = self.cycle  # None before the first request
        return cycle is not None and not cycle.response_complete

    def _close_idle(self) -> None:
        self._clock = None
        if not self._is_answering:
            self.transport.close()


class _Server(uvicorn.Server):
    """Uvicorn without its signal handlers: `run_until_stopped` handles signals."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave signals alone."""
        yield


def guarded(app: ASGIApp, check: HostCheck) -> ASGIApp:
    """Check the form and the origin of requests first, and bound the time that their bodies take."""

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if (objection := check.objection(Headers(scope=scope))) is not None:
            await objection(scope, receive, send)
            return
        if scope["path"] == "/health":
            await JSONResponse({"status": "ok"})(scope, receive, send)
            return
        is_complete = False

        async def receive_in_time() -> Message:
            nonlocal is_complete
            if is_complete:  # what comes is the end of the connection, whenever it ends
                return await receive()
            async with asyncio.timeout(BODY_SECONDS):
                message = await receive()
            is_complete = not message.get("more_body", False)
            return message

        await app(scope, receive_in_time, send)

    return checked


def _allow_origins(app: ASGIApp, origins: Collection[str]) -> ASGIApp:
    """Add CORS headers for some origins; pages may send any header, and browsers send no cookies."""
    if not origins:
        return app
    return CORSMiddleware(
        app,
        allow_origins=origins,
        allow_methods=("GET", "POST", "DELETE"),
        allow_headers=("*",),
        allow_private_network=True,
        expose_headers=("Mcp-Session-Id", "WWW-Authenticate"),
    )


def _digest(token: str) -> str:
    return sha256(token.encode("utf-8", "replace")).hexdigest()


def _hostname(host: str) -> str | None:
    """Return the name in a `Host` header; None if it is invalid."""
    found = _HOST.fullmatch(host)
    return None if found is None else (found["address"] or found["name"]).lower()


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
