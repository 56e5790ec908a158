"""The HTTP application: maps URLs to endpoints and checks access.

Requests cannot name a command, a file or a directory: they name a known project by its hash or short name. A
forbidden endpoint looks like one that does not exist.
"""

import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remit.configuration.config_model import IdentityProvider, Role
from remit.decision.projects import Project, called
from remit.errors import RemitError, ServingError, StoreError, TokenError
from remit.gateway.access.authenticator import Authenticator, Refused
from remit.gateway.access.call_limits import CallLimiters
from remit.gateway.access.open_requests import OpenRequest
from remit.gateway.access.principals import Principal
from remit.gateway.access.resource_metadata import challenge, is_metadata, metadata
from remit.gateway.ports import EndpointSpec
from remit.gateway.transports.endpoint_pool import EndpointPool, OpenEndpoint
from remit.gateway.transports.health_routes import HealthRoutes
from remit.gateway.transports.host_check import HostCheck
from remit.gateway.transports.http_refusal import refusal
from remit.gateway.transports.page_mount import is_page
from remit.presentation.refusals import STORE_DOWN

MAX_STATE_BYTES = 2**18

_logger = logging.getLogger(__name__)
_PATH = re.compile(
    r"(?:/p/(?P<project>[^/]+))?(?P<agents>(?:/a/[^/]+)*)(?:/rooms/(?P<room>[^/]+))?/(?P<what>mcp|state)"
)

Push = Callable[[str, Mapping[str, object]], None]


class GatewaySite(NamedTuple):
    """The configuration of the application."""

    default: EndpointSpec
    project: Project  # of the default endpoint
    hosts: HostCheck
    authenticator: Authenticator
    projects: Callable[[], Sequence[Project]]  # all known projects
    push: Push  # stores the states that an application reports for a directory
    health_routes: HealthRoutes


class Route(NamedTuple):
    """The target of a URL."""

    spec: EndpointSpec
    role: Role  # of the principal in its project
    is_state: bool


class GatewayApp:
    """The ASGI application."""

    def __init__(self, site: GatewaySite, endpoints: EndpointPool) -> None:
        self._site = site
        self._endpoints = endpoints
        self._authenticator = site.authenticator
        self.limiters = CallLimiters(anyio.current_time)
        self.pages: ASGIApp | None = None  # for people, who sign in there

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        if scope["type"] != "http":
            return
        try:
            response = await self._answer(scope, receive, send)
        except ClientDisconnect:
            return
        except TokenError as error:  # tokens cannot be checked, so refuse every request
            _logger.error("%s", error)
            response = refusal(503, "the gateway cannot check tokens")
        if response is not None:
            await response(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> Response | None:
        headers = Headers(scope=scope)
        if not self._site.hosts.is_ours(headers.get("host")):
            return refusal(421, "the request is for another host")
        if not self._site.hosts.allows(headers.get("origin"), headers["host"]):
            return refusal(403, "requests from this origin are not accepted")
        if scope["path"] == "/health":
            return self._site.health_routes.health()
        if scope["path"] == "/ready":
            return self._site.health_routes.ready()
        if self.pages is not None and is_page(scope["path"]):
            await self.pages(scope, receive, send)
            return None
        is_push = scope["path"].endswith("/state")
        principal = await self._authenticator.identify(headers.get("authorization"), is_needed=is_push)
        settings, origin = self._authenticator.settings, f"{scope['scheme']}://{headers['host']}"
        if settings.identity is not None and is_metadata(scope["path"]):
            return JSONResponse(metadata(settings.identity, origin))
        if isinstance(principal, Refused):
            return _unidentified(principal, settings.identity, origin)
        if scope["path"] == "/metrics" and (
            principal is None or principal.is_unbound
        ):  # it counts every project
            return self._site.health_routes.metrics()
        route = await self._route(scope["path"], principal)
        if route is None:
            return refusal(404, "there is no such endpoint")
        scope["remit.principal"], scope["remit.role"] = principal, route.role
        scope["remit.limiter"] = None
        if principal is not None:
            scope["remit.limiter"] = self.limiters.of(principal.name, settings.limits)
            scope["user"] = _user(principal)  # the SDK binds sessions to it
        if route.is_state:
            return await self._push(route.spec.directory, Request(scope, receive))
        return await self._serve(route.spec, scope, receive, send)

    async def _serve(self, spec: EndpointSpec, scope: Scope, receive: Receive, send: Send) -> Response | None:
        principal: Principal | None = scope["remit.principal"]
        opener, most = (
            None if principal is None else principal.name,
            self._authenticator.settings.limits.endpoints,
        )
        try:
            served = await self._endpoints.at(spec, opener, most=most)
        except ServingError as error:
            return refusal(503, str(error))
        except StoreError as error:  # its place and how to repair it are for people
            _logger.warning("an endpoint cannot be opened: %s", error)
            return refusal(503, STORE_DOWN)
        except RemitError as error:  # an unknown agent or room of a granted project
            return refusal(404, f"{error}; {error.hint}" if error.hint else str(error))
        if principal is None:
            await served.answer(scope, receive, send)
            return None
        progress = _Progress(send)
        with self._authenticator.open_requests.hold(principal) as request:
            await served.answer(scope, receive, progress)
        return await self._cut_off(request, served, progress, scope) if request.is_cut_off else None

    async def _cut_off(
        self, request: OpenRequest, served: OpenEndpoint, progress: "_Progress", scope: Scope
    ) -> Response | None:
        """End the answer to a request whose token is no longer accepted, and the session of a revoked one."""
        if progress.is_started and not progress.is_complete:
            await progress({"type": "http.response.body", "body": b"", "more_body": False})
        if request.is_revoked and "mcp-session-id" in Headers(scope=scope):
            await served.answer({**scope, "method": "DELETE"}, _nothing, _ignore)
        if progress.is_started:
            return None
        words = "the token was revoked" if request.is_revoked else "the access token has expired"
        settings, host = self._authenticator.settings, Headers(scope=scope)["host"]
        refused = Refused(401, words, is_invalid_token=True)
        return _unidentified(refused, settings.identity, f"{scope['scheme']}://{host}")

    async def _route(self, path: str, principal: Principal | None) -> Route | None:
        """Find the target of a path; return None if it does not exist or is not for this principal."""
        found = _PATH.fullmatch(path)
        if found is None or (found["what"] == "state" and (found["agents"] or found["room"])):
            return None
        project = await self.project(found["project"], principal)
        role = None if project is None else _role(principal, project)
        agent, *parents = found["agents"].split("/a/")[:0:-1] or [None]
        agent = agent if principal is None else principal.agent(agent)
        is_state = found["what"] == "state"
        # A parent's servers may be inherited, so a token must include all agents of the path.
        chain = (agent, *parents)
        if project is None or role is None or not _reaches(principal, chain, role, is_state=is_state):
            return None
        default = self._site.default
        directory = default.directory if project == self._site.project else project.path
        return Route(
            default._replace(
                directory=directory,
                agent=agent or default.agent,
                parents=tuple(filter(None, parents)) if agent else default.parents,
                room=found["room"] or default.room,
            ),
            role,
            is_state,
        )

    async def project(self, name: str | None, principal: Principal | None) -> Project | None:
        """Find a project by its name in URLs, or the usual one of a principal; it may have no role there."""
        usual = self._site.project
        default = usual if principal is None else principal.default_project(usual)
        if name is None and not default.is_of_team:
            return default
        own = () if principal is None else principal.projects or ()
        stored = await anyio.to_thread.run_sync(self._site.projects)
        found = default if name is None else called(name, {usual, *own, *stored})
        # A directory stays one, but the project of a team can be removed while tokens name it.
        return None if found is not None and found.is_of_team and found not in stored else found

    async def _push(self, directory: str, request: Request) -> Response:
        """Store the states that an application reports."""
        if request.method != "POST":
            return Response(status_code=405, headers={"Allow": "POST"})
        body = await _body(request, MAX_STATE_BYTES)
        if body is None:
            return refusal(413, f"the states are longer than {MAX_STATE_BYTES} bytes")
        try:
            pushed: Any = json.loads(body)
        except (ValueError, RecursionError):
            return refusal(400, "the body is not JSON")
        if not isinstance(pushed, dict):
            return refusal(400, "the body is not an object of states")
        states = cast("dict[str, object]", pushed)
        try:
            await anyio.to_thread.run_sync(self._site.push, directory, states)
        except StoreError as error:
            _logger.warning("states could not be stored: %s", error)
            return refusal(503, "the states cannot be stored now; push them again later")
        except RemitError as error:
            return refusal(400, f"{error}; {error.hint}" if error.hint else str(error))
        return JSONResponse({"pushed": list(states)})


class _Progress:
    """Sends an answer, and knows how much of it was sent."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.is_started = self.is_complete = False

    async def __call__(self, message: Message) -> None:
        self.is_started = True
        self.is_complete |= message["type"] == "http.response.body" and not message.get("more_body")
        await self._send(message)


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _ignore(message: Message) -> None:
    """Send nothing."""


async def _body(request: Request, most: int) -> bytes | None:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            return None
    return bytes(body)


def _role(principal: Principal | None, project: Project) -> Role | None:
    """Return the role in a project; without a principal, it is that of this machine's user."""
    return Role.ADMIN if principal is None else principal.role_in(project)


def _reaches(
    principal: Principal | None, agents: Sequence[str | None], role: Role, *, is_state: bool
) -> bool:
    """Check the agents of a URL; states unlock tools, so neither agents nor readers push them."""
    if principal is None:
        return True
    if is_state:
        return not principal.agents and role.includes(Role.USER)
    return all(map(principal.reaches_agent, agents))


def _user(principal: Principal) -> AuthenticatedUser:
    return AuthenticatedUser(AccessToken(token="", client_id=principal.name, scopes=[]))


def _unidentified(refused: Refused, identity: IdentityProvider | None, origin: str) -> Response:
    response = refusal(refused.status, refused.words)
    if refused.status == 401:
        response.headers["WWW-Authenticate"] = challenge(
            identity, origin, is_invalid=refused.is_invalid_token
        )
    if refused.status == 503:
        response.headers["Retry-After"] = "30"
    return response
