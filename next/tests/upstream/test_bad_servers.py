"""Servers that misbehave: each is contained and named, and costs the others nothing."""

import sys
from pathlib import Path

import anyio
import pytest

from remit.config import Sandbox
from remit.decision import Launch, VariableSyntax
from remit.errors import UpstreamError
from remit.protocol import JsonRpcError, LostError, SessionExpiredError
from remit.upstream import Health, Upstream, UpstreamPool
from remit.upstream.failures import Remains, explain
from remit.upstream.supervisor import pause_after
from support.upstreams import running_pool, script, text_of, told, tool, two_eras, upstream
from support.wires import RecordingCaller

pytestmark = pytest.mark.anyio

ENDED = "ended before it answered (exit code 1)"


async def failing(pool: UpstreamPool, server: Upstream, name: str, **arguments: object) -> UpstreamError:
    with pytest.raises(UpstreamError) as caught:
        await pool.request(server, "tools/call", tool(name, **arguments), RecordingCaller())
    return caught.value


async def call(pool: UpstreamPool, server: Upstream, name: str) -> list[int]:
    return told(await pool.request(server, "tools/call", tool(name), RecordingCaller()))


async def test_a_crash_fails_the_call_with_the_last_output_and_the_next_call_restarts_the_server() -> None:
    server = upstream(two_eras("old", env={"PASSWORD": "hunter22"}))
    async with running_pool() as pool:
        error = await failing(pool, server, "crash")
        assert str(error) == "`speaking` ended before it answered (exit code 7)"
        assert error.hint == "look at its entry in /files/.mcp.json"
        assert error.output == ("out of luck with ***",)
        (status,) = pool.statuses()
        assert (status.health, status.output) == (Health.DOWN, ["out of luck with ***"])
        await call(pool, server, "count")
        assert (pool.statuses()[0].health, pool.statuses()[0].restarts) == (Health.UP, 1)


async def test_a_crash_fails_all_calls_of_that_session_and_no_other() -> None:
    server, other = upstream(two_eras("old")), upstream(two_eras("old"), "other")
    async with running_pool() as pool:
        errors: list[UpstreamError] = []

        async def fail(name: str) -> None:
            errors.append(await failing(pool, server, name))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fail, "hang")
            tasks.start_soon(fail, "crash")
            for _ in range(3):
                await call(pool, other, "count")
    assert [str(error) for error in errors] == ["`speaking` ended before it answered (exit code 7)"] * 2


async def test_a_server_that_fails_repeatedly_gets_a_rest_and_a_model_waits_only_after_the_first() -> None:
    server = upstream(script("import sys; sys.exit('no luck')"))
    async with running_pool() as pool:
        first, second, third = [await failing(pool, server, "echo") for _ in range(3)]
        assert pool.statuses()[0].health is Health.DOWN
    assert str(first) == f"`speaking` {ENDED}"
    assert str(second) == f"`speaking` {ENDED}, 2 times in a row"
    assert str(third).startswith(str(second))
    assert third.output == ("no luck",)
    assert [error.reason for error in (first, second, third)] == [ENDED] * 3
    assert [error.next_step for error in (first, second, third)] == [
        "wait a moment, then call it again",
        None,
        None,
    ]


def test_the_first_retry_is_immediate_and_pauses_grow_up_to_a_rest() -> None:
    assert [pause_after(failures) for failures in (1, 2, 3, 4, 5, 9)] == [0, 1, 2, 4, 30, 30]


async def test_all_who_waited_for_a_failed_start_get_its_failure() -> None:
    server = upstream(script("import sys; sys.stdin.read(1); sys.exit(4)"))
    async with running_pool() as pool:
        errors: list[str] = []

        async def fail(session: str) -> None:
            with pytest.raises(UpstreamError) as caught:
                await pool.request(server, "tools/call", tool("echo"), RecordingCaller(session))
            errors.append(str(caught.value))

        async with anyio.create_task_group() as tasks:
            for session in ("ada", "bob", "cleo", "dan", "eve"):
                tasks.start_soon(fail, session)
    assert errors == ["`speaking` ended before it answered (exit code 4)"] * 5


SLOW = """
import json, os, sys, time
def note(word):
    with open(os.environ["NOTE"], "a") as file:
        file.write(word + " ")
note("started")
for line in sys.stdin:
    asked = json.loads(line)
    said = {"error": {"code": -32601, "message": "no such method"}}
    if asked.get("method") == "initialize":
        said = {"result": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {}}}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **said}), flush=True)
time.sleep(0.1)
note("ended")
"""


async def test_a_start_waits_for_the_end_of_the_session_before(tmp_path: Path) -> None:
    note = tmp_path / "note"
    server = upstream(script(SLOW, {"NOTE": str(note)}))
    async with running_pool() as pool:
        await pool.list(server)
        await pool.list(server, RecordingCaller())  # takes another session than the one before
    assert note.read_text() == "started ended started ended "


@pytest.mark.long
async def test_a_call_that_takes_too_long_fails_alone() -> None:
    server = upstream(two_eras("old"), patience=1.0)
    async with running_pool() as pool:
        before = await call(pool, server, "count")
        errors: list[UpstreamError] = []

        async def hang() -> None:
            errors.append(await failing(pool, server, "hang"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hang)
            while not errors:
                await pool.request(server, "tools/call", tool("echo"), RecordingCaller())
        after = await call(pool, server, "count")
    assert str(errors[0]) == "`speaking` did not answer within 1 s"
    assert after == [2, before[1]]


@pytest.mark.long
async def test_a_server_that_is_silent_all_that_time_is_ended() -> None:
    server = upstream(two_eras("old"), patience=1.0)
    async with running_pool() as pool:
        before = await call(pool, server, "count")
        await failing(pool, server, "freeze")
        after = await call(pool, server, "count")
    assert (after[0], after[1] != before[1]) == (1, True)


async def test_an_answer_that_cannot_be_read_or_a_flood_of_messages_is_named() -> None:
    server = upstream(two_eras("old"))
    async with running_pool() as pool:
        unreadable = await failing(pool, server, "unreadable")
        count = (await call(pool, server, "count"))[0]
        flood = await failing(pool, server, "flood")
    assert str(unreadable) == "`speaking` answers with a message that cannot be read"
    assert count == 1
    assert str(flood) == "`speaking` floods Remit with messages"


async def test_a_server_that_does_not_start_in_time_is_named() -> None:
    server = upstream(script("import time; time.sleep(1000)"), deadline=0.2)
    async with running_pool() as pool:
        assert str(await failing(pool, server, "echo")) == "`speaking` did not answer within 0.2 s"


async def test_a_command_that_does_not_exist_and_a_variable_that_is_not_set_are_named() -> None:
    unset = Launch(command="${NOWHERE}", syntaxes=(VariableSyntax.DEFAULTS,))
    async with running_pool() as pool:
        absent = await failing(pool, upstream(Launch(command="/no/such/program")), "echo")
        missing = await failing(pool, upstream(unset, "other"), "echo")
    assert str(absent) == "`speaking` cannot be started: its command was not found"
    assert str(missing) == "`other` needs `NOWHERE`, which is not set"
    assert missing.hint == "set NOWHERE in your environment, or give it a default in /files/.mcp.json"


def test_the_last_line_of_a_sandbox_is_its_failure_and_a_server_in_it_may_need_the_network() -> None:
    boxed = upstream(Launch(command="npx"), sandbox=Sandbox())
    own = explain(LostError(), boxed, Remains("starting\nbwrap: No such file\n", 1), ())
    servers = explain(LostError(), boxed, Remains("cannot download\n", 1), ())
    assert own.reason == "cannot be started in its sandbox: No such file"
    assert servers.reason == "ended before it answered (exit code 1)"
    assert servers.hint is not None
    assert servers.hint.endswith("to install a package, it needs `network = true`")


LEAKY = """
import json, os, sys
token, pin = os.environ["API_KEY"], os.environ["PIN"]
for line in sys.stdin:
    asked = json.loads(line)
    method, params = asked.get("method"), asked.get("params", {})
    if method == "initialize":
        said = {"result": {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": {}}}
    elif method == "tools/list":
        said = {"result": {"tools": [{"name": "bad " + token, "inputSchema": {"type": "array"}}]}}
        if os.environ.get("REFUSES"):
            said = {"error": {"code": 1, "message": "cannot list with " + token}}
    elif params.get("name") == "ask":
        url = {"mode": "url", "url": "https://example.com/" + pin, "message": "Sign in", "elicitationId": "1"}
        data = {"elicitations": [url]}
        said = {"error": {"code": -32042, "message": "sign in with " + token, "data": data}}
    elif params.get("name") == "result":
        said = {"result": {"isError": True, "content": [{"type": "text", "text": "failed with " + token}]}}
    else:
        data = {"seen": [token.encode().hex(), 7], pin: None}
        said = {"error": {"code": 1, "message": f"failed with {token} and {pin}", "data": data}}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **said}), flush=True)
"""
SECRETS = {"API_KEY": "s3cr3t-v4lue-0f-mine", "PIN": "837261"}


async def test_errors_lose_secrets_but_results_and_the_address_to_open_stay_unchanged() -> None:
    server = upstream(script(LEAKY, SECRETS))
    async with running_pool() as pool:
        errors: list[JsonRpcError] = []
        for name in ("fail", "ask"):
            with pytest.raises(JsonRpcError) as caught:
                await pool.request(server, "tools/call", tool(name), RecordingCaller())
            errors.append(caught.value)
        result = await pool.request(server, "tools/call", tool("result"), RecordingCaller())
        offer = await pool.list(server)
    assert errors[0].as_object() == {
        "code": 1,
        "message": "failed with *** and ***",
        "data": {"seen": ["***", 7], "***": None},
    }
    assert str(errors[1]) == "sign in with ***"
    assert "https://example.com/837261" in str(errors[1].data)
    assert text_of(result) == "failed with s3cr3t-v4lue-0f-mine"
    assert [bad.tool for bad in offer.quarantined] == ["bad ***"]


async def test_an_error_instead_of_a_list_is_a_failure_without_secrets() -> None:
    server = upstream(script(LEAKY, {**SECRETS, "REFUSES": "1"}))
    async with running_pool() as pool:
        with pytest.raises(UpstreamError) as caught:
            await pool.list(server)
    assert str(caught.value) == "`speaking` answers with an error: cannot list with ***"


def test_an_error_in_a_group_is_explained_by_its_first() -> None:
    error = ExceptionGroup("", [SessionExpiredError(404, "Not Found")])
    assert explain(error, upstream(Launch(command=sys.executable)), Remains(), ()).reason == (
        "answers 404 Not Found"
    )
