"""What servers may say without having been asked, and how much of it."""

import anyio
import pytest

from remit.protocol.json_rpc import Answer, Params
from remit.upstream.messaging.demultiplexer import (
    BURST,
    MAX_ELICITATIONS,
    MAX_REPLIES,
    Demultiplexer,
    UrlElicitations,
)
from remit.upstream.messaging.input_bridge import MAX_QUESTIONS, complete_input
from remit.upstream.messaging.messages import Message, ProtocolError
from support.upstream_pools import RecordingCaller

pytestmark = pytest.mark.anyio


class Deaf:
    """A wire to a server that reads nothing."""

    async def send(self, _: Message) -> None:
        await anyio.sleep_forever()


@pytest.mark.parametrize(
    "message", [{"jsonrpc": "2.0", "id": 7, "result": {}}, [], [[]], "words", {"id": 7, "error": {}}], ids=str
)
async def test_unexpected_answers_count_as_a_flood(message: object) -> None:
    async with anyio.create_task_group() as tasks:
        demultiplexer = Demultiplexer(tasks, lambda _, __: None)
        for _ in range(100):
            demultiplexer.take(message, 1)
        assert demultiplexer.fault is None
        for _ in range(2 * BURST):
            demultiplexer.take(message, 1)
        assert "floods" in str(demultiplexer.fault)


async def test_a_batch_counts_each_message() -> None:
    async with anyio.create_task_group() as tasks:
        demultiplexer = Demultiplexer(tasks, lambda _, __: None)
        demultiplexer.take([{"jsonrpc": "2.0", "method": "notifications/message"}] * (2 * BURST), 1)
        assert "floods" in str(demultiplexer.fault)


async def test_a_server_that_does_not_read_answers_is_disconnected() -> None:
    async with anyio.create_task_group() as tasks:
        demultiplexer = Demultiplexer(tasks, lambda _, __: None)
        demultiplexer.transport = Deaf()  # pyright: ignore[reportAttributeAccessIssue] - nothing else is asked of it
        for number in range(MAX_REPLIES + 1):
            assert demultiplexer.fault is None
            demultiplexer.take({"jsonrpc": "2.0", "id": number, "method": "ping"}, 1)
            if number % 16 == 0 or number >= MAX_REPLIES - 1:
                await anyio.wait_all_tasks_blocked()
        assert "floods" in str(demultiplexer.fault)
        tasks.cancel_scope.cancel()


async def test_the_questions_of_one_answer_are_limited() -> None:
    async def again(_: Params) -> Answer:
        return {}

    question: Answer = {"method": "elicitation/create"}
    answer: Answer = {
        "resultType": "input_required",
        "inputRequests": {str(number): question for number in range(MAX_QUESTIONS + 1)},
    }
    with pytest.raises(ProtocolError, match="more than 16 questions"):
        await complete_input(answer, {}, RecordingCaller(), again)


def test_url_elicitations_are_remembered_once_and_limited() -> None:
    asked, ada, eve = UrlElicitations(), RecordingCaller(), RecordingCaller()
    asked.note({"mode": "form", "elicitationId": "form"}, ada)
    asked.note({"mode": "url", "elicitationId": 7}, ada)
    asked.note({"mode": "url", "elicitationId": "page"}, ada)
    needed = {"elicitations": [{"mode": "url", "elicitationId": "first"}, "odd"]}
    asked.note_required({"error": {"code": -32042, "data": needed}}, eve)
    asked.note_required({"error": {"code": -32603, "data": {"elicitations": [{"elicitationId": "x"}]}}}, eve)
    asked.note_required({"error": {"code": -32042, "data": {"elicitations": 7}}}, eve)
    named = ("form", 7, "x", "page", "page", "first")
    found = [asked.pop_completed({"elicitationId": name}) for name in named]
    assert found == [None, None, None, ada, None, eve]
    for number in range(MAX_ELICITATIONS + 1):
        asked.note({"mode": "url", "elicitationId": str(number)}, ada)
    assert [asked.pop_completed({"elicitationId": name}) for name in ("0", "1")] == [None, ada]
