"""Supervises one server: gives callers a session, starts sessions, and pauses after failures."""

import asyncio
import json
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

from remit.decision import Failure
from remit.errors import UpstreamError
from remit.protocol import RELAYED, RULES, Caller, Era, OnChange, Tasks, era_of
from remit.upstream.failures import WAIT
from remit.upstream.launch import Launcher
from remit.upstream.model import Health, Upstream, UpstreamStatus
from remit.upstream.session import FAULTS, Session, SessionKey, SessionStart

if TYPE_CHECKING:
    from remit.upstream.process import Watchdog

MAX_SESSIONS = 32  # per server
REST = 30.0  # seconds without another start, after too many failures
MAX_FAILURES = 5  # in a row
_TIMES = 512  # recent calls whose durations count


class Supervisor:
    """Starts the sessions of one server, and tracks its health."""

    def __init__(
        self,
        upstream: Upstream,
        launcher: Launcher,
        tasks: Tasks,
        publish: OnChange,
        idle: float,
        watchdog: "Callable[[], Watchdog]",
    ) -> None:
        self.upstream = upstream
        self._launcher = launcher
        self._tasks = tasks
        self.publish = publish  # tells all listeners of a change
        self._idle = idle
        self._watchdog = watchdog
        self._sessions: dict[SessionKey, Session] = {}
        self._starting = asyncio.Lock()
        self._failures = 0  # in a row
        self._resting_until = 0.0
        self._failed_starts = 0
        self._failure: Failure | None = None
        self._era = era_of(upstream.version)  # None: not known
        self._is_stateless: bool | None = None  # None: not known yet
        self._version: str | None = None
        self._was_lost = False  # the last session failed
        self._restarts = 0
        self._last_output: Sequence[str] = ()  # of the session that ended last
        self._lost_subscriptions: dict[SessionKey, set[str]] = {}
        self._calls = self._errors = 0
        self._seconds: deque[float] = deque(maxlen=_TIMES)

    def open_session(self, caller: Caller | None) -> Session | None:
        """Return the open session for a caller, if there is one."""
        session = self._sessions.get(self._key(caller))
        if session is None and caller is None:
            session = next((session for session in self._sessions.values() if session.is_open), None)
        return session if session is not None and session.is_open else None

    async def take(self, caller: Caller | None) -> Session:
        """Return or start the session for a caller, which must give it back after use.

        Raises:
            UpstreamError: the server cannot be started, or may not be retried yet.
        """
        session = self.open_session(caller)
        if session is not None:
            session.users += 1
            return session
        failures = self._failed_starts
        async with self._starting:
            if self._failed_starts > failures:  # another caller just tried
                raise self.error(self._failure)
            session = self.open_session(caller) or await self._session(caller)
            session.users += 1
            try:
                if self._is_stateless is None:  # only an open session shows whether others may share it
                    await session.is_settled.wait()
            except BaseException:
                self.give_back(session)
                raise
        try:
            await session.is_settled.wait()
            if session.is_open:
                return session
            await session.is_over.wait()
            raise self.error(session.failure)
        except BaseException:
            self.give_back(session)
            raise

    def give_back(self, session: Session) -> None:
        """Release a session."""
        session.users -= 1
        session.used_at = monotonic()

    def count(self, seconds: float, *, failed: bool) -> None:
        """Count a call for the statistics."""
        self._calls += 1
        self._errors += failed
        self._seconds.append(seconds)

    def succeeded(self) -> None:
        """Record that the server answered."""
        self._failures, self._failure = 0, None

    def failed(self, failure: Failure) -> None:
        """Record a failure."""
        self._failure = failure
        self._failures += 1
        self._resting_until = monotonic() + pause_after(self._failures)

    def error(self, failure: Failure | None, *, wait: float = 0) -> UpstreamError:
        """Create the error for a failed request; a model waits only for a server that failed once."""
        failure = failure or Failure(reason="was ended", hint="try again", next_step=WAIT)
        is_last = failure is self._failure and failure.next_step == WAIT
        count = self._failures if is_last else 0
        times = f", {count} times in a row" if count > 1 else ""
        later = f"; next attempt in {wait:.0f} s" if wait >= 1 else ""
        return UpstreamError(
            f"`{self.upstream.label}` {failure.reason}{times}{later}",
            hint=failure.hint,
            next_step=None if count > 1 else failure.next_step,
            output=tuple(failure.output),
            reason=failure.reason,
        )

    def status(self) -> UpstreamStatus:
        """Report health and statistics."""
        sessions = self._sessions.values()
        times = sorted(self._seconds)
        p50, p95 = (round(1000 * times[len(times) * part // 100], 2) if times else None for part in (50, 95))
        return UpstreamStatus(
            key=self.upstream.key,
            label=self.upstream.label,
            health=self._health(),
            sessions=sum(session.is_open for session in sessions),
            calls=self._calls,
            errors=self._errors,
            p50_ms=p50,
            p95_ms=p95,
            failure=self._failure,
            protocol_version=self._version,
            restarts=self._restarts,
            output=[line for session in sessions for line in session.output()] or self._last_output,
        )

    async def end(self, is_meant: Callable[[SessionKey], bool] = lambda _: True) -> None:
        """End all or some sessions, and wait until they are over."""
        ended = [session for key, session in self._sessions.items() if is_meant(key)]
        for session in ended:
            session.dismiss()
        for session in ended:
            await session.is_over.wait()

    def _key(self, caller: Caller | None) -> SessionKey:
        shared = self.upstream.shared
        if self._is_stateless and shared is not False:
            return SessionKey()
        if caller is None:
            return SessionKey(capabilities=_canonical(RELAYED))
        session = "" if shared else caller.session
        is_bound = RULES[self._era or Era.SESSION].binds_capabilities
        return SessionKey(session, _canonical(caller.capabilities) if is_bound else "{}")

    async def _session(self, caller: Caller | None) -> Session:
        """Return the session that is starting for a caller, or start one."""
        key = self._key(caller)
        starting = self._sessions.get(key)
        if starting is not None and not starting.is_ending:
            return starting
        if (wait := self._resting_until - monotonic()) > 0:
            raise self.error(self._failure or Failure(reason="failed", next_step=WAIT), wait=wait)
        self._end_unused(caller)
        for session in [*self._sessions.values()]:
            if session.is_ending:
                await session.is_over.wait()  # the next session may need its port, or its profile
        capabilities: Mapping[str, Any] = RELAYED if caller is None else caller.capabilities
        name = None if caller is None else caller.name
        start = SessionStart(self._launcher, name, capabilities, self._era, self._watchdog, self._idle)
        self._restarts += self._was_lost
        self._was_lost = False
        session = self._sessions[key] = Session(self.upstream, key, start)
        self._tasks.start(self._run(session))
        return session

    def _end_unused(self, caller: Caller | None) -> None:
        """End the session that was only listed, or make room for another.

        Raises:
            UpstreamError: all sessions are in use.
        """
        listing = self._sessions.get(self._key(None))
        if caller is not None and listing is not None and listing.is_idle:
            listing.dismiss()
        if len(self._sessions) < MAX_SESSIONS:
            return
        idle = [session for session in self._sessions.values() if session.is_idle and session.is_open]
        if not idle:
            reason = f"has {MAX_SESSIONS} sessions, all of them in use"
            raise self.error(Failure(reason=reason, hint="try again later", next_step=WAIT))
        min(idle, key=lambda session: session.used_at).dismiss()

    async def _run(self, session: Session) -> None:
        try:
            await session.run(self.publish, self._learn)
        finally:
            if self._sessions.get(session.key) is session:
                del self._sessions[session.key]
            self._last_output = session.output()
            self._was_lost = session.error is not None
            if session.error is not None and session.failure is not None:
                self._note_end(session, session.failure)

    def _note_end(self, session: Session, failure: Failure) -> None:
        if session.subscriptions:
            self._lost_subscriptions[session.key] = session.subscriptions
        if session.connection is None or session.was_needed:
            self.failed(failure)
        if session.connection is None:
            self._failed_starts += 1
            self._era = None  # another server may have replaced it

    def _learn(self, session: Session) -> None:
        """Record what a session that was just opened reveals about the server."""
        self._version = session.opened.handshake.version
        self._era = session.opened.handshake.era
        self._is_stateless = not session.opened.keeps_state
        key = SessionKey()
        if self._is_stateless and self.upstream.shared is not False and key not in self._sessions:
            del self._sessions[session.key]
            self._sessions[key] = session
            session.key = key
        if uris := self._lost_subscriptions.pop(session.key, None):
            self._tasks.start(self._subscribe_again(session, uris))

    async def _subscribe_again(self, session: Session, uris: Iterable[str]) -> None:
        """Restore the subscriptions of a lost session; each resource may have changed meanwhile."""
        for uri in uris:
            with suppress(*FAULTS):
                await session.opened.follow(uri)
                session.subscriptions.add(uri)
                self.publish("notifications/resources/updated", {"uri": uri})

    def _health(self) -> Health:
        sessions = self._sessions.values()
        if any(session.is_open for session in sessions):
            return Health.UP
        if any(not session.is_settled.is_set() for session in sessions):
            return Health.STARTING
        if self._failures >= MAX_FAILURES:
            return Health.BROKEN
        return Health.DOWN if self._failure is not None else Health.IDLE


def pause_after(failures: int) -> float:
    """Return the seconds to wait after so many failures in a row."""
    if failures >= MAX_FAILURES:
        return REST
    # Once may be an update that restarted it.
    return 0.0 if failures == 1 else 2.0 ** (failures - 2)


def _canonical(capabilities: Mapping[str, Any]) -> str:
    """Write capabilities so that equal ones are equal texts."""
    return json.dumps(dict(capabilities), sort_keys=True) if capabilities else "{}"
