"""Answers the `input_required` questions of stateless servers through clients with a session."""

from collections.abc import Awaitable, Callable

import anyio

from remit.protocol.json_rpc import Answer, JsonRpcError, Params
from remit.text.json_values import as_object
from remit.upstream.messaging.messages import ProtocolError
from remit.upstream.ports import RequestContext

MAX_ROUNDS = 10
MAX_QUESTIONS = 16  # per answer
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 0.25  # seconds, if a server only wants a retry


def is_input_required(answer: Answer) -> bool:
    """Check whether an answer asks for input."""
    return answer.get("resultType") == "input_required"


async def complete_input(
    answer: Answer, params: Params, caller: RequestContext, retry: Callable[[Params], Awaitable[Answer]]
) -> Answer:
    """Ask a caller for the required input and retry the request, until the server has all it needs.

    Raises:
        JsonRpcError: the caller's client cannot answer, or refuses.
        ProtocolError: the server never stops asking, or asks something unreadable.
    """
    pause = _FIRST_PAUSE
    for _ in range(MAX_ROUNDS):
        questions = _questions(answer)
        more = dict(params)
        if questions:
            more["inputResponses"] = await _responses(questions, caller)
        else:
            await anyio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        if "requestState" in answer:
            more["requestState"] = answer["requestState"]
        answer = await retry(more)
        if not is_input_required(answer):
            return answer
    raise ProtocolError("does not stop asking")


def _questions(answer: Answer) -> dict[str, tuple[str, Params]]:
    found: dict[str, tuple[str, Params]] = {}
    questions = as_object(answer.get("inputRequests"))
    if len(questions) > MAX_QUESTIONS:
        raise ProtocolError(f"asks more than {MAX_QUESTIONS} questions at once")
    for name, question in questions.items():
        method = as_object(question).get("method")
        if not isinstance(method, str):
            raise ProtocolError("asks something that cannot be read")
        found[name] = method, as_object(as_object(question).get("params"))
    return found


async def _responses(questions: dict[str, tuple[str, Params]], caller: RequestContext) -> dict[str, Answer]:
    responses: dict[str, Answer] = {}
    refusals: list[JsonRpcError] = []

    async def ask(name: str, method: str, params: Params) -> None:
        try:
            responses[name] = await caller.send_request(method, params)
        except JsonRpcError as error:
            refusals.append(error)
            tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        for name, (method, params) in questions.items():
            tasks.start_soon(ask, name, method, params)
    if refusals:
        raise refusals[0]
    return {name: responses[name] for name in questions}
