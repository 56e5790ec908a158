"""Between the eras: a server of the new one asks through its answer, a client of the old one is asked."""

from collections.abc import Awaitable, Callable

import anyio

from remit.upstream.messaging.messages import ProtocolError, fields
from remit.upstream.ports import Answer, JsonRpcError, Params, RequestContext

MAX_ROUNDS = 10
MAX_QUESTIONS = 16  # of one answer
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 0.25  # seconds, where a server wants nothing but to be asked again


def is_input_required(answer: Answer) -> bool:
    """Tell whether an answer is a question."""
    return answer.get("resultType") == "input_required"


async def complete_input(
    answer: Answer, params: Params, caller: RequestContext, again: Callable[[Params], Awaitable[Answer]]
) -> Answer:
    """Ask a caller whatever a server wants to know, until it has what it needs.

    Raises:
        JsonRpcError: the caller's client cannot, or says no with an error.
        ProtocolError: the server does not stop asking, or asks what nobody understands.
    """
    pause = _FIRST_PAUSE
    for _ in range(MAX_ROUNDS):
        asked = _questions(answer)
        more = dict(params)
        if asked:
            more["inputResponses"] = await _responses(asked, caller)
        else:
            await anyio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        if "requestState" in answer:
            more["requestState"] = answer["requestState"]
        answer = await again(more)
        if not is_input_required(answer):
            return answer
    raise ProtocolError("does not stop asking")


def _questions(answer: Answer) -> dict[str, tuple[str, Params]]:
    found: dict[str, tuple[str, Params]] = {}
    questions = fields(answer.get("inputRequests"))
    if len(questions) > MAX_QUESTIONS:
        raise ProtocolError(f"asks more than {MAX_QUESTIONS} questions at once")
    for name, question in questions.items():
        method = fields(question).get("method")
        if not isinstance(method, str):
            raise ProtocolError("asks something that cannot be read")
        found[name] = method, fields(fields(question).get("params"))
    return found


async def _responses(asked: dict[str, tuple[str, Params]], caller: RequestContext) -> dict[str, Answer]:
    responses: dict[str, Answer] = {}
    refusals: list[JsonRpcError] = []

    async def one(name: str, method: str, params: Params) -> None:
        try:
            responses[name] = await caller.send_request(method, params)
        except JsonRpcError as error:
            refusals.append(error)
            tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        for name, (method, params) in asked.items():
            tasks.start_soon(one, name, method, params)
    if refusals:
        raise refusals[0]
    return {name: responses[name] for name in asked}
