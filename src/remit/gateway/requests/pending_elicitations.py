"""Pauses calls until their client answers an elicitation, for clients without a session.

A question from an upstream becomes an `input_required` answer. The call continues in its own task, and the
client's next request carries the answers.
"""

import math
import secrets
from collections.abc import Awaitable, Callable, Mapping

import anyio
from anyio.abc import TaskGroup

from remit.gateway.requests.request_contexts import (
    ROOTS,
    ForwardedContext,
    StatelessRequestContext,
    require_capability,
)
from remit.protocol.json_rpc import Answer, ErrorCode, JsonRpcError, Params
from remit.text.json_values import as_object
from remit.upstream.ports import RequestContext

TIME_LIMIT = 300.0  # seconds for a person to answer
MAX_PAUSED = 32  # paused calls per principal

_STATE_PREFIX = "remit."
_RETRY_MEMBERS = frozenset({"_meta", "inputResponses", "requestState"})

Work = Callable[[RequestContext], Awaitable[Answer]]


class PendingElicitations:
    """The paused calls of one endpoint."""

    def __init__(
        self, tasks: TaskGroup, *, time_limit: float = TIME_LIMIT, max_paused: int = MAX_PAUSED
    ) -> None:
        self._tasks = tasks
        self._time_limit = time_limit
        self._max_paused = max_paused
        self._paused: dict[str, _PausedCall] = {}

    async def run(self, method: str, params: Params, caller: StatelessRequestContext, work: Work) -> Answer:
        """Run the work of a request, or resume the paused call that the request answers.

        Raises:
            JsonRpcError: the request fails, or no call waits for this answer.
        """
        state = params.get("requestState")
        if isinstance(state, str) and state.startswith(_STATE_PREFIX):
            call = self._resume(state, method, params, caller)
            call.answer(params.get("inputResponses"))
        elif caller.can_answer:
            call = _PausedCall(caller, _essence(method, params))
            self._tasks.start_soon(call.run, work)
        else:
            return await work(caller)
        if await call.wait(caller):
            return call.outcome()
        return self._pause(call)

    def _resume(
        self, state: str, method: str, params: Params, caller: StatelessRequestContext
    ) -> "_PausedCall":
        call = self._paused.get(state)
        is_theirs = call is not None and call.principal == caller.principal
        if call is None or not is_theirs or call.essence != _essence(method, params):
            raise JsonRpcError(
                ErrorCode.INVALID_PARAMS,
                "no request waits for this answer: it came too late, or belongs to another request",
            )
        del self._paused[state]
        call.resumed.set()
        return call

    def _pause(self, call: "_PausedCall") -> Answer:
        own = [state for state, other in self._paused.items() if other.principal == call.principal]
        for state in own[: max(0, len(own) - self._max_paused + 1)]:  # make room
            self._paused.pop(state).cancel()
        state = _STATE_PREFIX + secrets.token_urlsafe(24)
        self._paused[state] = call
        call.pause_until(anyio.current_time() + self._time_limit, lambda: self._paused.pop(state, None))
        return {"resultType": "input_required", "inputRequests": call.questions(), "requestState": state}


class _Question:
    def __init__(self, method: str, params: Params) -> None:
        self.request = {"method": method, "params": dict(params)} if params else {"method": method}
        self.answered = anyio.Event()
        self.answer: Answer = {}


class _PausedCall(ForwardedContext):
    """One call, and the client's current request if there is one."""

    def __init__(self, caller: StatelessRequestContext, essence: object) -> None:
        super().__init__(caller)
        self._roots = caller.roots
        self.essence = essence
        self._caller: StatelessRequestContext | None = caller
        self._questions: dict[str, _Question] = {}
        self._question_count = 0
        self._progressed = anyio.Event()  # set by a new question, or at the end of the call
        self._scope = anyio.CancelScope()
        self._answer: Answer | None = None
        self._failure: Exception | None = None
        self._is_over = False
        self._deadline = math.inf
        self._forget: Callable[[], object] = lambda: None
        self.resumed = anyio.Event()

    async def run(self, work: Work) -> None:
        """Run the work and keep its outcome for the client's current or next request."""
        with self._scope:
            try:
                self._answer = await work(self)
            except Exception as failure:  # `outcome` raises it
                self._failure = failure
        self._is_over = True
        self._progressed.set()
        if self._caller is None and not self._scope.cancelled_caught:
            # The work ended without the answers. The client will still send them and expect the result.
            with anyio.move_on_after(self._deadline - anyio.current_time()):
                await self.resumed.wait()
        self._forget()

    async def wait(self, caller: StatelessRequestContext) -> bool:
        """Wait until the call is over or has questions; return True if it is over."""
        self._caller, self._deadline = caller, math.inf
        self._scope.deadline = math.inf
        try:
            while not self._is_over and not self._questions:
                self._progressed = anyio.Event()
                await self._progressed.wait()
        except anyio.get_cancelled_exc_class():
            self._scope.cancel()
            raise
        finally:
            self._caller = None
        return self._is_over

    def outcome(self) -> Answer:
        """Return the result.

        Raises:
            JsonRpcError: the call failed.
        """
        if self._failure is not None:
            raise self._failure
        if self._answer is None:
            raise JsonRpcError(ErrorCode.INVALID_PARAMS, "the call waited too long for its answer")
        return self._answer

    def questions(self) -> Answer:
        """Return the open questions by key."""
        return {key: question.request for key, question in self._questions.items()}

    def answer(self, responses: object) -> None:
        """Accept answers; questions without one stay open."""
        given = as_object(responses)
        for key in [key for key in self._questions if isinstance(given.get(key), Mapping)]:
            question = self._questions.pop(key)
            question.answer = dict(given[key])
            question.answered.set()

    def pause_until(self, deadline: float, forget: Callable[[], object]) -> None:
        """Set the deadline for the client's next request."""
        self._deadline = self._scope.deadline = deadline
        self._forget, self.resumed = forget, anyio.Event()

    def cancel(self) -> None:
        """Cancel the call."""
        self._scope.cancel()

    async def send_request(self, method: str, params: Params) -> Answer:
        """Ask the client through the answer to its current or next request.

        Raises:
            JsonRpcError: the client cannot answer.
        """
        require_capability(method, params, self.capabilities)
        if method == ROOTS:
            return self._roots
        self._question_count += 1
        self.can_move = False  # a question makes it the call of this gateway
        key = f"{method.split('/')[0]}-{self._question_count}"
        self._questions[key] = question = _Question(method, params)
        self._progressed.set()
        try:
            await question.answered.wait()
        finally:
            self._questions.pop(key, None)
        return question.answer

    async def notify(self, method: str, params: Params) -> None:
        """Notify the client if it has a current request."""
        if self._caller is not None:
            await self._caller.notify(method, params)


def _essence(method: str, params: Params) -> object:
    """Return the part of a request that a retry must repeat."""
    return method, {name: value for name, value in params.items() if name not in _RETRY_MEMBERS}
