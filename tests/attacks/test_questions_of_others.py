"""A server that several people share asks about the call of one: nobody else is asked, or reads its log."""

import sys
from pathlib import Path

import anyio
import pytest

from remit.decision.declared_launch import Launch
from remit.protocol.json_rpc import Answer, Params
from remit.upstream.upstream_model import Sharing
from support.upstream_pools import RecordingCaller, open_pool, text_of, tool, upstream

pytestmark = pytest.mark.anyio
WIPE, WAIT = tool("wipe"), tool("wait")
_PROGRAM = """
import json, sys

def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def answer(asked, text):
    send(id=asked, result={"content": [{"type": "text", "text": text}]})

waiting = []
for line in sys.stdin:
    said = json.loads(line)
    method = said.get("method")
    if method == "initialize":
        send(id=said["id"], result={"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "shared", "version": "1"}})
    elif method == "tools/call":
        waiting.append((said["id"], said["params"]["name"]))
        if len(waiting) == int(sys.argv[1]):
            log = {"level": "info", "data": "grace wipes"}
            send(method="notifications/message", params=log)
            question = {"message": "wipe all of grace?", "requestedSchema": {"type": "object"}}
            send(id="q", method="elicitation/create", params=question)
    elif said.get("id") == "q":
        for each, _ in waiting:
            answer(each, "refused" if "error" in said else said["result"]["action"])
    elif "id" in said:
        send(id=said["id"], error={"code": -32601, "message": "unknown"})
"""


class Person(RecordingCaller):
    """A person at a client of their own, who accepts whatever is asked."""

    def __init__(self, name: str) -> None:
        self.asked: list[str] = []
        super().__init__(session=f"session of {name}", principal=name, answer=self._accept)

    async def _accept(self, method: str, _: Params) -> Answer:
        self.asked.append(method)
        return {"action": "accept", "content": {}}


def shared(folder: Path, calls: int) -> Launch:
    program = folder / "shared.py"
    program.write_text(_PROGRAM, encoding="utf-8")
    return Launch(command=sys.executable, args=("-IS", str(program), str(calls)))


@pytest.mark.parametrize("sharing", [Sharing.SHARED, Sharing.SINGLE])
async def test_a_question_about_the_call_of_one_reaches_nobody_else(tmp_path: Path, sharing: Sharing) -> None:
    server = upstream(shared(tmp_path, 2), sharing=sharing)
    grace, eve = Person("grace"), Person("eve")
    answers: list[str] = []
    async with open_pool() as pool, anyio.create_task_group() as tasks:

        async def call(asked: Params, caller: Person) -> None:
            answers.append(text_of(await pool.request(server, "tools/call", asked, caller)))

        with anyio.fail_after(60):
            tasks.start_soon(call, WIPE, grace)
            await anyio.wait_all_tasks_blocked()
            await call(WAIT, eve)
            while len(answers) < 2:
                await anyio.sleep(0.01)
    assert (grace.asked, eve.asked) == ([], [])
    assert (grace.told, eve.told) == ([], [])
    assert answers == ["refused", "refused"]


async def test_the_only_caller_is_asked(tmp_path: Path) -> None:
    server = upstream(shared(tmp_path, 1), sharing=Sharing.SHARED)
    grace = Person("grace")
    async with open_pool() as pool:
        with anyio.fail_after(60):
            assert text_of(await pool.request(server, "tools/call", WIPE, grace)) == "accept"
    assert grace.asked == ["elicitation/create"]
    assert [method for method, _ in grace.told] == ["notifications/message"]
