"""Starts upstreams on first use, and forwards requests to them."""

import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Hashable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeVar

import anyio
from anyio.abc import TaskGroup

from remit.decision.declarations import Key
from remit.errors import RestartedError, UpstreamError
from remit.protocol.broadcast import Broadcaster
from remit.protocol.json_rpc import Answer, JsonRpcError, Params
from remit.upstream.connect import silence_http_loggers
from remit.upstream.launch.launch_resources import LaunchResources
from remit.upstream.messaging.forwarding import FAULTS, forward, list_parts
from remit.upstream.messaging.input_bridge import complete_input, is_input_required
from remit.upstream.messaging.messages import ProtocolError, SessionExpiredError
from remit.upstream.ports import (
    TOOLS,
    RequestContext,
    ServerLists,
    UpstreamNotification,
    UpstreamStatus,
    merged_statuses,
)
from remit.upstream.principal_credentials.credential_model import Credential
from remit.upstream.principal_credentials.principal_credentials import find_credential
from remit.upstream.supervisor import Supervisor
from remit.upstream.upstream_model import Failure, Upstream
from remit.upstream.upstream_session import IDLE, SessionKey, UpstreamSession

MAX_SUPERVISORS = 2_000
_RESTARTED = "restarted after its tools were listed"
T = TypeVar("T")


class UpstreamPool:
    """The upstreams of a gateway, each started on first use; a failure does not affect the others."""

    def __init__(self, resources: LaunchResources, tasks: TaskGroup, *, idle: float = IDLE) -> None:
        self._resources = resources
        self._tasks = tasks
        self._idle = idle
        self._broadcaster = Broadcaster[UpstreamNotification](_coalescing_key)
        self._supervisors: dict[tuple[Key, str], Supervisor] = {}  # with the principal, if it needs one
        self._compares_lists = False  # whether its user lists the tools of a session before each first call

    async def request(
        self, upstream: Upstream, method: str, params: Params, caller: RequestContext
    ) -> Answer:
        """Forward a request, and return the raw answer.

        `_meta.progressToken` in the parameters is the caller's own. Cancelling the surrounding scope cancels
        the request upstream.

        Raises:
            JsonRpcError: the upstream answers with an error.
            RestartedError: a call needs a session that `list_first` did not list.
            UpstreamError: it cannot be reached, or violates the protocol.
        """
        supervisor = await self._supervisor(upstream, caller)
        began = time.perf_counter()
        failed = True
        try:
            answer = await self._forward(supervisor, method, params, caller)
            if not caller.takes_input_required and is_input_required(answer):
                answer = await self._complete_input(supervisor, answer, method, params, caller)
            failed = False
            return answer
        finally:
            supervisor.statistics.count(time.perf_counter() - began, failed=failed)

    async def claim(self, upstream: Upstream) -> None:
        """Make sure that this process may run a server that only one may run.

        Raises:
            OwnedElsewhereError: another process does.
        """
        if upstream.lock is not None:
            await self._supervise(upstream, "", None).claim()

    async def list_all(
        self,
        upstream: Upstream,
        *,
        parts: frozenset[str] = TOOLS,
        caller: RequestContext | None = None,
    ) -> ServerLists:
        """List all pages of `tools`, `resources`, `templates` or `prompts`, in a caller's session or any.

        Raises:
            UpstreamError: the upstream cannot be reached, or violates the protocol.
        """
        supervisor = await self._supervisor(upstream, caller)

        async def work(session: UpstreamSession) -> ServerLists:
            return await _listed(supervisor, session, parts)

        return await self._with_session(supervisor, caller, upstream.deadline, work)

    async def list_first(
        self, upstream: Upstream, caller: RequestContext, *, parts: frozenset[str] = TOOLS
    ) -> ServerLists | None:
        """List the tools of a caller's session, which may have to start; None if it lists the stored ones.

        Another process may list other tools, and so may one that announced a change.

        Raises:
            UpstreamError: the upstream cannot be reached, or violates the protocol.
        """
        supervisor = await self._supervisor(upstream, caller)
        self._compares_lists = True
        session = supervisor.open_session(caller)
        if session is not None and session.lists_stored_tools:
            return None

        async def work(session: UpstreamSession) -> ServerLists | None:
            if session.lists_stored_tools:
                return None
            return await _listed(supervisor, session, parts)

        return await self._with_session(supervisor, caller, upstream.deadline, work)

    def notifications(self) -> AbstractAsyncContextManager[AsyncIterator[UpstreamNotification]]:
        """Listen for notifications that belong to no request."""
        return self._broadcaster.listen()

    def statuses(self) -> list[UpstreamStatus]:
        """Report the status of each upstream used so far; those of several principals are one."""
        return merged_statuses(supervisor.status() for supervisor in self._supervisors.values())

    async def drop(self, keys: frozenset[Key]) -> None:
        """End the sessions of upstreams that are no longer available, or whose entry changed."""
        dropped = [self._supervisors.pop(each) for each in list(self._supervisors) if each[0] in keys]
        async with anyio.create_task_group() as tasks:
            for supervisor in dropped:
                tasks.start_soon(supervisor.close)

    def has_own(self, session: str) -> bool:
        """Return whether a caller's session has upstream sessions that belong to it alone."""
        return any(each.has_own(session) for each in self._supervisors.values())

    async def leave(self, session: str) -> None:
        """End the upstream sessions that belong to a caller's session alone."""

        def is_its_own(key: SessionKey) -> bool:
            return key.session == session

        async with anyio.create_task_group() as tasks:
            for supervisor in [*self._supervisors.values()]:
                tasks.start_soon(supervisor.end, is_its_own)

    async def _supervisor(self, upstream: Upstream, caller: RequestContext | None) -> Supervisor:
        """Return the supervisor of a server, which principals with credentials of their own do not share."""
        if not upstream.is_per_principal:
            return self._supervise(upstream, "", None)
        principal = None if caller is None else caller.principal
        try:
            credential = await find_credential(self._resources, upstream, principal)
        except UpstreamError:
            known = self._supervisors.pop((upstream.key, principal or ""), None)
            if known is not None:
                self._tasks.start_soon(known.end)
            raise
        self._make_room()
        return self._supervise(upstream, principal or "", credential)

    def _make_room(self) -> None:
        """Forget principals that are not connected, once there are many."""
        if len(self._supervisors) >= MAX_SUPERVISORS:
            unused = [
                each for each, supervisor in self._supervisors.items() if each[1] and supervisor.is_unused
            ]
            for each in unused:
                del self._supervisors[each]

    def _supervise(self, upstream: Upstream, principal: str, credential: Credential | None) -> Supervisor:
        known = self._supervisors.get((upstream.key, principal))
        if known is not None and _is_current(known, upstream, credential):
            known.upstream = upstream  # equal; the next time it is the same
            return known
        if known is not None:  # its entry or the credential changed
            self._tasks.start_soon(known.close)

        def on_notification(method: str, params: Params) -> None:
            self._broadcaster.publish(UpstreamNotification(upstream.key, method, params))

        before = None if upstream.lock is None else known
        found = Supervisor(
            upstream, self._resources, self._tasks, on_notification, self._idle, credential, before
        )
        self._supervisors[upstream.key, principal] = found
        return found

    async def _forward(
        self, supervisor: Supervisor, method: str, params: Params, caller: RequestContext
    ) -> Answer:
        time_limit = supervisor.upstream.patience

        async def work(session: UpstreamSession) -> Answer:
            if method == "tools/call" and self._compares_lists and not session.is_compared:
                raise RestartedError(f"`{supervisor.upstream.label}` {_RESTARTED}", reason=_RESTARTED)
            return await forward(session, method, params, caller, time_limit)

        return await self._with_session(supervisor, caller, time_limit, work)

    async def _with_session(
        self,
        supervisor: Supervisor,
        caller: RequestContext | None,
        time_limit: float,
        work: Callable[[UpstreamSession], Awaitable[T]],
    ) -> T:
        """Run work in a caller's session; reopen an expired session once."""
        is_last = False
        while True:
            session = await supervisor.take(caller)
            try:
                answer = await work(session)
                supervisor.succeeded()
                return answer
            except JsonRpcError as error:
                supervisor.succeeded()
                raise session.redacted(error) from None
            except SessionExpiredError as error:
                session.dismiss()
                if is_last:
                    raise supervisor.error(session.explain(error)) from None
                is_last = True
            except FAULTS as error:
                raise await _failed(supervisor, session, error, time_limit) from None
            finally:
                supervisor.give_back(session)

    async def _complete_input(
        self, supervisor: Supervisor, answer: Answer, method: str, params: Params, caller: RequestContext
    ) -> Answer:
        async def retry(more: Params) -> Answer:
            return await self._forward(supervisor, method, more, caller)

        try:
            return await complete_input(answer, params, caller, retry)
        except ProtocolError as error:
            raise supervisor.error(Failure(reason=str(error))) from None


async def _listed(supervisor: Supervisor, session: UpstreamSession, parts: frozenset[str]) -> ServerLists:
    announced = session.announced_changes
    try:
        lists = await list_parts(session.opened, parts, supervisor.upstream.deadline)
    except JsonRpcError as error:  # its text may repeat a secret of the server
        supervisor.succeeded()
        raise supervisor.error(session.explain(error)) from None
    capabilities = session.key.capabilities
    return lists._replace(
        offered_to=capabilities,
        is_partial=not supervisor.lists_everything(session),
        note_kept=lambda: session.note_kept(announced),
        note_compared=session.note_compared,
        secrets=session.secrets,
    )


def _is_current(known: Supervisor, upstream: Upstream, credential: Credential | None) -> bool:
    is_same = known.upstream is upstream or known.upstream == upstream
    return is_same and known.credential == credential


def _coalescing_key(notification: UpstreamNotification) -> Hashable:
    return notification.key, notification.method, str(notification.params.get("uri"))


async def _failed(
    supervisor: Supervisor, session: UpstreamSession, error: Exception, time_limit: float
) -> UpstreamError:
    """Explain a failed request; if the connection is gone, wait until its session has ended."""
    demultiplexer = session.opened.demultiplexer
    if isinstance(error, TimeoutError) and demultiplexer.fault is None:
        if demultiplexer.heard_at < time.monotonic() - time_limit and session.opened.keeps_state:
            session.dismiss()  # silent all that time: it hangs
        failure = Failure(reason=f"did not answer within {time_limit:g} s")
        supervisor.failed(failure)
        return supervisor.error(failure)
    if demultiplexer.fault is None:
        failure = session.explain(error)
        supervisor.failed(failure)
        return supervisor.error(failure)
    await session.is_over.wait()
    return supervisor.error(session.failure)


@asynccontextmanager
async def open_upstream_pool(
    resources: LaunchResources, *, idle: float = IDLE
) -> AsyncGenerator[UpstreamPool]:
    """Open a pool, and end all its upstreams when the block ends."""
    silence_http_loggers()
    try:
        async with anyio.create_task_group() as tasks:
            yield UpstreamPool(resources, tasks, idle=idle)
            tasks.cancel_scope.cancel()
    finally:
        resources.watchdog.close()
