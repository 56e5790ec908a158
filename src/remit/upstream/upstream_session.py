"""One session of one server: a task that opens the connection, keeps it and closes it."""

from collections.abc import Callable
from time import monotonic
from typing import NamedTuple

import anyio

from remit.protocol.json_rpc import JsonRpcError, Params
from remit.upstream.connect import HandshakeRequest, connect
from remit.upstream.connection import Connection
from remit.upstream.failures import explain, last_output, redacted_error
from remit.upstream.launch.launch_resources import LaunchResources
from remit.upstream.launch.ready_server import NotReadyError
from remit.upstream.messaging.change_streams import ChangeStreams
from remit.upstream.messaging.demultiplexer import OnNotification
from remit.upstream.messaging.messages import LostError, ProtocolError
from remit.upstream.principal_credentials.credential_model import Credential
from remit.upstream.transports.process import ProcessRecord
from remit.upstream.upstream_model import Failure, Upstream

TOOLS_CHANGED = "notifications/tools/list_changed"
IDLE = 3_600.0  # seconds after which an unused session of one caller ends


class SessionKey(NamedTuple):
    """Identifies the callers that share a session."""

    session: str = ""  # the caller's own; empty: all callers
    capabilities: str = "{}"  # of the client, if the handshake fixes them


class UpstreamSession:
    """A connection that its callers share."""

    def __init__(
        self,
        upstream: Upstream,
        key: SessionKey,
        request: HandshakeRequest,
        credential: Credential | None = None,
    ) -> None:
        self._upstream = upstream
        self._credential = credential
        self._request = request
        self._scope = anyio.CancelScope()
        self._record = ProcessRecord()
        self.secrets: Callable[[], frozenset[str]] = frozenset  # values that must never be shown
        self._is_dismissed = False
        self._output: tuple[str, list[str]] = "", []  # what it wrote last, and the lines without secrets
        self.key = key
        self.connection: Connection | None = None
        self.change_streams: ChangeStreams | None = None
        self.log_level: str | None = None
        self.subscriptions: set[str] = set()  # URIs of resources
        self.announced_changes = 0  # of its tools
        self._kept_changes: int | None = None  # None: its tools were not listed and stored yet
        self.is_compared = False  # its tools were compared with the accepted ones
        self.users = 0  # running requests
        self.used_at = monotonic()
        self.is_settled = anyio.Event()  # it is open, or over
        self.is_over = anyio.Event()
        self.error: BaseException | None = None
        self.failure: Failure | None = None
        self.was_needed = False  # it was lost while in use, or violated the protocol

    @property
    def opened(self) -> Connection:
        """The connection of an open session."""
        assert self.connection is not None  # noqa: S101 - callers get open sessions only
        return self.connection

    @property
    def is_open(self) -> bool:
        """Whether it accepts requests."""
        return self.connection is not None and self.connection.demultiplexer.fault is None

    @property
    def lists_stored_tools(self) -> bool:
        """Whether its tools were stored, and it announced no change since they were listed."""
        return self._kept_changes == self.announced_changes

    def note_kept(self, announced: int) -> None:
        """Record that its tools were stored, as listed after so many announced changes."""
        self._kept_changes = announced
        self.is_compared = True

    def note_compared(self) -> None:
        """Record that its tools were compared with the accepted ones, and not stored."""
        self.is_compared = True

    @property
    def is_ending(self) -> bool:
        """Whether it is over, or about to end."""
        is_lost = self.connection is not None and self.connection.demultiplexer.fault is not None
        return self._is_dismissed or is_lost or self.is_over.is_set()

    @property
    def is_idle(self) -> bool:
        """Whether it has neither requests nor subscriptions."""
        return not self.users and not self.subscriptions

    def dismiss(self) -> None:
        """End the session, without counting that as a failure."""
        self._is_dismissed = True
        if self.connection is None:
            self._scope.cancel()
        else:
            self.connection.demultiplexer.lost(LostError("was ended"))

    def explain(self, error: BaseException) -> Failure:
        """Explain an error, without secrets."""
        return explain(error, self._record, self._upstream, self.secrets())

    def redacted(self, error: JsonRpcError) -> JsonRpcError:
        """Return an error that its server answered with, without secrets."""
        return redacted_error(error, self.secrets())

    def output(self) -> list[str]:
        """Return the last lines that its process wrote to stderr, without secrets."""
        process = self._record.process
        text = "" if process is None else process.tail.text
        if text != self._output[0]:  # hiding secrets takes longer than comparing, and this is asked often
            self._output = text, last_output(self._record, self.secrets())
        return self._output[1]

    async def run(self, resources: LaunchResources, on_notification: OnNotification, idle: float) -> None:
        """Open, keep and close the connection in one task."""

        def count(method: str, params: Params) -> None:
            self.announced_changes += method == TOOLS_CHANGED
            on_notification(method, params)

        try:
            with self._scope:
                await self._live(resources, count, idle)
        except Exception as error:  # one server must not take down the others
            self.error = error
            if self.failure is None:
                self.failure = self.explain(error)
        finally:
            if self._is_dismissed:
                self.error = None
            self.is_over.set()
            self.is_settled.set()

    async def _live(self, resources: LaunchResources, on_notification: OnNotification, idle: float) -> None:
        upstream = self._upstream
        try:
            if upstream.permit is not None and upstream.permit.package is not None:
                # To compare a package reads all its files.
                ready = await anyio.to_thread.run_sync(resources.ready, upstream, self._credential)
            else:
                ready = resources.ready(upstream, self._credential)
        except NotReadyError as error:
            self.failure = error.failure
            raise LostError from None
        self.secrets = ready.secrets
        with anyio.fail_after(upstream.deadline) as starting:
            transport = resources.open_transport(ready, self._record)
            async with connect(transport, self._request, on_notification) as connection:
                starting.deadline = float("inf")
                self.connection = connection
                self.change_streams = connection.era.follow_changes(connection, on_notification)
                self.is_settled.set()
                await self._keep(connection, idle)
        if connection.demultiplexer.fault is not None:
            raise connection.demultiplexer.fault

    async def _keep(self, connection: Connection, idle: float) -> None:
        # All callers share one that keeps no state, and it announces changes.
        if not connection.keeps_state and not self._upstream.is_per_principal:
            idle = float("inf")
        while connection.demultiplexer.fault is None:
            rest = self.used_at + idle - monotonic() if self.is_idle else idle
            if rest <= 0:
                self.dismiss()
                break
            with anyio.move_on_after(rest):
                await connection.demultiplexer.is_lost.wait()
        self.was_needed = self.users > 0 or isinstance(connection.demultiplexer.fault, ProtocolError)
