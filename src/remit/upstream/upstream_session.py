"""One session of one server: a task that opens the connection, keeps it, and closes it again itself."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import anyio

from remit.upstream.connect import HandshakeRequest, ProcessRecord, connect
from remit.upstream.connection import Connection
from remit.upstream.failures import explain, missing, secrets_of
from remit.upstream.launch.resources import LaunchResources
from remit.upstream.launch.server_environment import environment
from remit.upstream.launch.variable_expansion import expand
from remit.upstream.messaging.change_streams import ChangeStreams
from remit.upstream.messaging.demultiplexer import OnNotification
from remit.upstream.messaging.messages import LostError, ProtocolError
from remit.upstream.upstream_model import Failure, Upstream

IDLE = 3_600.0  # seconds after which a session that is one caller's own ends


class SessionKey(NamedTuple):
    """Who shares a session."""

    session: str = ""  # a caller's; empty: everyone's
    capabilities: str = "{}"  # what the handshake says of the client, where it is said for good


class UpstreamSession:
    """A connection that is kept for those who share it."""

    def __init__(self, upstream: Upstream, name: SessionKey, greeting: HandshakeRequest) -> None:
        self._upstream = upstream
        self._greeting = greeting
        self._scope = anyio.CancelScope()
        self._traces = ProcessRecord()
        self._secrets: Callable[[], frozenset[str]] = frozenset
        self._is_dismissed = False
        self.name = name
        self.connection: Connection | None = None
        self.listening: ChangeStreams | None = None
        self.level: str | None = None  # of its log
        self.subscriptions: set[str] = set()  # the resources that are watched
        self.users = 0  # requests that need it
        self.used_at = anyio.current_time()
        self.is_settled = anyio.Event()  # it is open, or over
        self.is_over = anyio.Event()
        self.error: BaseException | None = None
        self.failure: Failure | None = None
        self.was_missed = False  # when it was lost, someone needed it, or it misbehaved

    @property
    def is_open(self) -> bool:
        """Whether it can be asked."""
        return self.connection is not None and self.connection.hearing.fault is None

    @property
    def is_ending(self) -> bool:
        """Whether it is over, or soon will be."""
        is_lost = self.connection is not None and self.connection.hearing.fault is not None
        return self._is_dismissed or is_lost or self.is_over.is_set()

    @property
    def is_idle(self) -> bool:
        """Whether nobody would miss it just now."""
        return not self.users and not self.subscriptions

    def dismiss(self) -> None:
        """End it, without calling that a failure."""
        self._is_dismissed = True
        if self.connection is None:
            self._scope.cancel()
        else:
            self.connection.hearing.lost(LostError("was ended"))

    def explain(self, error: BaseException) -> Failure:
        """Say why something went wrong, without a secret."""
        return explain(error, self._traces, self._upstream, self._secrets())

    async def run(self, means: LaunchResources, heard: OnNotification, idle: float) -> None:
        """Open, keep and close the connection, in one task."""
        try:
            with self._scope:
                await self._live(means, heard, idle)
        except Exception as error:  # whatever it does, the others go on
            self.error = error
            if self.failure is None:
                self.failure = self.explain(error)
        finally:
            if self._is_dismissed:
                self.error = None
            self.is_over.set()
            self.is_settled.set()

    async def _live(self, means: LaunchResources, heard: OnNotification, idle: float) -> None:
        upstream = self._upstream
        expanded = expand(upstream.launch, means.variables, workspace=upstream.directory, home=means.home)
        if expanded.missing:
            self.failure = missing(expanded.missing, upstream)
            raise LostError
        ready = replace(upstream, launch=expanded.launch)
        variables = environment(ready, means.variables)
        self._secrets = lambda: frozenset(secrets_of(expanded, upstream.launch, variables))
        with anyio.fail_after(upstream.deadline) as starting:
            reached = means.reach(ready, variables, self._traces)
            async with connect(reached, self._greeting, heard) as connection:
                starting.deadline = float("inf")
                self._opened(connection, heard)
                await self._keep(connection, idle)
        if connection.hearing.fault is not None:
            raise connection.hearing.fault

    def _opened(self, connection: Connection, heard: OnNotification) -> None:
        self.connection = connection
        if connection.agreement.is_modern:
            self.listening = ChangeStreams(connection, connection.tasks, heard)
            self.listening.lists()
        self.is_settled.set()

    async def _keep(self, connection: Connection, idle: float) -> None:
        if not connection.keeps_state:  # it is everyone's, and tells of changes
            idle = float("inf")
        while connection.hearing.fault is None:
            rest = self.used_at + idle - anyio.current_time() if self.is_idle else idle
            if rest <= 0:
                self.dismiss()
                break
            with anyio.move_on_after(rest):
                await connection.hearing.is_lost.wait()
        self.was_missed = self.users > 0 or isinstance(connection.hearing.fault, ProtocolError)
