"""The sessions of people in their browsers: sealed in a cookie that every gateway of a store can open.

A cookie holds the token of its sign-in, encrypted, and each request checks the token again. So a session ends
with its token, a role that was taken away counts at once, and the keys in the store alone make no session. It
also ends an hour after its last page, and at the latest after half a day.
"""

from __future__ import annotations

import json
import secrets
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from remit.errors import StoreError, StoreUnreachableError
from remit.gateway.access.issuer_sign_in import PendingSignIn, begin_sign_in
from remit.web.request_guard import cookie

if TYPE_CHECKING:
    from starlette.datastructures import Headers

    from remit.gateway.transports.session_seal import SessionSeal

IDLE = 3_600_000  # milliseconds without a page after which a session ends
LONGEST = 12 * 3_600_000  # milliseconds from the sign-in
RENEWAL = 600_000  # milliseconds after which the next page renews a cookie
SECURE = "__Host-remit_web"  # browsers accept it from this very host over TLS only
PLAIN = "remit_web"
NOTICES = "remit_notice"
SIGN_IN_LIFETIME = 600_000  # milliseconds in which a person signs in at an issuer
SECURE_SIGN_IN, PLAIN_SIGN_IN = "__Host-remit_sign_in", "remit_sign_in"

_HOLDER = "web session"
_SIGN_IN_HOLDER = "web sign-in"
_MOST_NOTICES = 1_000  # characters
_MOST_COOKIE = 3_900  # browsers keep 4,096, with name and attributes


@dataclass(slots=True, kw_only=True)
class SignedInSession:
    """A person's session in one browser."""

    token: str = field(repr=False)
    since: int  # the sign-in, in Unix milliseconds
    at: int  # its last renewal
    is_secure: bool  # the browser came over TLS
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    notices: list[str] = field(default_factory=list[str])
    needs_code: bool = False
    may_decide: bool = True

    def proves(self, given: str) -> bool:  # noqa: ARG002
        """Decisions take a role, which is checked for each request."""
        return True

    def take_notices(self) -> list[str]:
        """Return the notices, and forget them."""
        taken, self.notices = self.notices, []
        return taken


class PageSessions:
    """Seals sessions into cookies and opens them; its methods may wait for the store."""

    def __init__(
        self, seal: SessionSeal, now: Callable[[], int], is_store_reachable: Callable[[], bool]
    ) -> None:
        self._seal = seal
        self._now = now
        self._is_store_reachable = is_store_reachable

    def open(self, token: str, *, is_secure: bool) -> SignedInSession:
        """Begin a session."""
        now = self._now()
        return SignedInSession(token=token, since=now, at=now, is_secure=is_secure)

    def find(self, headers: Headers) -> SignedInSession | None:
        """Open the cookie of a request; None without one that is still good.

        Raises:
            StoreError: its key is not known, or nobody knows whether it has ended, and the store cannot be
                used.
        """
        secure = cookie(headers, SECURE)  # other hosts of the domain can set the plain one beside it
        found = self._read(cookie(headers, PLAIN) if secure is None else secure, _HOLDER)
        session = None if found is None else _session(found)
        if session is None or session.is_secure is (secure is None):
            return None
        return session if self._is_open(session) else None

    def notices(self, headers: Headers, session: SignedInSession) -> list[str]:
        """Read the notices of the last action, which another gateway may have answered."""
        with suppress(StoreError):
            return self._read(cookie(headers, NOTICES), session.csrf) or []
        return []

    def is_due(self, session: SignedInSession) -> bool:
        """Tell whether a page renews the cookie."""
        return self._now() - session.at > RENEWAL

    def set_cookie(self, session: SignedInSession) -> str | None:
        """Return the header that sets or renews the cookie of a session; None if browsers would not keep it.

        Raises:
            StoreError: the store cannot be used.
        """
        content = [session.token, session.since, self._now(), session.is_secure, session.csrf]
        text = self._seal.encrypt(zlib.compress(json.dumps(content).encode()), _HOLDER)
        return None if text is None or len(text) > _MOST_COOKIE else _cookie(_name(session), text, session)

    def set_notices(self, session: SignedInSession) -> str | None:
        """Return the header that takes notices to the next page.

        Raises:
            StoreError: the store cannot be used.
        """
        notices = [each[:_MOST_NOTICES] for each in session.notices[-1:]]
        text = self._seal.encrypt(zlib.compress(json.dumps(notices).encode()), session.csrf)
        return None if text is None else _cookie(NOTICES, text, session)

    def begin_sign_in(self, back: str, *, is_secure: bool) -> tuple[PendingSignIn, str | None]:
        """Begin a sign-in at an issuer; return it with the header that gives it to the browser.

        Raises:
            StoreError: the store cannot be used.
        """
        made = begin_sign_in(back, self._now())
        text = self._seal.encrypt(json.dumps(made).encode(), _SIGN_IN_HOLDER)
        age = SIGN_IN_LIFETIME // 1000
        return made, None if text is None else f"{_sign_in_cookie(text, is_secure=is_secure)}; Max-Age={age}"

    def pending_sign_in(self, headers: Headers, *, is_secure: bool) -> PendingSignIn | None:
        """Return the sign-in that the browser of a request has begun, at any gateway; None if it is too old.

        Raises:
            StoreError: its key is not known, and the store cannot be used.
        """
        text = cookie(headers, SECURE_SIGN_IN if is_secure else PLAIN_SIGN_IN)
        found = None if text is None else self._seal.decrypt(text[:_MOST_COOKIE], _SIGN_IN_HOLDER)
        pending = None if found is None else PendingSignIn(*json.loads(found))
        return pending if pending is not None and self._now() < pending.at + SIGN_IN_LIFETIME else None

    def end(self, session: SignedInSession) -> None:
        """End a session at every gateway.

        Raises:
            StoreError: the store cannot be used.
        """
        self._seal.bind(_id(session))

    def _is_open(self, session: SignedInSession) -> bool:
        if self._now() > min(session.at + IDLE, session.since + LONGEST):
            return False
        try:
            return not self._seal.is_fixed(_id(session))
        except StoreUnreachableError:  # without the store, no page changes anything
            if self._is_store_reachable():
                raise
            return True

    def _read(self, text: str | None, holder: str) -> Any:
        found = None if text is None or len(text) > _MOST_COOKIE else self._seal.decrypt(text, holder)
        return None if found is None else json.loads(zlib.decompress(found))


def drop_cookies(session: SignedInSession) -> list[str]:
    """Return the headers that remove the cookies of a session."""
    gone = "; Max-Age=0"
    return [_cookie(name, "", session) + gone for name in (_name(session), NOTICES)]


def drop_notices(session: SignedInSession) -> str:
    """Return the header that removes notices that were shown."""
    return _cookie(NOTICES, "", session) + "; Max-Age=0"


def drop_sign_in(*, is_secure: bool) -> str:
    """Return the header that removes a sign-in that is over."""
    return f"{_sign_in_cookie('', is_secure=is_secure)}; Max-Age=0"


def _session(found: Any) -> SignedInSession:
    token, since, at, is_secure, csrf = found
    return SignedInSession(token=token, since=since, at=at, is_secure=is_secure, csrf=csrf)


def _id(session: SignedInSession) -> str:
    return f"{_HOLDER} {session.csrf}"


def _name(session: SignedInSession) -> str:
    return SECURE if session.is_secure else PLAIN


def _cookie(name: str, text: str, session: SignedInSession) -> str:
    return f"{name}={text}; HttpOnly; SameSite=Strict; {_place(is_secure=session.is_secure)}"


def _sign_in_cookie(text: str, *, is_secure: bool) -> str:
    name = SECURE_SIGN_IN if is_secure else PLAIN_SIGN_IN
    # Lax: the browser comes back from the pages of the issuer.
    return f"{name}={text}; HttpOnly; SameSite=Lax; {_place(is_secure=is_secure)}"


def _place(*, is_secure: bool) -> str:
    return "Path=/; Secure" if is_secure else "Path=/web"
