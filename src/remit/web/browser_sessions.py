"""The sessions of browsers: one-time links, cookies, and the code that lets a session decide.

Whoever can start `remit web` gets a link, including an agent with a shell. So a link only lets a browser
look. Deciding takes a code that only the terminal of the command shows.

A browser sends the cookie to every server on this address, whatever its port. So the cookie alone decides
nothing: the code earns a proof, which the browser keeps for pages of this port and sends with each decision.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from hmac import compare_digest

MAX_SESSIONS = 32  # the oldest one ends for a new one
MAX_TRIES = 5  # wrong codes of a session in `TRY_SECONDS`
TRY_SECONDS = 60.0

_LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"  # none that look alike
_CODE_LENGTH = 8


class CodeAnswer(StrEnum):
    """What became of a code that somebody entered."""

    RIGHT = "right"
    NEEDED = "needed"  # none was entered
    WRONG = "wrong"
    TOO_MANY = "too many"  # wrong ones; this one was not looked at
    NO_CODE = "no code"  # there is no terminal that shows one


@dataclass(slots=True, kw_only=True)
class BrowserSession:
    """One browser that used a one-time link."""

    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    proof: str | None = None  # that the code was entered in this session
    notices: list[str] = field(default_factory=list[str])  # shown on the next page
    wrong: deque[float] = field(default_factory=deque[float])  # times of wrong codes

    needs_code = True

    @property
    def may_decide(self) -> bool:
        """Whether the code was entered in this session."""
        return self.proof is not None

    def proves(self, given: str) -> bool:
        """Tell whether a form was sent by a page that knows the proof."""
        return self.proof is not None and is_same(self.proof, given)

    def take_notices(self) -> list[str]:
        """Return the notices, and forget them."""
        taken, self.notices = self.notices, []
        return taken


class BrowserSessions:
    """The sessions of one `remit web`, in memory only."""

    def __init__(self, *, code: str | None, clock: Callable[[], float]) -> None:
        self._code = code
        self._clock = clock
        self._links: set[str] = set()
        self._sessions: dict[str, BrowserSession] = {}

    @property
    def has_code(self) -> bool:
        """Whether a session can decide at all."""
        return self._code is not None

    def new_link(self) -> str:
        """Make the token of a one-time link; it replaces those that nobody used."""
        token = secrets.token_urlsafe(32)
        self._links = {token}
        return token

    def open(self, token: str) -> str | None:
        """Exchange the token of a link for the id of a new session; None if it is unknown or used."""
        found = next((each for each in self._links if is_same(each, token)), None)
        if found is None:
            return None
        self._links.discard(found)
        while len(self._sessions) >= MAX_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        id = secrets.token_urlsafe(32)
        self._sessions[id] = BrowserSession()
        return id

    def find(self, id: str | None) -> BrowserSession | None:
        """Find a session by its id."""
        if not id:
            return None
        return next((found for known, found in self._sessions.items() if is_same(known, id)), None)

    def close(self, session: BrowserSession) -> None:
        """End a session."""
        self._sessions = {id: each for id, each in self._sessions.items() if each is not session}

    def enter_code(self, session: BrowserSession, entered: str) -> CodeAnswer:
        """Let a session decide if the code is right; after some wrong ones, wait."""
        if self._code is None:
            return CodeAnswer.NO_CODE
        now = self._clock()
        while session.wrong and now - session.wrong[0] > TRY_SECONDS:
            session.wrong.popleft()
        if len(session.wrong) >= MAX_TRIES:
            return CodeAnswer.TOO_MANY
        if not is_same(plain_code(self._code), plain_code(entered)):
            session.wrong.append(now)
            return CodeAnswer.WRONG
        session.proof = session.proof or secrets.token_urlsafe(24)
        return CodeAnswer.RIGHT


def new_code() -> str:
    """Make a code to show in the terminal."""
    drawn = "".join(secrets.choice(_LETTERS) for _ in range(_CODE_LENGTH))
    return f"{drawn[:4]}-{drawn[4:]}"


def plain_code(text: str) -> str:
    """Return a code without what people change when they type it."""
    return "".join(char for char in text.upper() if char.isalnum())


def is_same(left: str, right: str) -> bool:
    """Compare two secrets in constant time."""
    return compare_digest(left.encode(), right.encode("utf-8", "replace"))
