"""Refuses requests that did not come from a page of ours, and adds the headers that confine a page.

The host comes first, because a foreign page can point its own name at this machine; then the origin; then the
session. Whatever changes something also needs the session's token, and the code: see `web_app.py`.
"""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remit.web.browser_sessions import BrowserSessions

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
SESSION = "remit.session"  # in the scope of a request that passed, and the name of its cookie
COOKIE = "remit.cookie"

_NAMES = ("127.0.0.1", "localhost")
_OWN_FETCHES = ("same-origin", "none")  # `none`: typed, or opened by another program
_NEW_LINK = "press Enter in the terminal that runs `remit web`, or run `remit web` again"


class RequestGuard:
    """Wraps an application, so it only gets requests of its own pages in a session."""

    def __init__(self, app: ASGIApp, sessions: BrowserSessions, port: int) -> None:
        self._app = app
        self._sessions = sessions
        self._hosts = {f"{name}:{port}" for name in _NAMES}
        if port == 80:  # browsers leave it out
            self._hosts.update(_NAMES)
        self.cookie = f"remit_{port}"  # browsers keep the cookies of all ports together

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return

        async def send_confined(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        refused = self._refusal(scope, Headers(scope=scope))
        await (refused or self._app)(scope, receive, send_confined)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """Check a request, and put its session into its scope; None if it may pass."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in self._hosts or len(headers.getlist("host")) != 1:
            return _refused(421, "The request is for another host.")
        if origin is not None and origin != f"http://{host}":
            return _refused(403, "Requests of other pages are refused.")
        is_reading = scope["method"] in ("GET", "HEAD")
        if not is_reading and origin is None:
            return _refused(403, "A request that changes something must come from a page of Remit.")
        is_opened = is_reading and headers.get("sec-fetch-mode") == "navigate"
        if headers.get("sec-fetch-site", "none") not in _OWN_FETCHES and not is_opened:
            return _refused(403, "Requests of other pages are refused.")
        if scope["path"].startswith(LINK_PATH) and scope["method"] == "GET":
            return self._exchange(scope["path"].removeprefix(LINK_PATH))
        if scope["path"] == "/favicon.ico":  # browsers ask for it on pages that name no icon
            return Response(status_code=204)
        session = self._sessions.find(self._id(headers))
        if session is None:
            return _refused(401, f"You are not signed in. To get a link, {_NEW_LINK}.")
        scope[SESSION], scope[COOKIE] = session, self.cookie
        return None

    def _exchange(self, token: str) -> Response:
        id = self._sessions.open(token)
        if id is None:
            return _refused(403, f"This link was used before, or is not valid. To get another, {_NEW_LINK}.")
        answer = RedirectResponse("/", status_code=303)
        answer.headers["Set-Cookie"] = f"{self.cookie}={id}; HttpOnly; Path=/; SameSite=Strict"
        return answer

    def _id(self, headers: Headers) -> str | None:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return None
        return None if found is None else found.value


def _refused(status: int, words: str) -> Response:
    return PlainTextResponse(f"{words}\n", status_code=status)
