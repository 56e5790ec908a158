"""The upstreams of a gateway: each started when it is first needed, and asked on behalf of a caller."""

import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeVar

import anyio
from anyio.abc import TaskGroup

from remit.decision.declarations import Key
from remit.errors import UpstreamError
from remit.upstream.connection import Connection
from remit.upstream.launch.resources import LaunchResources
from remit.upstream.messaging.forwarding import FAULTS, forward, list_parts
from remit.upstream.messaging.input_bridge import complete_input, is_input_required
from remit.upstream.messaging.messages import ForgottenError, ProtocolError
from remit.upstream.notifications import Notices
from remit.upstream.ports import (
    Answer,
    JsonRpcError,
    Params,
    RequestContext,
    ServerLists,
    UpstreamNotification,
    UpstreamStatus,
)
from remit.upstream.supervisor import Supervisor
from remit.upstream.upstream_model import Failure, Upstream
from remit.upstream.upstream_session import IDLE, SessionKey, UpstreamSession

T = TypeVar("T")

_TALKATIVE = ("httpx2", "httpcore2")


class LiveUpstreamPool:
    """The upstreams, started and reached for real."""

    def __init__(self, means: LaunchResources, tasks: TaskGroup, *, idle: float = IDLE) -> None:
        self._means = means
        self._tasks = tasks
        self._idle = idle
        self._notices = Notices()
        self._supervisors: dict[Key, Supervisor] = {}

    async def request(
        self, upstream: Upstream, method: str, params: Params, caller: RequestContext
    ) -> Answer:
        """Pass a request on, and give the answer as it came.

        Raises:
            JsonRpcError: the upstream answers with an error.
            UpstreamError: it cannot be reached, or does not answer as the protocol asks.
        """
        supervisor = self._supervisor(upstream)
        began = time.perf_counter()
        is_error = True
        try:
            answer = await self._asked(supervisor, method, params, caller)
            if not caller.takes_input_required and is_input_required(answer):
                answer = await self._completed(supervisor, answer, method, params, caller)
            is_error = False
            return answer
        finally:
            supervisor.tally.count(time.perf_counter() - began, is_error=is_error)

    async def list_all(
        self, upstream: Upstream, *, parts: frozenset[str] = frozenset({"tools"})
    ) -> ServerLists:
        """Ask for all pages of what it lists: of `tools`, `resources`, `templates`, `prompts`.

        Raises:
            UpstreamError: it cannot be reached, or does not answer as the protocol asks.
        """
        supervisor = self._supervisor(upstream)

        async def ask(session: UpstreamSession) -> ServerLists:
            try:
                return await list_parts(_connection(session), parts, upstream.deadline)
            except JsonRpcError as error:  # which may repeat what the server was given
                supervisor.answered()
                raise supervisor.error(session.explain(error)) from None

        return await self._through(supervisor, None, upstream.deadline, ask)

    def notifications(self) -> AbstractAsyncContextManager[AsyncIterator[UpstreamNotification]]:
        """Listen to what upstreams say by themselves."""
        return self._notices.listen()

    def statuses(self) -> list[UpstreamStatus]:
        """Say how each upstream is that was asked so far."""
        return [supervisor.condition() for supervisor in self._supervisors.values()]

    async def drop(self, keys: frozenset[Key]) -> None:
        """End the sessions of upstreams that are no longer in force, or whose entry changed."""
        dropped = [self._supervisors.pop(key) for key in keys if key in self._supervisors]
        await _ended(dropped, lambda _: True)

    async def leave(self, session: str) -> None:
        """End what upstreams keep for a caller's session alone: it is over."""
        await _ended([*self._supervisors.values()], lambda name: name.session == session)

    def _supervisor(self, upstream: Upstream) -> Supervisor:
        known = self._supervisors.get(upstream.key)
        if known is not None and (known.upstream is upstream or known.upstream == upstream):
            return known
        if known is not None:  # its entry changed
            self._tasks.start_soon(known.end)

        def heard(method: str, params: Params) -> None:
            self._notices.tell(UpstreamNotification(upstream.key, method, params))

        found = Supervisor(upstream, self._means, self._tasks, heard, self._idle)
        self._supervisors[upstream.key] = found
        return found

    async def _asked(
        self, supervisor: Supervisor, method: str, params: Params, caller: RequestContext
    ) -> Answer:
        patience = supervisor.upstream.patience

        async def ask(session: UpstreamSession) -> Answer:
            return await forward(session, method, params, caller, patience)

        return await self._through(supervisor, caller, patience, ask)

    async def _through(
        self,
        supervisor: Supervisor,
        caller: RequestContext | None,
        patience: float,
        ask: Callable[[UpstreamSession], Awaitable[T]],
    ) -> T:
        """Ask through the session for a caller; one that the server has forgotten is opened anew, once."""
        is_last = False
        while True:
            session = await supervisor.take(caller)
            try:
                answer = await ask(session)
                supervisor.answered()
                return answer
            except JsonRpcError:
                supervisor.answered()
                raise
            except ForgottenError as error:
                session.dismiss()
                if is_last:
                    raise supervisor.error(session.explain(error)) from None
                is_last = True
            except FAULTS as error:
                raise await _failed(supervisor, session, error, patience) from None
            finally:
                supervisor.give_back(session)

    async def _completed(
        self, supervisor: Supervisor, answer: Answer, method: str, params: Params, caller: RequestContext
    ) -> Answer:
        async def again(more: Params) -> Answer:
            return await self._asked(supervisor, method, more, caller)

        try:
            return await complete_input(answer, params, caller, again)
        except ProtocolError as error:
            raise supervisor.error(Failure(reason=str(error))) from None


async def _ended(supervisors: Sequence[Supervisor], is_meant: Callable[[SessionKey], bool]) -> None:
    async with anyio.create_task_group() as tasks:
        for supervisor in supervisors:
            tasks.start_soon(supervisor.end, is_meant)


async def _failed(
    supervisor: Supervisor, session: UpstreamSession, error: Exception, patience: float
) -> UpstreamError:
    """Say why a server was asked in vain; where it is gone, wait until it can be said how it ended."""
    hearing = _connection(session).hearing
    if isinstance(error, TimeoutError) and hearing.fault is None:
        if hearing.heard_at < anyio.current_time() - patience and _connection(session).keeps_state:
            session.dismiss()  # not a word in all that time: it hangs
        failure = Failure(reason=f"did not answer within {patience:g} s")
        supervisor.failed(failure)
        return supervisor.error(failure)
    if hearing.fault is None:
        failure = session.explain(error)
        supervisor.failed(failure)
        return supervisor.error(failure)
    await session.is_over.wait()
    return supervisor.error(session.failure)


def _connection(session: UpstreamSession) -> Connection:
    assert session.connection is not None  # noqa: S101 - it is open
    return session.connection


@asynccontextmanager
async def open_upstream_pool(
    means: LaunchResources, *, idle: float = IDLE
) -> AsyncGenerator[LiveUpstreamPool]:
    """Keep upstreams while the block lasts, and end all of them with it."""
    for name in _TALKATIVE:  # what these say holds URLs, and would go to stderr
        logging.getLogger(name).addHandler(logging.NullHandler())
    try:
        async with anyio.create_task_group() as tasks:
            yield LiveUpstreamPool(means, tasks, idle=idle)
            tasks.cancel_scope.cancel()
    finally:
        means.watch.close()
