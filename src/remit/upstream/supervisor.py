"""One server under supervision: who gets which of its sessions, when it is started, and when left alone."""

import json
from collections.abc import Callable

import anyio
from anyio.abc import TaskGroup

from remit.errors import UpstreamError
from remit.upstream.call_counts import Tally
from remit.upstream.circuit_breaker import CircuitBreaker
from remit.upstream.connect import HandshakeRequest
from remit.upstream.launch.resources import LaunchResources
from remit.upstream.messaging.demultiplexer import OnNotification
from remit.upstream.messaging.forwarding import resubscribe
from remit.upstream.ports import Health, Params, RequestContext, UpstreamStatus
from remit.upstream.upstream_model import Failure, Sharing, Upstream
from remit.upstream.upstream_session import SessionKey, UpstreamSession

MAX_SESSIONS = 32  # of one server
EVERYONE = SessionKey()


class Supervisor:
    """Starts the sessions of one server, and knows how it does."""

    def __init__(
        self, upstream: Upstream, means: LaunchResources, tasks: TaskGroup, heard: OnNotification, idle: float
    ) -> None:
        self.upstream = upstream
        self.tally = Tally()
        self._means = means
        self._tasks = tasks
        self._heard = heard
        self._idle = idle
        self._sessions: dict[SessionKey, UpstreamSession] = {}
        self._starting = anyio.Lock(fast_acquire=True)
        self._freed = anyio.Event()
        self._breaker = CircuitBreaker()
        self._is_modern: bool | None = None
        self._is_stateless: bool | None = None  # None: it was never seen
        self._failure: Failure | None = None
        self._version: str | None = None
        self._failed_starts = 0
        self._unwatched: dict[SessionKey, set[str]] = {}  # resources, since their session was lost

    def open_session(self, caller: RequestContext | None) -> UpstreamSession | None:
        """Find a session that can be asked at once."""
        session = self._sessions.get(self._name(caller))
        if session is None and caller is None:
            session = next((each for each in self._sessions.values() if each.is_open), None)
        return session if session is not None and session.is_open else None

    async def take(self, caller: RequestContext | None) -> UpstreamSession:
        """Find the session for a caller, or start one; it is used until it is given back.

        Raises:
            UpstreamError: it cannot be started, or is not tried now.
        """
        session = self.open_session(caller)
        if session is not None:
            session.users += 1
            return session
        failures = self._failed_starts
        async with self._starting:
            if self._failed_starts > failures:  # what others came to, who were first
                raise self.error(self._failure)
            session = self.open_session(caller) or self._sessions.get(self._name(caller))
            if session is not None and session.is_ending:
                await session.is_over.wait()  # what it holds may be needed by the next
                session = None
            session = session or self._adopted(caller) or await self._start(caller)
            session.users += 1
            try:
                if self._is_stateless is None:  # whether others may share it is not known before
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

    def give_back(self, session: UpstreamSession) -> None:
        """Let others have a session, if they wait for one."""
        session.users -= 1
        session.used_at = anyio.current_time()
        self._freed.set()

    def answered(self) -> None:
        """Take note that the server is well."""
        self._breaker = self._breaker.answered()
        self._failure = None

    def failed(self, failure: Failure) -> None:
        """Take note that it is not."""
        self._failure = failure
        self._breaker = self._breaker.failed(anyio.current_time())

    def error(self, failure: Failure | None) -> UpstreamError:
        """Say why the server could not be asked."""
        found = failure or Failure(reason="was ended", hint="try again")
        return UpstreamError(
            f"`{self.upstream.label}` {found.reason}", hint=found.hint, output=tuple(found.output)
        )

    def condition(self) -> UpstreamStatus:
        """Say how the server is."""
        p50, p95 = self.tally.milliseconds()
        return UpstreamStatus(
            key=self.upstream.key,
            label=self.upstream.label,
            health=self._health(),
            sessions=sum(session.is_open for session in self._sessions.values()),
            calls=self.tally.calls,
            errors=self.tally.errors,
            p50_ms=p50,
            p95_ms=p95,
            failure=self._failure,
            protocol_version=self._version,
        )

    async def end(self, is_meant: Callable[[SessionKey], bool] = lambda _: True) -> None:
        """End its sessions, or those of a name, and wait until they are over."""
        ended = [session for name, session in self._sessions.items() if is_meant(name)]
        for session in ended:
            session.dismiss()
        for session in ended:
            await session.is_over.wait()

    def _name(self, caller: RequestContext | None) -> SessionKey:
        sharing = self.upstream.sharing
        if caller is None or (self._is_stateless and sharing is not Sharing.OWN):
            return EVERYONE
        session = "" if sharing is Sharing.SHARED else caller.session
        return SessionKey(session, "{}" if self._is_modern else _canonical(caller.capabilities))

    def _adopted(self, caller: RequestContext | None) -> UpstreamSession | None:
        """Hand over the session that only lists were asked of, or end it: its place is needed."""
        nobodys = self._sessions.get(EVERYONE)
        if caller is None or nobodys is None or not nobodys.is_open or self._is_stateless:
            return None
        name = self._name(caller)
        if name.capabilities != EVERYONE.capabilities:
            if nobodys.is_idle:
                nobodys.dismiss()
            return None
        del self._sessions[EVERYONE]
        self._sessions[name] = nobodys
        nobodys.name = name
        return nobodys

    async def _start(self, caller: RequestContext | None) -> UpstreamSession:
        wait = self._breaker.wait(anyio.current_time())
        if wait > 0:
            reason = "failed" if self._failure is None else self._failure.reason
            hint = None if self._failure is None else self._failure.hint
            output = () if self._failure is None else self._failure.output
            text = f"{reason}; it is tried again in {wait:.0f} s" if wait >= 1 else reason
            raise self.error(Failure(reason=text, hint=hint, output=output))
        await self._make_room()
        name = self._name(caller)
        capabilities: Params = {} if caller is None else caller.capabilities
        greeting = HandshakeRequest(self._means.client, dict(capabilities), self._is_modern)
        session = self._sessions[name] = UpstreamSession(self.upstream, name, greeting)
        self._tasks.start_soon(self._run, session)
        return session

    async def _run(self, session: UpstreamSession) -> None:
        self._tasks.start_soon(self._greeted, session)
        await session.run(self._means, self._heard, self._idle)
        if self._sessions.get(session.name) is session:
            del self._sessions[session.name]
        self._freed.set()
        if session.error is not None and session.subscriptions:
            self._unwatched[session.name] = session.subscriptions
        if session.error is not None and session.failure is not None:
            if session.connection is None or session.was_missed:
                self.failed(session.failure)
            if session.connection is None:
                self._failed_starts += 1
                self._is_modern = None  # it may have been replaced by another

    async def _greeted(self, session: UpstreamSession) -> None:
        """Take note of what is known of the server once it is open."""
        await session.is_settled.wait()
        connection = session.connection
        if connection is None:
            return
        self._version = connection.agreement.version
        self._is_modern = connection.agreement.is_modern
        self._is_stateless = not connection.keeps_state
        name = self._name(None) if self._is_stateless and self.upstream.sharing is not Sharing.OWN else None
        if name is not None and name not in self._sessions and self._sessions.get(session.name) is session:
            del self._sessions[session.name]
            self._sessions[name] = session
            session.name = name
        if uris := self._unwatched.pop(session.name, None):
            connection.tasks.start_soon(resubscribe, session, uris, self._heard)

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
        if self._breaker.is_broken:
            return Health.BROKEN
        return Health.DOWN if self._failure is not None else Health.IDLE


def _canonical(capabilities: Params) -> str:
    return json.dumps(capabilities, sort_keys=True) if capabilities else "{}"
