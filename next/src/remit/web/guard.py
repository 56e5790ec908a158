"""Refuses requests that no page of ours sent, and adds the headers that confine a page.

The host comes first, because a foreign page can point its own name at this machine; then the origin; then the
cookie. Whatever changes something also needs the session's token: see `app`.
"""

import secrets
from collections.abc import Collection
from hmac import compare_digest

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import Message, Scope, Send

from remit.cli import Here
from remit.web.page import Session

LINK_PATH = "/open/"  # before the token of a one-time link
MAX_SESSIONS = 32  # the oldest one ends for a new one
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # without a referrer, browsers send no usable origin with a form
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_HOSTS = ("127.0.0.1", "localhost")
_OWN_FETCHES = ("same-origin", "none")  # `none`: typed, or opened by another program
_NEW_LINK = "press Enter in the terminal that runs `remit web`, or run `remit web` again"


class LocalGuard:
    """Lets a browser of this machine in that opened a one-time link."""

    def __init__(self, here: Here, port: int, *, may_decide: bool) -> None:
        self._here = here
        self._may_decide = may_decide
        self._hosts = {f"{name}:{port}" for name in _HOSTS}
        if port == 80:  # browsers leave it out
            self._hosts.update(_HOSTS)
        self._cookie = f"remit_{port}"  # browsers keep the cookies of all ports together
        self._link: str | None = None
        self._sessions: dict[str, Session] = {}

    def new_link(self) -> str:
        """Return the path of a one-time link; it ends the one before that nobody opened."""
        self._link = secrets.token_urlsafe(32)
        return f"{LINK_PATH}{self._link}"

    def check(self, scope: Scope, headers: Headers) -> Session | Response:
        """Return the session of a request, or the answer that refuses it."""
        host = headers.get("host", "")
        if host not in self._hosts or len(headers.getlist("host")) != 1:
            return refused(421, "The request is for another host.")
        if (foreign := foreign_request(scope, headers, (f"http://{host}",))) is not None:
            return foreign
        if scope["path"].startswith(LINK_PATH) and scope["method"] == "GET":
            return self._exchange(scope["path"].removeprefix(LINK_PATH))
        if scope["path"] == "/favicon.ico":  # browsers ask for it on pages that name no icon
            return Response(status_code=204)
        id = cookie(headers, self._cookie) or ""
        sessions = (session for known, session in self._sessions.items() if is_same(known, id))
        return next(sessions, None) or refused(401, f"You are not signed in. To get a link, {_NEW_LINK}.")

    def sign_out(self, session: Session) -> None:
        """End a session."""
        self._sessions = {id: known for id, known in self._sessions.items() if known is not session}

    def _exchange(self, token: str) -> Response:
        if self._link is None or not is_same(self._link, token):
            return refused(403, f"This link was used before, or is not valid. To get another, {_NEW_LINK}.")
        self._link = None
        while len(self._sessions) >= MAX_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        id = secrets.token_urlsafe(32)
        self._sessions[id] = Session(here=self._here, may_decide=self._may_decide)
        answer = RedirectResponse("/", status_code=303)
        answer.headers["Set-Cookie"] = f"{self._cookie}={id}; HttpOnly; Path=/; SameSite=Strict"
        return answer


def confined(send: Send) -> Send:
    """Add the headers that confine a page to each answer."""

    async def send_confined(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(_HEADERS)
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
    """Read a cookie of ours, which is never quoted; of several, browsers send the nearest first.

    The parser of the standard library unquotes all that anyone sends, and takes seconds for some of it.
    """
    parts = (part.strip() for part in headers.get("cookie", "").split(";"))
    return next((part[len(name) + 1 :] for part in parts if part.startswith(f"{name}=")), None)


def is_same(left: str, right: str) -> bool:
    """Compare two secrets in constant time."""
    return compare_digest(left.encode(), right.encode("utf-8", "replace"))


def refused(status: int, reason: str) -> Response:
    """Refuse a request in plain text."""
    return PlainTextResponse(f"{reason}\n", status_code=status)
