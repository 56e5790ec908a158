"""How people sign in to the pages of a gateway: with a token that they paste, or at the issuer."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from anyio import to_thread
from starlette.responses import HTMLResponse, RedirectResponse, Response

from remit.gateway.access.authenticator import Refused
from remit.gateway.access.issuer_sign_in import FailedSignIn, IssuerSignIn
from remit.gateway.transports.page_mount import ROOT
from remit.web import templating
from remit.web.gateway_pages.page_sessions import drop_sign_in
from remit.web.web_app import read_form

if TYPE_CHECKING:
    from starlette.requests import Request

    from remit.gateway.transports.page_mount import PageHost
    from remit.web.gateway_pages.page_sessions import PageSessions

SIGN_IN = f"{ROOT}/sign-in"
AT_ISSUER = f"{SIGN_IN}/issuer"  # begins a sign-in there
RETURN = f"{SIGN_IN}/return"  # where the issuer sends people back
PROJECTS = f"{ROOT}/p/"
_EXPIRED = (
    "This browser has begun no sign-in in the last 10 minutes, or does not accept cookies. Sign in again."
)
_TOO_LONG = "The token is too long for a browser's cookie."

_logger = logging.getLogger(__name__)


class SignInPages:
    """Turns a token into a session, and gets one from the issuer."""

    def __init__(self, host: PageHost, sessions: PageSessions) -> None:
        self._host = host
        self._sessions = sessions

    async def answer(self, request: Request) -> Response | None:
        """Answer a step of a sign-in; None if the request is none."""
        path, method = request.url.path, request.method
        if path == SIGN_IN and method == "POST":
            return await self._sign_in_by_token(request)
        issuer = await self._host.authenticator.issuer_sign_in() if path in (AT_ISSUER, RETURN) else None
        if issuer is None or method != "GET":
            return None
        return await (self._begin(request, issuer) if path == AT_ISSUER else self._finish(request, issuer))

    async def page(self, path: str, words: str, status: int) -> Response:
        """Show the form and the ways to sign in, with words about what happened."""
        issuer, at_issuer = await self._host.authenticator.issuer_sign_in(), None
        identity = self._host.authenticator.settings.identity  # current, after the line above
        if issuer is not None:
            at_issuer = templating.link(f"{issuer.client.public_url}{AT_ISSUER}", {"next": own_page(path)})
        values = {
            "site": ROOT,
            "words": words,
            "issuer": None if identity is None else identity.issuer,
            "at_issuer": at_issuer,
            "next": own_page(path),
        }
        return HTMLResponse(templating.render("sign_in.html", values), status_code=status)

    async def _sign_in_by_token(self, request: Request) -> Response:
        form = await read_form(request) or {}
        token, back = form.get("token", "").strip(), form.get("next", "")
        if not token:
            return await self.page(back, "Paste a token.", 400)
        is_secure = request.headers.get("origin", "").startswith("https://")
        header = await self._opened(token, is_secure=is_secure)
        if isinstance(header, FailedSignIn):
            return await self.page(back, header.words, header.status)
        response = RedirectResponse(own_page(back) or f"{ROOT}/", status_code=303)
        response.headers["Set-Cookie"] = header
        return response

    async def _begin(self, request: Request, issuer: IssuerSignIn) -> Response:
        """Send a person to the issuer."""
        back, client = own_page(request.query_params.get("next", "")), issuer.client
        if request.headers["host"].lower() != urlsplit(client.public_url).netloc:  # of the cookie
            words = f"People sign in at {issuer.identity.issuer} only from {client.public_url}{ROOT}. "
            words += "If you came from there, a proxy does not pass the `Host` header on."
            return await self.page(back, words, 400)
        pending, header = await to_thread.run_sync(
            lambda: self._sessions.begin_sign_in(back, is_secure=client.is_secure)
        )
        address = await issuer.address(pending, _return(issuer))
        if isinstance(address, FailedSignIn):
            return await self.page(back, address.words, address.status)
        response = RedirectResponse(address, status_code=303)
        if header is not None:
            response.headers["Set-Cookie"] = header
        return response

    async def _finish(self, request: Request, issuer: IssuerSignIn) -> Response:
        """Sign a person in who comes back from the issuer."""
        is_secure = issuer.client.is_secure
        pending = await to_thread.run_sync(
            lambda: self._sessions.pending_sign_in(request.headers, is_secure=is_secure)
        )
        if pending is None:
            return await self.page("", _EXPIRED, 400)
        found = await issuer.token(pending, dict(request.query_params), _return(issuer))
        if isinstance(found, str):
            found = await self._opened(found, is_secure=is_secure)
        if isinstance(found, FailedSignIn):
            response = await self.page(pending.back, found.words, found.status)
        else:
            # Not a redirect: the browser came from another site, and would not send the new cookie along.
            values = {"site": ROOT, "next": pending.back or f"{ROOT}/"}
            response = HTMLResponse(templating.render("signed_in.html", values))
            response.headers["Set-Cookie"] = found
        response.headers.append("Set-Cookie", drop_sign_in(is_secure=is_secure))
        return response

    async def _opened(self, token: str, *, is_secure: bool) -> str | FailedSignIn:
        """Exchange a token for a cookie; it is stored in the browser only, encrypted, and never logged."""
        principal = await self._host.authenticator.identify_person(token)
        if isinstance(principal, Refused):
            words = f"{principal.words[0].upper()}{principal.words[1:]}."
            return FailedSignIn(principal.status, words)
        limits = self._host.authenticator.settings.limits
        with self._host.limiters.of(principal.name, limits).call() as over:
            if over is not None:
                return FailedSignIn(429, f"Too many requests: {over.reason}.")
        session = self._sessions.open(token, is_secure=is_secure)
        header = await to_thread.run_sync(self._sessions.set_cookie, session)
        if header is None:
            return FailedSignIn(400, _TOO_LONG)
        _logger.info("`%s` signed in to the pages", principal.name)
        return header


def own_page(path: str) -> str:
    """Return a path to return to after the sign-in; empty if it is none of a project."""
    return path if path.startswith(PROJECTS) else ""


def _return(issuer: IssuerSignIn) -> str:
    return f"{issuer.client.public_url}{RETURN}"
