"""Supervises one server: assigns sessions to callers, starts them, and backs off after failures."""

from collections.abc import Callable, Sequence
from time import monotonic

import anyio
from anyio.abc import TaskGroup

from remit.errors import UpstreamError
from remit.protocol.call_statistics import CallStatistics
from remit.protocol.era import Era
from remit.protocol.json_rpc import Params
from remit.upstream.circuit_breaker import CircuitBreaker
from remit.upstream.connect import HandshakeRequest
from remit.upstream.eras.negotiation import UPSTREAM_ERAS
from remit.upstream.failures import WAIT
from remit.upstream.launch.launch_resources import LaunchResources
from remit.upstream.messaging.demultiplexer import OnNotification
from remit.upstream.messaging.forwarding import resubscribe
from remit.upstream.ownership import Ownership
from remit.upstream.ports import RELAYED, Health, RequestContext, UpstreamStatus, canonical_capabilities
from remit.upstream.principal_credentials.credential_model import Credential
from remit.upstream.upstream_model import Failure, Sharing, Upstream
from remit.upstream.upstream_session import SessionKey, UpstreamSession

MAX_SESSIONS = 32  # per server
SHARED = SessionKey()
# Lists are asked for with all that an endpoint relays, so what is known about a server does not depend on who
# used it last.
LISTING = SessionKey(capabilities=canonical_capabilities(RELAYED))


class Supervisor:
    """Starts the sessions of one server, and tracks its health."""

    def __init__(
        self,
        upstream: Upstream,
        resources: LaunchResources,
        tasks: TaskGroup,
        on_notification: OnNotification,
        idle: float,
        credential: Credential | None = None,
        before: "Supervisor | None" = None,
    ) -> None:
        self.upstream = upstream
        self.credential = credential  # of the one principal that all its sessions belong to
        self.statistics = CallStatistics()
        self._resources = resources
        self._tasks = tasks
        self._on_notification = on_notification
        self._idle = idle
        self._ownership = self._owned()
        self._before = before  # of the same server under an earlier entry, which has to end first
        self._is_closed = anyio.Event()
        self._sessions: dict[SessionKey, UpstreamSession] = {}
        self._starting = anyio.Lock(fast_acquire=True)
        self._freed = anyio.Event()
        self._breaker = CircuitBreaker()
        self._era: Era | None = None  # None: not known yet
        self._is_stateless: bool | None = None  # None: not known yet
        self._failure: Failure | None = None
        self._version: str | None = None
        self._failed_starts = 0
        self._was_lost = False  # the last session failed
        self._restarts = 0
        self._last_output: Sequence[str] = ()  # of the session that ended last
        self._lost_subscriptions: dict[SessionKey, set[str]] = {}

    @property
    def is_unused(self) -> bool:
        """Whether it has no session."""
        return not self._sessions

    def open_session(self, caller: RequestContext | None) -> UpstreamSession | None:
        """Return the open session for a caller, if there is one."""
        session = self._sessions.get(self._key(caller))
        if session is None and caller is None:
            session = next((each for each in self._sessions.values() if each.is_open), None)
        return session if session is not None and session.is_open else None

    def lists_everything(self, session: UpstreamSession) -> bool:
        """Return whether a session is offered all that any session of this server is, as far as is known."""
        is_single = self.upstream.sharing is Sharing.SINGLE
        return bool(self._is_stateless) or is_single or session.key.capabilities == LISTING.capabilities

    def has_own(self, session: str) -> bool:
        """Return whether a caller's session has a session of its own, whose server may remember something."""
        return any(key.session == session and each.is_open for key, each in self._sessions.items())

    async def take(self, caller: RequestContext | None) -> UpstreamSession:
        """Return or start the session for a caller, which must give it back after use.

        Raises:
            UpstreamError: the server cannot be started, or may not be retried yet.
        """
        await self.claim()
        session = self.open_session(caller)
        if session is not None:
            session.users += 1
            return session
        failures = self._failed_starts
        async with self._starting:
            if self._failed_starts > failures:  # another caller just tried
                raise self.error(self._failure)
            session = self.open_session(caller) or self._sessions.get(self._key(caller))
            if session is not None and session.is_ending:
                await session.is_over.wait()  # the next session may need its resources
                session = None
            session = session or self._adopt(caller) or await self._start(caller)
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

    async def claim(self) -> None:
        """Make sure that this process may run the server.

        Raises:
            OwnedElsewhereError: only one process may run it, and another one does.
        """
        if self._ownership is None:
            return
        if self._before is not None:
            await self._before._is_closed.wait()
            self._before = None
        await self._ownership.claim()

    def give_back(self, session: UpstreamSession) -> None:
        """Release a session."""
        session.users -= 1
        session.used_at = monotonic()
        self._freed.set()

    def succeeded(self) -> None:
        """Record that the server answered."""
        self._breaker = self._breaker.succeeded()
        self._failure = None

    def failed(self, failure: Failure) -> None:
        """Record a failure."""
        self._failure = failure
        self._breaker = self._breaker.failed(monotonic())

    def error(self, failure: Failure | None, *, wait: float = 0) -> UpstreamError:
        """Create the error for a failed request; a model waits only for a server that failed once."""
        found = failure or Failure(reason="was ended", hint="try again", next_step=WAIT)
        is_last = found is self._failure and found.next_step == WAIT
        count = self._breaker.failures if is_last else 0
        times = f", {count} times in a row" if count > 1 else ""
        later = f"; next attempt in {wait:.0f} s" if wait >= 1 else ""
        return UpstreamError(
            f"`{self.upstream.label}` {found.reason}{times}{later}",
            hint=found.hint,
            next_step=None if count > 1 else found.next_step,
            output=tuple(found.output),
            reason=found.reason,
        )

    def status(self) -> UpstreamStatus:
        """Report health and statistics."""
        p50, p95 = self.statistics.percentiles()
        return UpstreamStatus(
            key=self.upstream.key,
            label=self.upstream.label,
            health=self._health(),
            sessions=sum(session.is_open for session in self._sessions.values()),
            calls=self.statistics.calls,
            errors=self.statistics.errors,
            p50_ms=p50,
            p95_ms=p95,
            failure=self._failure,
            protocol_version=self._version,
            restarts=self._restarts,
            output=self._output(),
        )

    def _output(self) -> Sequence[str]:
        lines = [line for session in self._sessions.values() for line in session.output()]
        return lines or self._last_output

    async def end(self, is_meant: Callable[[SessionKey], bool] = lambda _: True) -> None:
        """End all or some sessions, and wait until they are over."""
        ended = [session for key, session in self._sessions.items() if is_meant(key)]
        for session in ended:
            session.dismiss()
        for session in ended:
            await session.is_over.wait()

    async def close(self) -> None:
        """End all sessions for good, and let others run the server."""
        await self.end()
        if self._ownership is not None:
            await self._ownership.release()
        self._is_closed.set()

    def _owned(self) -> Ownership | None:
        name, locks = self.upstream.lock, self._resources.locks
        return (
            None
            if name is None or locks is None
            else Ownership(locks(), name, self.upstream.label, self._lose)
        )

    def _lose(self) -> None:
        """End the server, which another process may start now."""
        for session in [*self._sessions.values()]:
            session.dismiss()

    def _key(self, caller: RequestContext | None) -> SessionKey:
        sharing = self.upstream.sharing
        if sharing is Sharing.SINGLE or (self._is_stateless and sharing is not Sharing.OWN):
            return SHARED
        if caller is None:
            return LISTING
        session = "" if sharing is Sharing.SHARED else caller.session
        is_bound = UPSTREAM_ERAS[self._era or Era.SESSION].binds_capabilities
        return SessionKey(session, canonical_capabilities(caller.capabilities) if is_bound else "{}")

    def _adopt(self, caller: RequestContext | None) -> UpstreamSession | None:
        """Reuse the session that has only listed so far, or end it if the caller cannot use it."""
        listing = self._sessions.get(LISTING)
        if caller is None or listing is None or not listing.is_open or self._is_stateless:
            return None
        key = self._key(caller)
        if key.capabilities != LISTING.capabilities:
            if listing.is_idle:
                listing.dismiss()
            return None
        del self._sessions[LISTING]
        self._sessions[key] = listing
        listing.key = key
        return listing

    async def _start(self, caller: RequestContext | None) -> UpstreamSession:
        wait = self._breaker.wait(monotonic())
        if wait > 0:
            raise self.error(self._failure or Failure(reason="failed", next_step=WAIT), wait=wait)
        await self._make_room()
        if self._ownership is not None:
            await self._ownership.settle()
        key = self._key(caller)
        is_single = self.upstream.sharing is Sharing.SINGLE
        capabilities: Params = {} if is_single else RELAYED if caller is None else caller.capabilities
        request = HandshakeRequest(self._resources.client, dict(capabilities), self._era)
        self._restarts += self._was_lost
        self._was_lost = False
        session = self._sessions[key] = UpstreamSession(self.upstream, key, request, self.credential)
        self._tasks.start_soon(self._run, session)
        return session

    async def _run(self, session: UpstreamSession) -> None:
        self._tasks.start_soon(self._learn, session)
        await session.run(self._resources, self._on_notification, self._idle)
        if self._sessions.get(session.key) is session:
            del self._sessions[session.key]
        self._freed.set()
        self._was_lost = session.error is not None
        self._last_output = session.output()
        if session.error is not None and session.subscriptions:
            self._lost_subscriptions[session.key] = session.subscriptions
        if session.error is not None and session.failure is not None:
            if session.connection is None or session.was_needed:
                self.failed(session.failure)
            if session.connection is None:
                self._failed_starts += 1
                self._era = None  # another server may have replaced it

    async def _learn(self, session: UpstreamSession) -> None:
        """Record what an open session reveals about the server."""
        await session.is_settled.wait()
        connection = session.connection
        if connection is None:
            return
        self._version = connection.handshake.version
        self._era = connection.handshake.era
        self._is_stateless = not connection.keeps_state
        key = self._key(None) if self._is_stateless and self.upstream.sharing is not Sharing.OWN else None
        if key is not None and key not in self._sessions and self._sessions.get(session.key) is session:
            del self._sessions[session.key]
            self._sessions[key] = session
            session.key = key
        if uris := self._lost_subscriptions.pop(session.key, None):
            connection.tasks.start_soon(resubscribe, session, uris, self._on_notification)

    async def _make_room(self) -> None:
        with anyio.move_on_after(self.upstream.deadline):
            while len(self._sessions) >= MAX_SESSIONS:
                idle = [session for session in self._sessions.values() if session.is_idle and session.is_open]
                if idle:
                    oldest = min(idle, key=lambda session: session.used_at)
                    oldest.dismiss()
                    await oldest.is_over.wait()
                    continue
                self._freed = anyio.Event()
                await self._freed.wait()
            return
        reason = f"has {MAX_SESSIONS} sessions, all of them in use"
        raise self.error(Failure(reason=reason, hint="try again later"))

    def _health(self) -> Health:
        sessions = self._sessions.values()
        if any(session.is_open for session in sessions):
            return Health.UP
        if any(not session.is_settled.is_set() for session in sessions):
            return Health.STARTING
        if self._breaker.is_open:
            return Health.BROKEN
        return Health.DOWN if self._failure is not None else Health.IDLE
