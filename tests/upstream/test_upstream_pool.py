"""Links to real servers, in both eras: what passes, whom it reaches, and what is kept for whom."""

import json
import sys
from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from remit.decision.declared_launch import Launch
from remit.errors import RestartedError, UpstreamError
from remit.protocol.json_rpc import Answer, JsonRpcError, Params
from remit.upstream import supervisor
from remit.upstream.messaging import forwarding
from remit.upstream.ports import RELAYED, Health
from remit.upstream.upstream_model import Sharing
from support.processes import SERVERS
from support.upstream_pools import RecordingCaller, open_pool, text_of, tool, two_era_launch, upstream

pytestmark = pytest.mark.anyio
eras = pytest.mark.parametrize("era", ["old", "new"])


NONE: Params = {}
ROOTS: Params = {"roots": NONE}
SAMPLING: Params = {"sampling": NONE}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def yes(_: str, params: Params) -> Answer:
    return {"action": "accept", "content": {"about": params["message"]}}


@eras
async def test_an_answer_passes_unchanged(era: str) -> None:
    async with open_pool() as made:
        answer = await made.request(
            upstream(two_era_launch(era)), "tools/call", tool("echo", x="ü"), RecordingCaller()
        )
    assert answer == {"content": [{"type": "text", "text": '{"x": "\\u00fc"}'}]}


@eras
async def test_an_error_passes_with_its_code_and_its_data(era: str) -> None:
    async with open_pool() as made:
        with pytest.raises(JsonRpcError, match="not today") as caught:
            await made.request(upstream(two_era_launch(era)), "tools/call", tool("fail"), RecordingCaller())
    assert (caught.value.code, caught.value.data) == (-32042, {"why": 1})


@eras
async def test_all_lists_of_a_server_are_read_and_missing_ones_are_empty(era: str) -> None:
    async with open_pool() as made:
        every = frozenset({"tools", "resources", "templates", "prompts"})
        stock = await made.list_all(upstream(two_era_launch(era)), parts=every)
    assert [item["name"] for item in stock.tools][:2] == ["echo", "count"]
    assert [item["uri"] for item in stock.resources] == ["note://a"]
    assert [item["uriTemplate"] for item in stock.templates] == ["note://{name}"]
    assert stock.prompts == []
    assert stock.capabilities["resources"]["subscribe"] is True
    assert stock.protocol_version == ("2025-06-18" if era == "old" else "2026-07-28")
    assert stock.instructions == (None if era == "old" else "Hi")


@pytest.mark.long
@eras
async def test_a_list_that_hangs_affects_no_other_list(era: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "EXTRAS_SECONDS", 1.0)
    server = upstream(two_era_launch(era, env={"SILENT_ABOUT": "resources/list"}))
    async with open_pool() as made:
        stock = await made.list_all(server, parts=frozenset({"tools", "resources", "templates"}))
    assert stock.tools
    assert [item["uriTemplate"] for item in stock.templates] == ["note://{name}"]
    assert stock.resources == ()


@eras
async def test_progress_comes_under_the_callers_own_token_and_before_the_answer(era: str) -> None:
    caller = RecordingCaller()
    async with open_pool() as made:
        asked = {**tool("progress", steps=3), "_meta": {"progressToken": "mine"}}
        answer = await made.request(upstream(two_era_launch(era)), "tools/call", asked, caller)
        steps = [(method, params["progressToken"], params["progress"]) for method, params in caller.told]
    assert text_of(answer) != "mine"
    assert steps == [("notifications/progress", "mine", step) for step in (1, 2, 3)]
    assert asked["_meta"] == {"progressToken": "mine"}


@eras
async def test_a_cancelled_request_is_cancelled_at_the_server(era: str) -> None:
    server, caller = upstream(two_era_launch(era)), RecordingCaller()
    async with open_pool() as made:
        await made.request(server, "tools/call", tool("echo"), caller)
        patience, cancelled = 0.1, list[Any]()
        while not cancelled:  # where it was not even sent in that time, there is nothing to cancel
            with anyio.move_on_after(patience):
                await made.request(server, "tools/call", tool("hang"), caller)
            answer = await made.request(server, "tools/call", tool("heard"), caller)
            heard = json.loads(text_of(answer))["heard"]
            cancelled = [message for message in heard if message["method"] == "notifications/cancelled"]
            patience *= 2
    assert [type(message["params"]["requestId"]) for message in cancelled] == [int]


@eras
async def test_log_messages_reach_the_caller_of_the_request(era: str) -> None:
    caller, other = RecordingCaller(), RecordingCaller()
    server = upstream(two_era_launch(era))
    async with open_pool() as made:
        await made.request(server, "tools/call", tool("echo"), other)
        await made.request(server, "tools/call", tool("log"), caller)
    assert caller.told == [("notifications/message", {"level": "info", "data": "words"})]
    assert other.told == []


@eras
async def test_a_question_of_a_server_reaches_the_caller(era: str) -> None:
    caller = RecordingCaller(capabilities={"elicitation": {}}, answer=yes)
    async with open_pool() as made:
        asked = tool("ask", method="elicitation/create")
        answer = json.loads(
            text_of(await made.request(upstream(two_era_launch(era)), "tools/call", asked, caller))
        )
    accepted = {"action": "accept", "content": {"about": "Which?"}}
    if era == "old":
        assert answer == {"result": accepted, "error": None}
    else:
        assert answer == {"responses": {"q": accepted}, "state": "s1"}


async def test_a_caller_who_refuses_is_an_error_to_the_server_that_asked() -> None:
    async with open_pool() as made:
        asked = tool("ask", method="roots/list")
        answer = json.loads(
            text_of(
                await made.request(upstream(two_era_launch("old")), "tools/call", asked, RecordingCaller())
            )
        )
    assert answer["error"] == {"code": -32601, "message": "nobody answers roots/list"}


async def test_a_stateless_caller_gets_the_question_as_answer_and_retries() -> None:
    caller = RecordingCaller(takes_input_required=True)
    server, asked = upstream(two_era_launch("new")), tool("ask", method="roots/list")
    async with open_pool() as made:
        question = await made.request(server, "tools/call", asked, caller)
        more: Params = {
            **asked,
            "inputResponses": {"q": {"roots": []}},
            "requestState": question["requestState"],
        }
        answer = await made.request(server, "tools/call", more, caller)
    assert question["resultType"] == "input_required"
    assert json.loads(text_of(answer)) == {"responses": {"q": {"roots": []}}, "state": "s1"}


async def test_a_session_server_gets_the_callers_capabilities_in_the_handshake() -> None:
    server = upstream(two_era_launch("old"))
    async with open_pool() as made:
        shown: list[Mapping[str, object]] = []
        for capabilities in (ROOTS, SAMPLING, ROOTS):
            caller = RecordingCaller(capabilities=capabilities)
            told = json.loads(text_of(await made.request(server, "tools/call", tool("heard"), caller)))
            shown.append(told["greeting"]["capabilities"])
        assert made.statuses()[0].sessions == 2
    assert shown == [{"roots": {}}, {"sampling": {}}, {"roots": {}}]


async def test_a_stateless_server_gets_the_callers_capabilities_with_each_request() -> None:
    server = upstream(two_era_launch("new"))
    async with open_pool() as made:
        shown: list[tuple[object, object]] = []
        for capabilities, level in ((ROOTS, "info"), (NONE, None)):
            caller = RecordingCaller(capabilities=capabilities, log_level=level)
            meta = json.loads(text_of(await made.request(server, "tools/call", tool("heard"), caller)))[
                "meta"
            ]
            prefix = "io.modelcontextprotocol/"
            shown.append((meta[f"{prefix}clientCapabilities"], meta.get(f"{prefix}logLevel")))
        assert made.statuses()[0].sessions == 1
    assert shown == [({"roots": {}}, "info"), ({}, None)]


async def test_the_log_level_of_a_stateless_caller_is_set_at_a_session_server() -> None:
    server, caller = upstream(two_era_launch("old")), RecordingCaller(log_level="warning")
    async with open_pool() as made:
        await made.request(server, "tools/call", tool("echo"), caller)
        told = json.loads(text_of(await made.request(server, "tools/call", tool("heard"), caller)))
    levels = [message for message in told["heard"] if message["method"] == "logging/setLevel"]
    assert levels == [{"method": "logging/setLevel", "params": {"level": "warning"}}]


async def test_callers_have_their_own_sessions_with_a_stateful_server() -> None:
    server = upstream(two_era_launch("old"))
    async with open_pool() as made:
        counts = [
            json.loads(
                text_of(await made.request(server, "tools/call", tool("count"), RecordingCaller(session=who)))
            )
            for who in ("ada", "bob", "ada")
        ]
        assert [count for count, _ in counts] == [1, 1, 2]
        await made.leave("ada")
        assert made.statuses()[0].sessions == 1
        (count, process) = json.loads(
            text_of(await made.request(server, "tools/call", tool("count"), RecordingCaller(session="ada")))
        )
    assert (count, process != counts[0][1]) == (1, True)


async def test_a_stateless_server_is_shared_unless_configured_otherwise() -> None:
    async with open_pool() as made:
        for label, sharing in (("a", None), ("b", Sharing.OWN)):
            server = upstream(two_era_launch("new"), label, sharing=sharing)
            for who in ("ada", "bob"):
                await made.request(server, "tools/call", tool("count"), RecordingCaller(session=who))
        assert [condition.sessions for condition in made.statuses()] == [1, 2]


async def test_one_session_is_shared_where_the_configuration_says_so() -> None:
    server = upstream(two_era_launch("old"), sharing=Sharing.SHARED)
    async with open_pool() as made:
        for who in ("ada", "bob"):
            answer = await made.request(server, "tools/call", tool("count"), RecordingCaller(session=who))
    assert json.loads(text_of(answer))[0] == 2


async def test_a_server_is_listed_with_all_that_can_be_relayed() -> None:
    server = upstream(
        Launch(command=sys.executable, args=(str(SERVERS / "by_hand.py"), "--era", "old", "--summarizes"))
    )
    async with open_pool() as made:
        all_lists = await made.list_all(server)
        session = await made.list_first(server, RecordingCaller())
    assert session is not None
    assert {each["name"] for each in all_lists.tools} - {each["name"] for each in session.tools} == {
        "summarize"
    }
    assert (all_lists.is_partial, session.is_partial) == (False, True)


async def test_a_session_that_only_listed_ends_with_the_first_caller() -> None:
    server = upstream(two_era_launch("old"))
    async with open_pool() as made:
        await made.list_all(server)
        await made.request(server, "tools/call", tool("echo"), RecordingCaller())
        await made.list_all(server)
        assert made.statuses()[0].sessions == 1


@eras
async def test_changes_reach_all_listeners(era: str) -> None:
    server, caller = upstream(two_era_launch(era)), RecordingCaller()
    async with open_pool() as made, made.notifications() as first, made.notifications() as second:
        await made.request(server, "resources/subscribe", {"uri": "note://a"}, caller)
        await made.request(server, "tools/call", tool("change"), caller)
        with anyio.fail_after(30):
            heard = [[await anext(notices), await anext(notices)] for notices in (first, second)]
    methods = {"notifications/tools/list_changed", "notifications/resources/updated"}
    for notices in heard:
        assert {notice.method for notice in notices} == methods
        assert {notice.key for notice in notices} == {("speaking",)}
        assert {"uri": "note://a"} in [notice.params for notice in notices]


async def test_a_slow_listener_gets_the_same_change_once() -> None:
    server, caller = upstream(two_era_launch("old")), RecordingCaller()
    async with open_pool() as made, made.notifications() as notices:
        for _ in range(3):
            await made.request(server, "tools/call", tool("change"), caller)
        assert (await anext(notices)).method == "notifications/tools/list_changed"
        with anyio.move_on_after(0.05) as nothing:
            await anext(notices)
        assert nothing.cancelled_caught


async def test_an_idle_session_ends_and_the_next_call_restarts_it() -> None:
    server, caller = upstream(two_era_launch("old")), RecordingCaller()
    async with open_pool(idle=0.05) as made:
        await made.request(server, "tools/call", tool("count"), caller)
        with anyio.fail_after(30):
            while made.statuses()[0].sessions:
                await anyio.sleep(0.01)
        answer = await made.request(server, "tools/call", tool("count"), caller)
        assert made.statuses()[0].errors == 0
    assert json.loads(text_of(answer))[0] == 1


async def test_a_shared_session_stays_open_for_its_notifications() -> None:
    shared, own = upstream(two_era_launch("new"), "shared"), upstream(two_era_launch("old"), "own")
    async with open_pool(idle=0.05) as made:
        for server in (shared, own):
            await made.request(server, "tools/call", tool("echo"), RecordingCaller())
        with anyio.fail_after(30):
            while made.statuses()[1].sessions:
                await anyio.sleep(0.01)
        assert made.statuses()[0].sessions == 1


async def test_a_dropped_server_ends_and_a_changed_entry_restarts_its_server() -> None:
    async with open_pool() as made:
        before = upstream(two_era_launch("old", env={"WORD": "before"}))
        after = upstream(two_era_launch("old", env={"WORD": "after"}))
        words: list[str] = []
        for server in (before, after):
            answer = await made.request(server, "tools/call", tool("environment"), RecordingCaller())
            words.append(json.loads(text_of(answer))["WORD"])
        assert words == ["before", "after"]
        await made.drop(frozenset({after.key}))
        assert made.statuses() == []


async def test_a_server_is_up_after_an_answer_and_has_statistics() -> None:
    server = upstream(two_era_launch("old"))
    async with open_pool() as made:
        assert made.statuses() == []
        for name in ("echo", "echo", "echo"):
            await made.request(server, "tools/call", tool(name), RecordingCaller())
        with pytest.raises(JsonRpcError):
            await made.request(server, "tools/call", tool("fail"), RecordingCaller())
        (condition,) = made.statuses()
    assert (condition.health, condition.calls, condition.errors) == (Health.UP, 4, 1)
    assert (condition.label, condition.protocol_version) == ("speaking", "2025-06-18")
    assert condition.p50_ms is not None
    assert condition.p95_ms is not None
    assert 0 < condition.p50_ms <= condition.p95_ms


async def test_a_start_after_a_crash_counts_as_a_restart_and_the_first_does_not() -> None:
    server, caller = upstream(two_era_launch("old")), RecordingCaller()
    async with open_pool() as made:
        await made.request(server, "tools/call", tool("echo"), caller)
        assert made.statuses()[0].restarts == 0
        with pytest.raises(UpstreamError):
            await made.request(server, "tools/call", tool("crash"), caller)
        await made.request(server, "tools/call", tool("echo"), caller)
        assert made.statuses()[0].restarts == 1


async def test_the_status_has_the_last_lines_of_a_server_without_secrets() -> None:
    says = (
        "import sys; print('my token is s3cr3t-t0k3n-value', file=sys.stderr, flush=True); sys.stdin.read(1)"
    )
    secret = {"TOKEN": "s3cr3t-t0k3n-value"}
    launch = Launch(command=sys.executable, args=("-c", says), env=secret)
    async with open_pool() as made:
        with pytest.raises(UpstreamError):
            await made.request(upstream(launch), "tools/list", NONE, RecordingCaller())
        (status,) = made.statuses()
    assert status.output == ["my token is ***"]


@eras
async def test_subscriptions_survive_a_crash(era: str) -> None:
    server, caller = upstream(two_era_launch(era)), RecordingCaller()
    async with open_pool() as made, made.notifications() as notices:
        await made.request(server, "resources/subscribe", {"uri": "note://a"}, caller)
        with pytest.raises(UpstreamError):
            await made.request(server, "tools/call", tool("crash"), caller)
        await made.request(server, "tools/call", tool("echo"), caller)
        with anyio.fail_after(30):
            first = await anext(notices)  # it may have changed meanwhile
            await made.request(server, "tools/call", tool("change"), caller)
            heard = {(await anext(notices)).method for _ in range(2)}
    assert (first.method, first.params) == ("notifications/resources/updated", {"uri": "note://a"})
    assert heard == {"notifications/tools/list_changed", "notifications/resources/updated"}


@eras
async def test_an_unsubscribed_resource_sends_no_updates(era: str) -> None:
    server, caller = upstream(two_era_launch(era)), RecordingCaller()
    async with open_pool() as made, made.notifications() as notices:
        for method in ("resources/subscribe", "resources/unsubscribe"):
            await made.request(server, method, {"uri": "note://a"}, caller)
        await made.request(server, "tools/call", tool("change"), caller)
        assert (await anext(notices)).method == "notifications/tools/list_changed"
        with pytest.raises(JsonRpcError, match="`uri` is missing"):
            await made.request(server, "resources/subscribe", {}, caller)


async def test_a_failed_start_fails_all_waiting_callers_at_once() -> None:
    launch = Launch(command=sys.executable, args=("-c", "import sys; sys.stdin.read(1); sys.exit(4)"))
    async with open_pool() as made:
        errors: list[str] = []

        async def fail(name: str) -> None:
            with pytest.raises(UpstreamError) as caught:
                await made.request(
                    upstream(launch), "tools/call", tool("echo"), RecordingCaller(session=name)
                )
            errors.append(str(caught.value))

        async with anyio.create_task_group() as tasks:
            for name in ("ada", "bob", "cleo", "dan", "eve"):
                tasks.start_soon(fail, name)
    assert errors == ["`speaking` ended before it answered (exit code 4)"] * 5


async def test_sessions_are_bounded_and_the_one_unused_longest_ends_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(supervisor, "MAX_SESSIONS", 2)
    server = upstream(two_era_launch("old"))
    async with open_pool() as made:
        counts: list[int] = []
        for who in ("ada", "bob", "bob", "cleo", "bob", "ada"):
            answer = await made.request(server, "tools/call", tool("count"), RecordingCaller(session=who))
            counts.append(json.loads(text_of(answer))[0])
        assert made.statuses()[0].sessions == 2
    assert counts == [1, 1, 2, 1, 3, 1]


async def test_a_caller_waits_when_all_sessions_are_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "MAX_SESSIONS", 1)
    server = upstream(two_era_launch("old"))
    is_asked, may_answer = anyio.Event(), anyio.Event()

    async def slowly(_: str, __: Params) -> Answer:
        is_asked.set()
        await may_answer.wait()
        return {"action": "decline"}

    async with open_pool() as made, anyio.create_task_group() as tasks:
        ada = RecordingCaller(session="ada", answer=slowly)
        asked = tool("ask", method="elicitation/create")
        tasks.start_soon(made.request, server, "tools/call", asked, ada)
        await is_asked.wait()
        with anyio.move_on_after(0.2) as in_vain:
            await made.request(server, "tools/call", tool("echo"), RecordingCaller(session="bob"))
        may_answer.set()
        answer = await made.request(server, "tools/call", tool("echo"), RecordingCaller(session="bob"))
        assert in_vain.cancelled_caught
        assert text_of(answer) == "{}"


async def test_questions_of_a_cancelled_request_are_cancelled() -> None:
    server = upstream(two_era_launch("old"))
    is_asked, was_cancelled, scope = anyio.Event(), anyio.Event(), anyio.CancelScope()

    async def forever(_: str, __: Params) -> Answer:
        is_asked.set()
        try:
            await anyio.sleep_forever()
        finally:
            was_cancelled.set()
        raise AssertionError

    async def ask() -> None:
        with scope:
            await made.request(server, "tools/call", tool("ask", method="elicitation/create"), caller)

    async with open_pool() as made, anyio.create_task_group() as tasks:
        caller = RecordingCaller(answer=forever)
        tasks.start_soon(ask)
        with anyio.fail_after(30):
            await is_asked.wait()
            scope.cancel()
            await was_cancelled.wait()
        await made.request(server, "tools/call", tool("echo"), caller)


async def test_a_question_without_a_request_is_refused() -> None:
    server = upstream(two_era_launch("old"))
    async with open_pool() as made:
        await made.list_all(server, parts=frozenset({"tools", "resources"}))
        caller = RecordingCaller(capabilities=RELAYED)  # takes over the session that listed
        told = json.loads(text_of(await made.request(server, "tools/call", tool("heard"), caller)))
    replies = [message for message in told["heard"] if "error" in message]
    assert [reply["error"]["code"] for reply in replies] == [-32601]
    assert [message["id"] for message in told["heard"] if "result" in message] == ["ping"]


@eras
async def test_a_session_lists_its_tools_before_its_first_call_and_after_it_announced_others(
    era: str,
) -> None:
    server, caller = upstream(two_era_launch(era)), RecordingCaller()
    async with open_pool() as made, made.notifications() as notices:
        first = await made.list_first(server, caller)
        assert first is not None
        assert first.tools
        assert await made.list_first(server, caller) is not None  # the first list was not stored
        first.note_kept()
        assert await made.list_first(server, caller) is None
        await made.request(server, "tools/call", tool("change"), caller)
        assert (await anext(notices)).method == "notifications/tools/list_changed"
        again = await made.list_first(server, caller)
        assert again is not None
        first.note_kept()  # of a list from before the change
        assert await made.list_first(server, caller) is not None
        again.note_kept()
        assert await made.list_first(server, caller) is None


async def test_a_process_that_replaces_another_lists_its_tools_again() -> None:
    server, caller = upstream(two_era_launch("old")), RecordingCaller(capabilities=RELAYED)
    async with open_pool() as made:
        found = await made.list_all(server)
        found.note_kept()
        assert await made.list_first(server, caller) is None  # the caller takes over the session that listed
        await made.drop(frozenset({server.key}))
        assert await made.list_first(server, caller) is not None


async def test_a_call_reaches_no_process_whose_list_was_not_compared() -> None:
    server, caller = upstream(two_era_launch("old")), RecordingCaller()
    async with open_pool() as made:
        found = await made.list_first(server, caller)
        assert found is not None
        found.note_kept()
        await made.request(server, "tools/call", tool("echo"), caller)
        await made.drop(frozenset({server.key}))  # its process ends between the list and the call
        with pytest.raises(RestartedError, match="restarted after its tools were listed"):
            await made.request(server, "tools/call", tool("echo"), caller)
        again = await made.list_first(server, caller)
        assert again is not None
        again.note_compared()  # its tools are as known, and the store is down
        await made.request(server, "tools/call", tool("echo"), caller)
