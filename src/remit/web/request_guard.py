"""Refuses requests that did not come from a page of ours, and adds the headers that confine a page.

The host comes first, because a foreign page can point its own name at this machine; then the origin; then the
session. Whatever changes something also needs the session's token, and the code: see `web_app.py`.
"""

from __future__ import annotations

from collections.abc import Collection

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remit.web.browser_sessions import BrowserSessions
from remit.web.page_model import SESSION, VIEW, PageView

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # without a referrer, browsers send no origin with a form
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
LINK_PATH = "/open/"  # before the token of a one-time link
COOKIE = "remit.cookie"  # its name, in the scope of a request that passed

_NAMES = ("127.0.0.1", "localhost")
_OWN_FETCHES = ("same-origin", "none")  # `none`: typed, or opened by another program
_NEW_LINK = "press Enter in the terminal that runs `remit web`, or run `remit web` again"


class RequestGuard:
    """Wraps an application, so it only gets requests of its own pages in a session."""

    def __init__(self, app: ASGIApp, sessions: BrowserSessions, view: PageView, port: int) -> None:
        self._app = app
        self._view = view
        self._sessions = sessions
        self._hosts = {f"{name}:{port}" for name in _NAMES}
        if port == 80:  # browsers leave it out
            self._hosts.update(_NAMES)
        self.cookie = f"remit_{port}"  # browsers keep the cookies of all ports together

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        refused = self._refusal(scope, Headers(scope=scope))
        await (refused or self._app)(scope, receive, confined(send))

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """Check a request, and put its session into its scope; None if it may pass."""
        host = headers.get("host", "")
        if host not in self._hosts or len(headers.getlist("host")) != 1:
            return refused(421, "The request is for another host.")
        foreign = foreign_request(scope, headers, (f"http://{host}",))
        if foreign is not None:
            return foreign
        if scope["path"].startswith(LINK_PATH) and scope["method"] == "GET":
            return self._exchange(scope["path"].removeprefix(LINK_PATH))
        if scope["path"] == "/favicon.ico":  # browsers ask for it on pages that name no icon
            return Response(status_code=204)
        session = self._sessions.find(cookie(headers, self.cookie))
        if session is None:
            return refused(401, f"You are not signed in. To get a link, {_NEW_LINK}.")
        scope[SESSION], scope[COOKIE], scope[VIEW] = session, self.cookie, self._view
        return None

    def _exchange(self, token: str) -> Response:
        id = self._sessions.open(token)
        if id is None:
            return refused(403, f"This link was used before, or is not valid. To get another, {_NEW_LINK}.")
        answer = RedirectResponse("/", status_code=303)
        answer.headers["Set-Cookie"] = f"{self.cookie}={id}; HttpOnly; Path=/; SameSite=Strict"
        return answer


def confined(send: Send) -> Send:
    """Add the headers that confine a page to each answer."""

    async def send_confined(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers.setdefault("Cache-Control", "no-store")
        await send(message)

    return send_confined


def foreign_request(scope: Scope, headers: Headers, origins: Collection[str]) -> Response | None:
    """Refuse a request of a page with another origin; None if it may pass."""
    origin = headers.get("origin")
    if origin is not None and origin not in origins:
        return refused(403, "Requests of other pages are refused.")
    is_reading = scope["method"] in ("GET", "HEAD")
    if not is_reading and origin is None:
        return refused(403, "A request that changes something must come from a page of Remit.")
    is_opened = is_reading and headers.get("sec-fetch-mode") == "navigate"
    if headers.get("sec-fetch-site", "none") not in _OWN_FETCHES and not is_opened:
        return refused(403, "Requests of other pages are refused.")
    return None


def cookie(headers: Headers, name: str) -> str | None:
    """Read a cookie of ours from a request; of several, browsers send the nearest first.

    Ours are never quoted. The parser of the standard library unquotes all that anyone sends, and in some
    versions takes seconds for that.
    """
    parts = (part.strip() for part in headers.get("cookie", "").split(";"))
    return next((part[len(name) + 1 :] for part in parts if part.startswith(f"{name}=")), None)


def refused(status: int, words: str) -> Response:
    """Refuse a request in plain text."""
    return PlainTextResponse(f"{words}\n", status_code=status)
