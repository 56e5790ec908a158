"""Calls that wait for their client's answer, where a client of 2026 is asked by answering it.

Something an upstream asks becomes the answer `input_required`; the call goes on in a task of its own until
the client comes back with what was asked.
"""

import math
import secrets
from collections.abc import Awaitable, Callable, Mapping

import anyio
from anyio.abc import TaskGroup

from remit.gateway.requests.era_adapters import as_object
from remit.gateway.requests.request_contexts import ROOTS, StatelessRequestContext, require
from remit.protocol.constants import INVALID_PARAMS
from remit.upstream.ports import Answer, JsonRpcError, Params, RequestContext

PATIENCE = 300.0  # seconds that a person may take
MOST = 32  # calls of one principal that may wait

_OURS = "remit."
_OF_A_RETRY = frozenset({"_meta", "inputResponses", "requestState"})

Work = Callable[[RequestContext], Awaitable[Answer]]


class PendingElicitations:
    """The calls of one endpoint that wait."""

    def __init__(self, tasks: TaskGroup, *, patience: float = PATIENCE, most: int = MOST) -> None:
        self._tasks = tasks
        self._patience = patience
        self._most = most
        self._waiting: dict[str, _PausedCall] = {}

    async def run(self, method: str, asked: Params, caller: StatelessRequestContext, work: Work) -> Answer:
        """Do the work of a request, or go on with it where it waited for this one.

        Raises:
            JsonRpcError: the request fails, or nothing waits for this answer.
        """
        state = asked.get("requestState")
        if isinstance(state, str) and state.startswith(_OURS):
            call = self._claim(state, method, asked, caller)
            call.answer(asked.get("inputResponses"))
        elif caller.may_be_asked:
            call = _PausedCall(caller, _essence(method, asked))
            self._tasks.start_soon(call.run, work)
        else:
            return await work(caller)
        if await call.attend(caller):
            return call.outcome()
        return self._wait(call)

    def _claim(
        self, state: str, method: str, asked: Params, caller: StatelessRequestContext
    ) -> "_PausedCall":
        call = self._waiting.get(state)
        is_theirs = call is not None and call.principal == caller.principal
        if call is None or not is_theirs or call.essence != _essence(method, asked):
            raise JsonRpcError(
                INVALID_PARAMS, "nothing waits for this answer: it came too late, or the request is another"
            )
        del self._waiting[state]
        call.claimed.set()
        return call

    def _wait(self, call: "_PausedCall") -> Answer:
        own = [state for state, other in self._waiting.items() if other.principal == call.principal]
        for state in own[: max(0, len(own) - self._most + 1)]:  # the oldest give way
            self._waiting.pop(state).give_up()
        state = _OURS + secrets.token_urlsafe(24)
        self._waiting[state] = call
        call.await_until(anyio.current_time() + self._patience, lambda: self._waiting.pop(state, None))
        return {"resultType": "input_required", "inputRequests": call.questions(), "requestState": state}


class _Question:
    def __init__(self, method: str, params: Params) -> None:
        self.asked = {"method": method, "params": dict(params)} if params else {"method": method}
        self.answered = anyio.Event()
        self.answer: Answer = {}


class _PausedCall:
    """One call, and the caller it is made for: whichever request of the client is there just now."""

    takes_input_required = True

    def __init__(self, caller: StatelessRequestContext, essence: object) -> None:
        self.session = caller.session
        self.principal = caller.principal
        self.bound_projects = caller.bound_projects
        self.capabilities = caller.capabilities
        self.log_level = caller.log_level
        self._roots = caller.roots
        self.essence = essence
        self._caller: StatelessRequestContext | None = caller
        self._questions: dict[str, _Question] = {}
        self._asked = 0
        self._moved = anyio.Event()  # a question came, or the end
        self._scope = anyio.CancelScope()
        self._answer: Answer | None = None
        self._failure: Exception | None = None
        self._is_over = False
        self._deadline = math.inf
        self._forget: Callable[[], object] = lambda: None
        self.claimed = anyio.Event()  # the client came back

    async def run(self, work: Work) -> None:
        """Do the work; what comes of it is kept for the request that asks."""
        with self._scope:
            try:
                self._answer = await work(self)
            except Exception as failure:  # raised again where the request is answered
                self._failure = failure
        self._is_over = True
        self._moved.set()
        if self._caller is None and not self._scope.cancelled_caught:
            # What was asked was not needed in the end; the client answers it all the same, and wants this.
            with anyio.move_on_after(self._deadline - anyio.current_time()):
                await self.claimed.wait()
        self._forget()

    async def attend(self, caller: StatelessRequestContext) -> bool:
        """Stay with the call until it is over, or until something is asked; whether it is over."""
        self._caller, self._deadline = caller, math.inf
        self._scope.deadline = math.inf
        try:
            while not self._is_over and not self._questions:
                self._moved = anyio.Event()
                await self._moved.wait()
        except anyio.get_cancelled_exc_class():
            self._scope.cancel()
            raise
        finally:
            self._caller = None
        return self._is_over

    def outcome(self) -> Answer:
        """Give what came of it.

        Raises:
            JsonRpcError: it failed.
        """
        if self._failure is not None:
            raise self._failure
        if self._answer is None:
            raise JsonRpcError(INVALID_PARAMS, "the call waited too long for its answer")
        return self._answer

    def questions(self) -> Answer:
        """List what is asked, by the keys under which answers are to come."""
        return {key: question.asked for key, question in self._questions.items()}

    def answer(self, responses: object) -> None:
        """Hand over answers; what has none yet stays asked."""
        given = as_object(responses)
        for key in [key for key in self._questions if isinstance(given.get(key), Mapping)]:
            question = self._questions.pop(key)
            question.answer = dict(given[key])
            question.answered.set()

    def await_until(self, deadline: float, forget: Callable[[], object]) -> None:
        """Wait for the client's next request; give up at a time."""
        self._deadline = self._scope.deadline = deadline
        self._forget, self.claimed = forget, anyio.Event()

    def give_up(self) -> None:
        """End the call."""
        self._scope.cancel()

    async def send_request(self, method: str, params: Params) -> Answer:
        """Ask its client, by the answer of whichever request is there now or comes next.

        Raises:
            JsonRpcError: the client did not say that it can answer.
        """
        require(method, params, self.capabilities)
        if method == ROOTS:
            return self._roots
        self._asked += 1
        key = f"{method.split('/')[0]}-{self._asked}"
        self._questions[key] = question = _Question(method, params)
        self._moved.set()
        try:
            await question.answered.wait()
        finally:
            self._questions.pop(key, None)
        return question.answer

    async def notify(self, method: str, params: Params) -> None:
        """Tell its client, where a request of it is there to be told."""
        if self._caller is not None:
            await self._caller.notify(method, params)


def _essence(method: str, asked: Params) -> object:
    """What a request must still say when it comes again."""
    return method, {name: value for name, value in asked.items() if name not in _OF_A_RETRY}
