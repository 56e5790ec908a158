"""Calls that wait for a client without a session to answer a question.

A question becomes an `input_required` answer. The call continues in its own task, and the client's next
request carries the answers.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from remit.protocol import Answer, ErrorCode, JsonRpcError, Params, Tasks, require_capability
from remit.text import as_object

if TYPE_CHECKING:  # it imports this module
    from remit.gateway.endpoint import ClientCaller

TIME_LIMIT = 300.0  # seconds for a person to answer
MAX_PAUSED = 32  # paused calls per caller
_STATE_PREFIX = "remit."
_RETRY_MEMBERS = frozenset({"_meta", "inputResponses", "requestState"})

Work = Callable[["ClientCaller"], Awaitable[Answer]]


class PausedCalls:
    """The paused calls of one endpoint."""

    def __init__(self, tasks: Tasks, *, time_limit: float = TIME_LIMIT, most: int = MAX_PAUSED) -> None:
        self._tasks = tasks
        self._time_limit = time_limit
        self._most = most
        self._paused: dict[str, _PausedCall] = {}

    async def run(self, method: str, params: Params, caller: "ClientCaller", work: Work) -> Answer:
        """Run the work of a request, or resume the paused call that the request answers.

        Raises:
            JsonRpcError: the request fails, or no call waits for this answer.
        """
        state = params.get("requestState")
        if isinstance(state, str) and state.startswith(_STATE_PREFIX):
            call = self._resume(state, method, params, caller)
            call.take_answers(params.get("inputResponses"))
        else:
            call = _PausedCall(caller, _essence(method, params))
            call.task = self._tasks.start(call.run(work))
        if await call.wait(caller):
            return call.result()
        return self._pause(call)

    def _resume(self, state: str, method: str, params: Params, caller: "ClientCaller") -> "_PausedCall":
        call = self._paused.get(state)
        is_theirs = call is not None and call.name == caller.name
        if call is None or not is_theirs or call.essence != _essence(method, params):
            raise JsonRpcError(
                ErrorCode.INVALID_PARAMS,
                "no request waits for this answer: it came too late, or belongs to another request",
            )
        del self._paused[state]
        call.end_pause()
        return call

    def _pause(self, call: "_PausedCall") -> Answer:
        own = [state for state, other in self._paused.items() if other.name == call.name]
        for state in own[: max(0, len(own) - self._most + 1)]:  # make room
            self._paused.pop(state).cancel()
        state = _STATE_PREFIX + secrets.token_urlsafe(24)
        self._paused[state] = call

        def give_up() -> None:
            self._paused.pop(state, None)
            call.cancel()

        call.pause(asyncio.get_running_loop().call_later(self._time_limit, give_up))
        return {"resultType": "input_required", "inputRequests": call.questions(), "requestState": state}


class _Question:
    def __init__(self, method: str, params: Params) -> None:
        self.request: Answer = {"method": method, "params": dict(params)} if params else {"method": method}
        self.answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()


class _PausedCall:
    """One call, for whose client it works with or without a current request."""

    def __init__(self, caller: "ClientCaller", essence: object) -> None:
        self.session = caller.session
        self.name = caller.name
        self.environment = caller.environment
        self.capabilities = caller.capabilities
        self.log_level = caller.log_level
        self.takes_input_required = caller.takes_input_required
        self.identity = caller.identity
        self.essence = essence
        self.task: asyncio.Task[Any] | None = None
        self._caller: ClientCaller | None = caller
        self._first = caller
        self._questions: dict[str, _Question] = {}
        self._count = 0
        self._progressed = asyncio.Event()  # a new question, or the end of the call
        self._clock: asyncio.TimerHandle | None = None
        self._answer: Answer | None = None
        self._failure: Exception | None = None
        self._is_over = False

    async def run(self, work: Work) -> None:
        """Run the work, and keep its outcome for the client's current or next request."""
        try:
            self._answer = await work(self)
        except Exception as failure:  # `result` raises it
            self._failure = failure
        finally:
            self._is_over = True
            self._progressed.set()

    async def wait(self, caller: "ClientCaller") -> bool:
        """Wait until the call is over or has questions; return True if it is over."""
        self._caller = caller
        try:
            while not self._is_over and not self._questions:
                self._progressed.clear()
                await self._progressed.wait()
        except asyncio.CancelledError:
            self.cancel()
            raise
        finally:
            self._caller = None
        return self._is_over

    def result(self) -> Answer:
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

    def take_answers(self, responses: object) -> None:
        """Take answers; questions without one stay open."""
        given = as_object(responses)
        for key in [key for key in self._questions if isinstance(given.get(key), Mapping)]:
            question = self._questions.pop(key)
            if not question.answer.done():
                question.answer.set_result(dict(given[key]))

    def pause(self, clock: asyncio.TimerHandle) -> None:
        """Note what gives up, unless the client's next request comes first."""
        self._clock = clock

    def end_pause(self) -> None:
        """Wait no longer for the client's next request: it is here."""
        if self._clock is not None:
            self._clock.cancel()

    def cancel(self) -> None:
        """Cancel the call."""
        if self.task is not None:
            self.task.cancel()

    async def ask(self, method: str, params: Params) -> Answer:
        """Ask the client through the answer to its current or next request.

        Raises:
            JsonRpcError: the client cannot answer.
        """
        require_capability(method, params, self.capabilities)
        if method == "roots/list":
            return await self._first.ask(method, params)
        self._count += 1
        key = f"{method.split('/')[0]}-{self._count}"
        self._questions[key] = question = _Question(method, params)
        self._progressed.set()
        try:
            return await question.answer
        finally:
            self._questions.pop(key, None)

    async def notify(self, method: str, params: Params) -> None:
        """Notify the client if it has a current request."""
        if self._caller is not None:
            await self._caller.notify(method, params)


def _essence(method: str, params: Params) -> object:
    """Return the part of a request that a retry must repeat."""
    return method, {name: value for name, value in params.items() if name not in _RETRY_MEMBERS}
