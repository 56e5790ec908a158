"""The pages of a gateway, below `/web`: people sign in with a token, and see what their role may see.

The gateway has checked the host. Here follow the origin, the session, the project and the role; then the
pages are those of `remit web`.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from anyio import to_thread
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from remit.cli.options import WorkspaceOptions
from remit.configuration.config_model import Role
from remit.errors import NoSuchDirectoryError, StoreError, UnknownProjectError
from remit.gateway.access.authenticator import Refused
from remit.gateway.transports.page_mount import ROOT
from remit.web import templating
from remit.web.gateway_pages.page_sessions import PageSessions, SignedInSession, drop_cookies, drop_notices
from remit.web.gateway_pages.sign_in_pages import PROJECTS, SIGN_IN, SignInPages, own_page
from remit.web.page_model import SESSION, VIEW, PageView, Viewer
from remit.web.request_guard import confined, foreign_request, refused
from remit.web.site_pages import PAGES, actions_for, pages_for
from remit.web.web_app import PageAnswers, WebSite, own_form, static_file, web_app

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from remit.decision.projects import Project
    from remit.gateway.access.principals import Principal
    from remit.gateway.transports.page_mount import PageHost
    from remit.web.page_model import PageSources

SIGN_OUT = f"{ROOT}/sign-out"
MAX_STREAMS = 16  # for one principal
_MOST_COUNTED = 50  # projects whose pending approvals the list of projects counts: a query each
_STATIC = f"{ROOT}/static/"
_UNKNOWN = "There is no such page."
_STORE_DOWN = "The database cannot be reached. Try again in a minute."

_logger = logging.getLogger(__name__)


class _Caller(NamedTuple):
    """Who sends a request, and in which session."""

    session: SignedInSession
    principal: Principal
    had_notices: bool


class GatewayPages:
    """The ASGI application."""

    def __init__(self, host: PageHost, site: WebSite, sessions: PageSessions) -> None:
        self._host = host
        self._site = site
        self._sessions = sessions
        self._sign_in = SignInPages(host, sessions)
        self._app = web_app(site)
        self._answers = PageAnswers(site)
        self._streams: Counter[str] = Counter()  # by principal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        headers, send = Headers(scope=scope), confined(send)
        own = (f"http://{headers['host']}", f"https://{headers['host']}")
        response = foreign_request(scope, headers, own)
        if response is None:
            try:
                response = await self._answer(scope, receive, send, headers)
            except StoreError as error:
                _logger.warning("a page cannot be shown: %s", error)
                response = refused(503, _STORE_DOWN)
        if response is not None:
            await response(scope, receive, send)

    async def end(self) -> None:
        """End all streams."""
        await self._site.feed.end()

    async def _answer(self, scope: Scope, receive: Receive, send: Send, headers: Headers) -> Response | None:
        path, request = scope["path"], Request(scope, receive)
        if path.startswith(_STATIC):
            return static_file(path.removeprefix(_STATIC)) or refused(404, _UNKNOWN)
        if path.startswith(SIGN_IN) and (response := await self._sign_in.answer(request)) is not None:
            return response
        caller = await self._caller(headers)
        if caller is None:
            return await self._unknown_caller(request)
        send = await self._with_cookies(caller, request, send)
        view = await self._view(path, caller)
        is_outdated = not self._host.is_store_reachable()
        scope[SESSION], scope[VIEW] = (
            caller.session,
            (view or _lobby(caller))._replace(is_outdated=is_outdated),
        )
        if path == SIGN_IN:
            await RedirectResponse(f"{ROOT}/", 303)(scope, receive, send)
        elif view is None and path not in (ROOT, f"{ROOT}/", SIGN_OUT, f"{ROOT}/events"):
            await self._refused(request, 404, _UNKNOWN)(scope, receive, send)
        elif path == SIGN_OUT:
            await (await self._sign_out(request, caller))(scope, receive, send)
        elif path == f"{view.root if view else ROOT}/events":
            await self._send_events(caller, scope, receive, send)
        elif view is None:
            await (await self._projects(request, caller.principal))(scope, receive, send)
        elif path == view.root:
            await RedirectResponse(f"{view.root}/here", 303)(scope, receive, send)
        else:
            await self._serve(request, view, caller, receive, send)
        return None

    async def _serve(
        self, request: Request, view: PageView, caller: _Caller, receive: Receive, send: Send
    ) -> None:
        scope = {**request.scope, "root_path": view.root}
        if not _counts(request, view):
            await self._app(scope, receive, send)
            return
        limits = self._host.authenticator.settings.limits
        with self._host.limiters.of(caller.principal.name, limits).call() as over:
            if over is None:
                await self._app(scope, receive, send)
            else:
                words = f"Too many requests: {over.reason}."
                await self._refused(request, 429, words)(scope, receive, send)

    async def _caller(self, headers: Headers) -> _Caller | None:
        session = await to_thread.run_sync(self._sessions.find, headers)
        if session is None:
            return None
        principal = await self._host.authenticator.identify_person(session.token)
        if isinstance(principal, Refused):
            return None
        session.notices = self._sessions.notices(headers, session)
        return _Caller(session, principal, bool(session.notices))

    async def _view(self, path: str, caller: _Caller) -> PageView | None:
        """Find the project of a path; None if it does not exist for the person."""
        if not path.startswith(PROJECTS):
            return None
        name, principal = path.removeprefix(PROJECTS).partition("/")[0], caller.principal
        project = await self._host.find_project(name, principal) if name else None
        role = None if project is None else principal.role_in(project)
        if project is None or role is None:
            return None
        siblings = await to_thread.run_sync(self._siblings, project)
        viewer = Viewer(
            principal.name,
            role,
            partial(_reaches, principal),
            is_in_team=project.is_of_team,
            manages_team=bool(siblings) and all(principal.role_in(each) is Role.ADMIN for each in siblings),
        )
        options = WorkspaceOptions(project.path, self._host.client)
        return PageView(
            options, pages_for(viewer), actions_for(viewer), viewer, root=f"{PROJECTS}{name}", site=ROOT
        )

    def _siblings(self, project: Project) -> Sequence[Project]:
        """List all projects of the team of a project, with itself."""
        if not project.is_of_team:
            return ()
        known = self._host.projects()
        return [each for each in known if each.is_of_team and _team(each) == _team(project)]

    async def _projects(self, request: Request, principal: Principal) -> Response:
        known = await to_thread.run_sync(self._host.projects)
        roles = [(each, principal.role_in(each)) for each in sorted(known)]
        own = [(each, role) for each, role in roles if role is not None]
        answered = [each for each, role in own if role.includes(Role.APPROVER)][:_MOST_COUNTED]
        pending: Mapping[str, int] = {}
        if answered and self._host.is_store_reachable():
            pending = await self._site.sources.run(_pending, answered)
        values = {**self._answers.frame(request, "Projects", ""), "projects": own, "pending": pending}
        return HTMLResponse(templating.render("projects.html", values))

    async def _unknown_caller(self, request: Request) -> Response:
        """Lead a person who opens a page to the sign-in, and refuse everything else."""
        path = request.url.path
        if path == SIGN_IN:
            return await self._sign_in.page(request.query_params.get("next", ""), "", 200)
        if request.method == "GET" and request.headers.get("sec-fetch-mode") == "navigate":
            return RedirectResponse(templating.link(SIGN_IN, {"next": own_page(path)}), status_code=303)
        return await self._sign_in.page(path, "", 401)

    async def _sign_out(self, request: Request, caller: _Caller) -> Response:
        if request.method != "POST" or await own_form(request) is None:
            return self._refused(request, 404, _UNKNOWN)
        caller.session.notices = []
        words = "You are signed out."
        try:
            await to_thread.run_sync(self._sessions.end, caller.session)
        except StoreError as error:
            _logger.warning("a session cannot be ended at other gateways: %s", error)
            words = "You are signed out in this browser. The database cannot be reached, so a copy of the "
            words += "cookie would work for up to 12 hours after the sign-in."
        response = await self._sign_in.page("", words, 200)
        for header in drop_cookies(caller.session):
            response.headers.append("Set-Cookie", header)
        return response

    async def _send_events(self, caller: _Caller, scope: Scope, receive: Receive, send: Send) -> None:
        name = caller.principal.name
        if self._streams[name] >= MAX_STREAMS:
            await refused(429, "Too many pages are open.")(scope, receive, send)
            return

        async def events() -> AsyncIterator[bytes]:
            async for event in self._site.feed.events():
                yield event
                found = await self._host.authenticator.identify_person(caller.session.token)
                if isinstance(found, Refused):
                    return

        self._streams[name] += 1  # before anything is sent, when others get their turn
        try:
            await StreamingResponse(events(), media_type="text/event-stream")(scope, receive, send)
        finally:
            self._streams[name] -= 1

    async def _with_cookies(self, caller: _Caller, request: Request, send: Send) -> Send:
        """Renew the cookie with a page that a person opens, and take notices to the next page."""
        session, renewed = caller.session, None
        if request.method == "GET" and "hx-request" not in request.headers and self._sessions.is_due(session):
            with suppress(StoreError):
                renewed = await to_thread.run_sync(self._sessions.set_cookie, session)

        async def send_with_cookies(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if renewed is not None:
                    headers.append("Set-Cookie", renewed)
                if session.notices and not caller.had_notices:
                    header = await to_thread.run_sync(self._sessions.set_notices, session)
                    headers.append("Set-Cookie", header or drop_notices(session))
                elif caller.had_notices and not session.notices:
                    headers.append("Set-Cookie", drop_notices(session))
            await send(message)

        return send_with_cookies

    def _refused(self, request: Request, status: int, words: str) -> Response:
        return self._answers.refused(request, status, words)


def _pending(sources: PageSources, projects: Sequence[Project]) -> dict[str, int]:
    """Count the pending approvals of projects, by hash; of none whose directory is on another machine."""
    counts: dict[str, int] = {}
    for project in projects:
        with suppress(NoSuchDirectoryError, UnknownProjectError):
            context = sources.registry.at(project.path)
            counts[project.hash] = len(sources.registry.approvals.waiting(context))
    return counts


def _lobby(caller: _Caller) -> PageView:
    """Return the view of someone who is in no project."""
    viewer = Viewer(caller.principal.name, Role.READER)
    return PageView(WorkspaceOptions(""), (), (), viewer, root=ROOT, site=ROOT)


def _counts(request: Request, view: PageView) -> bool:
    """Tell whether a request counts as a call: as for MCP clients, lists do not, but searches do."""
    if request.method not in ("GET", "HEAD"):
        return True
    path = request.scope["path"].removeprefix(view.root).partition(".")[0]
    is_search = any(page.path == path and page.counts_as_call for page in PAGES)
    return is_search and bool(request.query_params.get("q"))


def _reaches(principal: Principal, project: Project) -> bool:
    return principal.role_in(project) is not None


def _team(project: Project) -> str:
    return project.path.partition("/")[0]
