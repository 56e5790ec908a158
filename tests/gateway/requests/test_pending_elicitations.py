"""Calls that wait for the answer of a client that is only ever answered."""

from collections.abc import Awaitable, Callable
from typing import Any, cast

import anyio
import pytest

from remit.gateway.requests.client_request import ClientRequest
from remit.gateway.requests.pending_elicitations import PendingElicitations
from remit.gateway.requests.request_contexts import Channel, StatelessRequestContext
from remit.protocol.era import Era
from remit.protocol.json_rpc import Answer, JsonRpcError
from remit.upstream.ports import RequestContext

ASKED = {"name": "deploy", "arguments": {"to": "production"}}
HERE = {"roots": [{"uri": "file:///code"}]}
QUESTION = {"message": "Sure?", "requestedSchema": {"type": "object"}}
YES: dict[str, object] = {"action": "accept", "content": {}}


class Told:
    """Where a request's notifications go."""

    def __init__(self) -> None:
        self.told: list[object] = []

    async def send_request(self, *_: object) -> dict[str, Any]:
        raise AssertionError("a client of 2026 is never sent a request")

    async def notify(self, _: str, params: object) -> None:
        self.told.append(params)


def caller(principal: str | None = "ada", told: Told | None = None) -> StatelessRequestContext:
    can: dict[str, object] = {"elicitation": {}, "sampling": {}, "roots": {}}
    channel = cast(Channel, told or Told())
    request = ClientRequest(1, "tools/call", {}, channel, Era.STATELESS, principal=principal)
    return StatelessRequestContext(request, session="s", capabilities=can, log_level=None, roots=HERE)


class Work:
    """A call that asks, and notes what becomes of it."""

    def __init__(self) -> None:
        self.ended: list[str] = []

    async def __call__(self, asking: RequestContext) -> Answer:
        try:
            answer = await asking.send_request("elicitation/create", QUESTION)
            await asking.notify("notifications/progress", {"progress": 1})
        except anyio.get_cancelled_exc_class():
            self.ended.append("cancelled")
            raise
        self.ended.append(answer["action"])
        return {"content": [], "said": answer["action"]}


def hold(use: Callable[[PendingElicitations], Awaitable[None]], **given: Any) -> None:
    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            await use(PendingElicitations(tasks, **given))
            tasks.cancel_scope.cancel()

    anyio.run(run)


async def until(work: Work, count: int = 1) -> None:
    with anyio.fail_after(30):
        while len(work.ended) < count:
            await anyio.sleep(0.005)


def retry(first: Answer, **changed: object) -> dict[str, Any]:
    (key,) = first["inputRequests"]
    return {**ASKED, "requestState": first["requestState"], "inputResponses": {key: YES}, **changed}


def test_a_question_is_the_answer_and_its_answer_ends_the_call() -> None:
    work, told = Work(), Told()

    async def use(held: PendingElicitations) -> None:
        first = await held.run("tools/call", ASKED, caller(), work)
        assert first["resultType"] == "input_required"
        (question,) = first["inputRequests"].values()
        assert question == {"method": "elicitation/create", "params": QUESTION}
        last = await held.run("tools/call", retry(first), caller(told=told), work)
        assert last == {"content": [], "said": "accept"}

    hold(use)
    assert work.ended == ["accept"]
    assert told.told == [{"progress": 1}]  # to the request that is there, and not to the first


def test_unanswered_questions_are_asked_again() -> None:
    work = Work()

    async def use(held: PendingElicitations) -> None:
        first = await held.run("tools/call", ASKED, caller(), work)
        second = await held.run("tools/call", retry(first, inputResponses={"other": YES}), caller(), work)
        assert second["inputRequests"] == first["inputRequests"]
        assert second["requestState"] != first["requestState"]
        assert (await held.run("tools/call", retry(second), caller(), work))["said"] == "accept"

    hold(use)


@pytest.mark.parametrize(
    ("method", "changed", "principal"),
    [
        ("tools/call", {}, "eve"),
        ("tools/call", {}, None),
        ("tools/call", {"arguments": {"to": "elsewhere"}}, "ada"),
        ("tools/call", {"name": "destroy"}, "ada"),
        ("prompts/get", {}, "ada"),
        ("tools/call", {"requestState": "remit.guessed"}, "ada"),
    ],
)
def test_an_answer_counts_only_for_the_same_request_of_the_same_principal(
    method: str, changed: dict[str, object], principal: str | None
) -> None:
    work = Work()

    async def use(held: PendingElicitations) -> None:
        first = await held.run("tools/call", ASKED, caller(), work)
        with pytest.raises(JsonRpcError, match="no request waits for this answer"):
            await held.run(method, retry(first, **changed), caller(principal), work)
        assert (await held.run("tools/call", retry(first), caller(), work))["said"] == "accept"

    hold(use)


def test_an_answer_counts_once() -> None:
    work = Work()

    async def use(held: PendingElicitations) -> None:
        first = await held.run("tools/call", ASKED, caller(), work)
        await held.run("tools/call", retry(first), caller(), work)
        with pytest.raises(JsonRpcError):
            await held.run("tools/call", retry(first), caller(), work)

    hold(use)


def test_an_abandoned_call_is_cancelled() -> None:
    work = Work()

    async def use(held: PendingElicitations) -> None:
        first = await held.run("tools/call", ASKED, caller(), work)
        await until(work)
        with pytest.raises(JsonRpcError):
            await held.run("tools/call", retry(first), caller(), work)

    hold(use, time_limit=0.01)
    assert work.ended == ["cancelled"]


def test_the_oldest_calls_of_a_principal_make_room_and_those_of_others_stay() -> None:
    work = Work()

    async def use(held: PendingElicitations) -> None:
        others = await held.run("tools/call", ASKED, caller("eve"), work)
        firsts = [await held.run("tools/call", ASKED, caller(), work) for _ in range(3)]
        await until(work)
        with pytest.raises(JsonRpcError):
            await held.run("tools/call", retry(firsts[0]), caller(), work)
        for first in firsts[1:]:
            assert (await held.run("tools/call", retry(first), caller(), work))["said"] == "accept"
        assert (await held.run("tools/call", retry(others), caller("eve"), work))["said"] == "accept"

    hold(use, max_paused=2)


def test_cancelling_a_request_cancels_its_call() -> None:
    ended: list[str] = []
    started = anyio.Event()

    async def work(_: RequestContext) -> Answer:
        started.set()
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            ended.append("cancelled")
            raise
        return {}

    async def use(held: PendingElicitations) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(held.run, "tools/call", ASKED, caller(), work)
            await started.wait()
            tasks.cancel_scope.cancel()

    hold(use)
    assert ended == ["cancelled"]


def test_a_failure_after_the_answer_is_the_requests_own() -> None:
    async def work(asking: RequestContext) -> Answer:
        await asking.send_request("elicitation/create", QUESTION)
        raise JsonRpcError(-1, "it failed", {"x": 1})

    async def use(held: PendingElicitations) -> None:
        first = await held.run("tools/call", ASKED, caller(), work)
        with pytest.raises(JsonRpcError, match="it failed") as failed:
            await held.run("tools/call", retry(first), caller(), work)
        assert (failed.value.code, failed.value.data) == (-1, {"x": 1})

    hold(use)


def test_a_call_that_ends_without_the_answer_keeps_its_result_for_the_client() -> None:
    done = anyio.Event()

    async def work(asking: RequestContext) -> Answer:
        async with anyio.create_task_group() as tasks:
            # As a server does while it works.
            tasks.start_soon(asking.send_request, "elicitation/create", QUESTION)
            await anyio.sleep(0)
            await done.wait()
            tasks.cancel_scope.cancel()
        return {"content": [], "said": "done"}

    async def use(held: PendingElicitations) -> None:
        first = await held.run("tools/call", ASKED, caller(), work)
        done.set()
        await anyio.wait_all_tasks_blocked()
        assert (await held.run("tools/call", retry(first), caller(), work))["said"] == "done"
        with pytest.raises(JsonRpcError):
            await held.run("tools/call", retry(first), caller(), work)

    hold(use)


def test_roots_need_no_round_trip() -> None:
    async def work(asking: RequestContext) -> Answer:
        return await asking.send_request("roots/list", {})

    async def use(held: PendingElicitations) -> None:
        assert await held.run("tools/call", ASKED, caller(), work) == HERE

    hold(use)


def test_a_state_of_an_upstreams_own_goes_through() -> None:
    seen: list[Answer] = []

    async def work(_: RequestContext) -> Answer:
        seen.append({})
        return {"resultType": "input_required", "requestState": "theirs"}

    async def use(held: PendingElicitations) -> None:
        asked = {**ASKED, "requestState": "theirs", "inputResponses": {}}
        assert (await held.run("tools/call", asked, caller(), work))["requestState"] == "theirs"

    hold(use)
    assert len(seen) == 1
