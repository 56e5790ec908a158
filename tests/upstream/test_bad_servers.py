"""Servers that misbehave: each is contained and named, and costs the others nothing."""

import json
import os
import sys

import anyio
import pytest

from remit.decision.declared_launch import Launch, VariableSyntax
from remit.errors import UpstreamError
from remit.protocol.json_rpc import JsonRpcError
from remit.settings import NESTED
from remit.upstream.ports import Health
from remit.upstream.tool_reader import read_offer
from remit.upstream.upstream_model import Upstream
from remit.upstream.upstream_pool import UpstreamPool
from support.upstream_pools import RecordingCaller, open_pool, text_of, tool, two_era_launch, upstream

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def failing(made: UpstreamPool, server: Upstream, name: str, **arguments: object) -> UpstreamError:
    with pytest.raises(UpstreamError) as caught:
        await made.request(server, "tools/call", tool(name, **arguments), RecordingCaller())
    return caught.value


async def test_a_crash_fails_the_call_with_the_last_output_and_the_next_call_restarts_the_server() -> None:
    server = upstream(two_era_launch("old", env={"PASSWORD": "hunter22"}))
    async with open_pool() as made:
        error = await failing(made, server, "crash")
        assert str(error) == "`speaking` ended before it answered (exit code 7)"
        assert error.hint == "look at its entry in /files/.mcp.json"
        assert error.output == ("out of luck with ***",)
        assert made.statuses()[0].health is Health.DOWN
        answer = await made.request(server, "tools/call", tool("echo", x=1), RecordingCaller())
        assert made.statuses()[0].health is Health.UP
    assert text_of(answer) == '{"x": 1}'


async def test_a_crash_fails_all_calls_of_that_session_and_no_other() -> None:
    server, other = upstream(two_era_launch("old")), upstream(two_era_launch("old"), "other")
    async with open_pool() as made:
        errors: list[UpstreamError] = []

        async def fail(name: str) -> None:
            errors.append(await failing(made, server, name))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fail, "hang")
            tasks.start_soon(fail, "crash")
            for _ in range(3):
                await made.request(other, "tools/call", tool("echo"), RecordingCaller())
    assert [str(error) for error in errors] == ["`speaking` ended before it answered (exit code 7)"] * 2


async def test_a_server_that_fails_repeatedly_gets_a_rest() -> None:
    server = upstream(Launch(command=sys.executable, args=("-c", "import sys; sys.exit('no luck')")))
    async with open_pool() as made:
        first = await failing(made, server, "echo")
        second = await failing(made, server, "echo")
        third = await failing(made, server, "echo")
        assert made.statuses()[0].health is Health.DOWN
    ended = "ended before it answered (exit code 1)"
    assert str(first) == f"`speaking` {ended}"
    assert str(second) == f"`speaking` {ended}, 2 times in a row"
    assert str(third).startswith(str(second))
    assert third.output == ("no luck",)
    assert [error.reason for error in (first, second, third)] == [ended] * 3


async def test_a_model_waits_for_a_server_that_failed_once_and_not_for_one_that_keeps_failing() -> None:
    server = upstream(Launch(command=sys.executable, args=("-c", "import sys; sys.exit('no luck')")))
    async with open_pool() as made:
        steps = [(await failing(made, server, "echo")).next_step for _ in range(3)]
    assert steps == ["wait a moment, then call it again", None, None]


@pytest.mark.long
async def test_a_call_that_takes_too_long_fails_alone() -> None:
    server = upstream(two_era_launch("old"), patience=3.0)
    async with open_pool() as made:
        before = json.loads(
            text_of(await made.request(server, "tools/call", tool("count"), RecordingCaller()))
        )
        errors: list[UpstreamError] = []

        async def hang() -> None:
            errors.append(await failing(made, server, "hang"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hang)
            while not errors:
                await made.request(server, "tools/call", tool("echo"), RecordingCaller())
        after = json.loads(
            text_of(await made.request(server, "tools/call", tool("count"), RecordingCaller()))
        )
    assert str(errors[0]) == "`speaking` did not answer within 3 s"
    assert (after[0], after[1]) == (2, before[1])


@pytest.mark.long
async def test_a_server_that_hangs_is_restarted() -> None:
    server = upstream(two_era_launch("old"), patience=2.0)
    async with open_pool() as made:
        before = json.loads(
            text_of(await made.request(server, "tools/call", tool("count"), RecordingCaller()))
        )
        await failing(made, server, "freeze")
        patient = upstream(two_era_launch("old"), patience=60.0)
        after = json.loads(
            text_of(await made.request(patient, "tools/call", tool("count"), RecordingCaller()))
        )
    assert (after[0], after[1] != before[1]) == (1, True)


@pytest.mark.long
async def test_progress_gives_a_call_more_time() -> None:
    server = upstream(two_era_launch("old"), patience=1.0)
    async with open_pool() as made:
        asked = {**tool("slowly", seconds=2), "_meta": {"progressToken": 1}}
        answer = await made.request(server, "tools/call", asked, RecordingCaller())
        await failing(made, server, "slowly", seconds=2)
    assert text_of(answer) == "at last"


async def test_a_message_that_is_too_long_ends_the_session_and_names_the_reason() -> None:
    server = upstream(two_era_launch("old"))
    async with open_pool() as made:
        assert (
            len(
                text_of(await made.request(server, "tools/call", tool("long", size=2**23), RecordingCaller()))
            )
            == 2**23
        )
        error = await failing(made, server, "long", size=2**24)
        assert str(error) == "`speaking` answers with more than 16 MB at once"
        await made.request(server, "tools/call", tool("echo"), RecordingCaller())


@pytest.mark.long
async def test_noise_between_messages_is_skipped_up_to_a_limit() -> None:
    server = upstream(two_era_launch("old"))
    async with open_pool() as made:
        answer = await made.request(server, "tools/call", tool("noise", lines=1_000), RecordingCaller())
        assert text_of(answer) == "quiet now"
        error = await failing(made, server, "noise", lines=100_000)
    assert str(error) == "`speaking` writes output that is not MCP"


async def test_an_answer_that_cannot_be_read_fails_its_call_alone() -> None:
    server = upstream(two_era_launch("old"))
    async with open_pool() as made:
        error = await failing(made, server, "unreadable")
        count = json.loads(
            text_of(await made.request(server, "tools/call", tool("count"), RecordingCaller()))
        )[0]
        again = json.loads(
            text_of(await made.request(server, "tools/call", tool("count"), RecordingCaller()))
        )[0]
    assert str(error) == "`speaking` answers with a message that cannot be read"
    assert (count, again) == (1, 2)


async def test_an_answer_in_another_encoding_loses_only_its_invalid_characters() -> None:
    async with open_pool() as made:
        answer = await made.request(
            upstream(two_era_launch("old")), "tools/call", tool("latin"), RecordingCaller()
        )
    assert text_of(answer) == "caf\ufffd"


async def test_a_flood_of_messages_ends_the_session() -> None:
    async with open_pool() as made:
        error = await failing(made, upstream(two_era_launch("old")), "flood")
    assert str(error) == "`speaking` floods Remit with messages"


@pytest.mark.long
async def test_a_server_that_does_not_start_in_time_is_killed_and_named() -> None:
    launch = Launch(command=sys.executable, args=("-c", "import time; time.sleep(1000)"))
    async with open_pool() as made:
        error = await failing(made, upstream(launch, deadline=0.5), "echo")
    assert str(error) == "`speaking` did not answer within 0.5 s"


async def test_a_command_that_does_not_exist_and_a_variable_that_is_not_set_are_named() -> None:
    async with open_pool() as made:
        absent = await failing(made, upstream(Launch(command="/no/such/program")), "echo")
        unset = Launch(command="${NOWHERE}", syntaxes=(VariableSyntax.DEFAULTS,))
        missing = await failing(made, upstream(unset, "other"), "echo")
    assert str(absent) == "`speaking` cannot be started: its command was not found"
    assert str(missing) == "`other` needs `NOWHERE`, which is not set"


async def test_the_environment_is_the_users_without_the_internals_of_clients_and_with_the_entrys_own() -> (
    None
):
    given = {"TOKEN": "t", "CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "s", "REMIT_SECRET": "x"}
    server = upstream(two_era_launch("old", env={"OWN": "${TOKEN}-own"}), directory=os.getcwd())
    bare = upstream(two_era_launch("old"), "bare", inherits=("TOKEN",))
    async with open_pool({**given, "OTHER": "o"}) as made:
        full = json.loads(
            text_of(await made.request(server, "tools/call", tool("environment"), RecordingCaller()))
        )
        few = json.loads(
            text_of(await made.request(bare, "tools/call", tool("environment"), RecordingCaller()))
        )
    assert (full["TOKEN"], full["OWN"], full["OTHER"], full["REMIT_DEPTH"]) == ("t", "t-own", "o", NESTED)
    assert full["CLAUDE_PROJECT_DIR"] == full["PWD"] == os.getcwd()
    assert not {"CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "REMIT_SECRET"} & set(full)
    assert ("TOKEN" in few, "OTHER" in few) == (True, False)


_LEAKY = """
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        said = {"result": {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": {}}}
    else:
        said = {"error": {"code": 1, "message": "cannot list with " + os.environ["API_KEY"]}}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **said}), flush=True)
"""


async def test_an_error_instead_of_a_list_is_reported_without_secrets() -> None:
    launch = Launch(command=sys.executable, args=("-c", _LEAKY), env={"API_KEY": "s3cr3t-v4lue-0f-mine"})
    async with open_pool() as made:
        with pytest.raises(UpstreamError, match="cannot list with") as caught:
            await made.list_all(upstream(launch))
        assert "s3cr3t" not in str(caught.value)


_LEAKY_CALLS = """
import json, os, sys
token, pin = os.environ["API_KEY"], os.environ["PIN"]
for line in sys.stdin:
    asked = json.loads(line)
    method, params = asked.get("method"), asked.get("params", {})
    if method == "initialize":
        said = {"result": {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": {}}}
    elif method == "tools/list":
        said = {"result": {"tools": [{"name": "bad " + token, "inputSchema": {"type": "array"}}]}}
    elif params.get("name") == "ask":
        url = {"mode": "url", "url": "https://example.com/" + pin, "message": "Sign in", "elicitationId": "1"}
        data = {"elicitations": [url]}
        said = {"error": {"code": -32042, "message": "sign in with " + token, "data": data}}
    elif params.get("name") == "deep":
        data = []
        for _ in range(200):
            data = [data]
        said = {"error": {"code": 1, "message": "deep", "data": data}}
    elif params.get("name") == "result":
        said = {"result": {"isError": True, "content": [{"type": "text", "text": "failed with " + token}]}}
    else:
        data = {"seen": [token.encode().hex(), 7], pin: None}
        said = {"error": {"code": 1, "message": f"failed with {token} and {pin}", "data": data}}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **said}), flush=True)
"""
_SECRETS = {"API_KEY": "s3cr3t-v4lue-0f-mine", "PIN": "837261"}


async def call_error(made: UpstreamPool, server: Upstream, name: str) -> JsonRpcError:
    with pytest.raises(JsonRpcError) as caught:
        await made.request(server, "tools/call", tool(name), RecordingCaller())
    return caught.value


async def test_the_error_of_a_call_has_no_secrets_of_the_servers_entry() -> None:
    server = upstream(Launch(command=sys.executable, args=("-c", _LEAKY_CALLS), env=_SECRETS))
    async with open_pool() as made:
        error = await call_error(made, server, "fail")
        assert error.as_object() == {
            "code": 1,
            "message": "failed with *** and ***",
            "data": {"seen": ["***", 7], "***": None},
        }
        assert (await call_error(made, server, "deep")).as_object() == {"code": 1, "message": "deep"}


async def test_the_address_that_a_user_is_asked_to_open_and_the_result_of_a_tool_stay_unchanged() -> None:
    server = upstream(Launch(command=sys.executable, args=("-c", _LEAKY_CALLS), env=_SECRETS))
    async with open_pool() as made:
        error = await call_error(made, server, "ask")
        result = await made.request(server, "tools/call", tool("result"), RecordingCaller())
    assert str(error) == "sign in with ***"
    assert "https://example.com/837261" in str(error.data)
    assert text_of(result) == "failed with s3cr3t-v4lue-0f-mine"


async def test_an_unusable_tool_is_reported_without_secrets() -> None:
    server = upstream(Launch(command=sys.executable, args=("-c", _LEAKY_CALLS), env=_SECRETS))
    async with open_pool() as made:
        offer = read_offer(await made.list_all(server), server)
    assert [each.tool for each in offer.quarantined] == ["bad ***"]
