"""Starts servers on first use, and sends them requests."""

import asyncio
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Hashable,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from remit.decision import Key, Offer
from remit.errors import UpstreamError
from remit.protocol import (
    PARTS,
    Answer,
    Broadcaster,
    Caller,
    JsonRpcError,
    LostError,
    OnChange,
    Params,
    SessionExpiredError,
    Tasks,
)
from remit.upstream.launch import Launcher
from remit.upstream.model import Upstream, UpstreamStatus
from remit.upstream.session import FAULTS, OnList, Session, SessionKey
from remit.upstream.supervisor import Supervisor

if TYPE_CHECKING:
    from remit.upstream.process import Watchdog

T = TypeVar("T")
Admit = Callable[[], Awaitable[None]]
_ServerId = tuple[Key, str, str]  # with the project of its sandbox, and who shares it


class Change(NamedTuple):
    """A notification that a list changed or a resource was updated."""

    key: Key
    method: str
    params: Params


class LocalServer(Protocol):
    """A server of Remit's own, which runs in this process."""

    async def request(self, method: str, params: Params, caller: Caller) -> Answer:
        """Answer a request.

        Raises:
            JsonRpcError: the answer is an error.
        """
        ...

    async def list(self) -> Offer:
        """List what it offers."""
        ...


class UpstreamPool:
    """The servers of a gateway, each started on first use; a failure does not affect the others."""

    def __init__(
        self, launcher: Launcher, tasks: Tasks, on_list: OnList, idle: float, local: Mapping[Key, LocalServer]
    ) -> None:
        self._launcher = launcher
        self._tasks = tasks
        self._on_list = on_list
        self._idle = idle
        self._local = local
        self._broadcaster = Broadcaster[Change](_coalescing_key)
        self._supervisors: dict[_ServerId, Supervisor] = {}
        self._watchdog: Watchdog | None = None

    async def request(
        self,
        upstream: Upstream,
        method: str,
        params: Params,
        caller: Caller,
        *,
        admit: Admit | None = None,
    ) -> Answer:
        """Send a request, and return the raw answer.

        `admit` is awaited once the session is open and its list handed over, and raises to refuse. Both
        happen again if the session is replaced, or announces other tools meanwhile.

        Raises:
            JsonRpcError: the server answers with an error.
            UpstreamError: it cannot be reached, or violates the protocol.
        """
        if (local := self._local.get(upstream.key)) is not None:
            if admit is not None:
                await admit()
            return await local.request(method, params, caller)
        supervisor = self._supervise(upstream, await self._launcher.share(upstream, caller.name))

        async def send(session: Session) -> Answer:
            await self._admit(supervisor, session, method, admit)
            if not session.is_open:
                raise _ReplacedError
            limit = upstream.patience
            sending = session.opened.request(method, params, caller=caller, time_limit=limit)
            began, failed = monotonic(), True
            try:
                answer = await _explained(supervisor, session, limit, sending)
                failed = False
            finally:
                supervisor.count(monotonic() - began, failed=failed)
            session.note_subscription(method, params)
            return answer

        return await _in_session(supervisor, caller, send)

    async def list(
        self, upstream: Upstream, caller: Caller | None = None, parts: Collection[str] = PARTS
    ) -> Offer:
        """List what a server has, in a caller's session or any; it is also handed over.

        Raises:
            UpstreamError: the server cannot be reached, or violates the protocol.
        """
        if (local := self._local.get(upstream.key)) is not None:
            return await local.list()
        name = None if caller is None else caller.name
        supervisor = self._supervise(upstream, await self._launcher.share(upstream, name))

        async def ask(session: Session) -> Offer:
            listing = session.list_parts(parts if session.offer is not None else PARTS, self._on_list)
            return await _listed(supervisor, session, listing)

        return await _in_session(supervisor, caller, ask)

    def changes(self) -> AbstractAsyncContextManager[AsyncIterator[Change]]:
        """Listen for changes of lists and resources."""
        return self._broadcaster.listen()

    def statuses(self) -> Sequence[UpstreamStatus]:
        """Report the status of each server used so far, once for everybody who shares it."""
        return [supervisor.status() for supervisor in self._supervisors.values()]

    async def drop(self, keys: Collection[Key]) -> None:
        """End the sessions of servers that are no longer available."""
        dropped = [self._supervisors.pop(id) for id in list(self._supervisors) if id[0] in keys]
        await asyncio.gather(*(supervisor.end() for supervisor in dropped))

    async def leave(self, session: str) -> None:
        """End the sessions that belong to a caller's session alone."""

        def is_its_own(key: SessionKey) -> bool:
            return key.session == session

        await asyncio.gather(*(supervisor.end(is_its_own) for supervisor in self._supervisors.values()))

    def close(self) -> None:
        """End what still runs."""
        if self._watchdog is not None:
            self._watchdog.close()

    def _supervise(self, upstream: Upstream, share: str) -> Supervisor:
        id = (upstream.key, upstream.root, share)
        known = self._supervisors.get(id)
        if known is not None and known.upstream.is_started_like(upstream):
            known.upstream = upstream  # equal; the next time it is the same
            return known
        if known is not None:  # its entry changed
            self._tasks.start(known.end())
        publish = self._publisher(upstream.key)
        supervisor = Supervisor(upstream, self._launcher, self._tasks, publish, self._idle, self._watch)
        self._supervisors[id] = supervisor
        return supervisor

    def _publisher(self, key: Key) -> OnChange:
        def publish(method: str, params: Params) -> None:
            self._broadcaster.publish(Change(key, method, params))

        return publish

    def _watch(self) -> "Watchdog":
        if self._watchdog is None:
            from remit.upstream.process import Watchdog

            self._watchdog = Watchdog()
        return self._watchdog

    async def _admit(
        self, supervisor: Supervisor, session: Session, method: str, admit: Admit | None
    ) -> None:
        """Have the list of a session compared, and the request admitted, with the tools as they are now."""
        is_call = method == "tools/call"
        for _ in range(2):  # some servers announce a change whenever they are asked
            if session.offer is None or (is_call and not session.is_compared):
                comparing = session.compare(self._on_list, supervisor.publish, self._tasks)
                await _listed(supervisor, session, comparing)
            if admit is None:
                return
            announced = session.announced
            await admit()
            if session.announced == announced or not is_call:
                return


class _ReplacedError(LostError):
    """A session was lost before a request was sent."""


async def _in_session(
    supervisor: Supervisor, caller: Caller | None, work: Callable[[Session], Awaitable[T]]
) -> T:
    """Run work in a caller's session, or in another one if it expired or was lost before a request."""
    is_last = False
    while True:
        session = await supervisor.take(caller)
        try:
            return await work(session)
        except (SessionExpiredError, _ReplacedError) as error:
            session.dismiss()
            if is_last:
                raise supervisor.error(session.explain(error)) from None
            is_last = True
        finally:
            supervisor.give_back(session)


async def _listed(supervisor: Supervisor, session: Session, listing: Awaitable[object]) -> Offer:
    """Wait for a list; an error that a server answers instead is a failure."""
    try:
        await _explained(supervisor, session, supervisor.upstream.deadline, listing)
    except JsonRpcError as error:
        raise supervisor.error(session.explain(error)) from None
    assert session.offer is not None  # noqa: S101 - it was just listed
    return session.offer


async def _explained(supervisor: Supervisor, session: Session, time_limit: float, work: Awaitable[T]) -> T:
    """Wait for an answer, and translate what keeps a server from giving one."""
    try:
        answer = await work
    except JsonRpcError as error:
        supervisor.succeeded()
        raise session.without_secrets(error) from None
    except SessionExpiredError:
        raise
    except FAULTS as error:
        raise await _failed(supervisor, session, error, time_limit) from None
    supervisor.succeeded()
    return answer


async def _failed(
    supervisor: Supervisor, session: Session, error: Exception, time_limit: float
) -> UpstreamError:
    """Explain a failed request; if the connection is gone, wait until its session has ended."""
    connection = session.opened
    if connection.fault is not None:
        await session.is_over.wait()
        return supervisor.error(session.failure)
    failure = session.explain(error)
    if isinstance(error, TimeoutError):
        if connection.heard_at < monotonic() - time_limit and connection.keeps_state:
            session.dismiss()  # silent all that time: it hangs
        failure = failure._replace(reason=f"did not answer within {time_limit:g} s", hint=None)
    supervisor.failed(failure)
    return supervisor.error(failure)


def _coalescing_key(change: Change) -> Hashable:
    return change.key, change.method, str(change.params.get("uri"))


@asynccontextmanager
async def open_pool(
    launcher: Launcher,
    *,
    on_list: OnList,
    idle: float = 900.0,
    local: Mapping[Key, LocalServer] | None = None,
) -> AsyncGenerator[UpstreamPool]:
    """Open a pool, whose servers end with it.

    `on_list` returns once a list is stored and judged. `local` servers run in this process; unused sessions
    of one caller end after `idle` seconds.
    """
    tasks = Tasks()
    pool = UpstreamPool(launcher, tasks, on_list, idle, local or {})
    try:
        async with tasks:
            yield pool
    finally:
        pool.close()
