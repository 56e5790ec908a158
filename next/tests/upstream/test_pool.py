"""Real servers in both eras: what passes, whom it reaches, and what is kept for whom."""

import json
from typing import Any

import anyio
import pytest

from remit.decision import Offer
from remit.errors import UpstreamError
from remit.protocol import PARTS, RELAYED, Answer, JsonRpcError, Params
from remit.upstream import Health, Upstream, supervisor
from support.upstreams import Lists, running_pool, script, text_of, told, tool, two_eras, upstream
from support.wires import RecordingCaller

pytestmark = pytest.mark.anyio
eras = pytest.mark.parametrize("era", ["old", "new"])

ROOTS: Params = {"roots": {}}
SAMPLING: Params = {"sampling": {}}
LISTS_AS_OLD = """
import json, sys
calls = 0
for line in sys.stdin:
    asked = json.loads(line)
    said = {"result": {}}
    if asked.get("method") == "server/discover":
        said = {"error": {"code": -32601, "message": "no"}}
    elif asked.get("method") == "initialize":
        said = {"result": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {}}}
    elif asked.get("method") == "tools/list":
        said = {"error": {"code": -32601, "message": "no such method"}}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **said}), flush=True)
"""


async def yes(_: str, params: Params) -> Answer:
    return {"action": "accept", "content": {"about": params["message"]}}


@eras
async def test_an_answer_and_an_error_pass_unchanged(era: str) -> None:
    server, caller = upstream(two_eras(era)), RecordingCaller()
    async with running_pool() as pool:
        answer = await pool.request(server, "tools/call", tool("echo", x="ü"), caller)
        with pytest.raises(JsonRpcError, match="not today") as caught:
            await pool.request(server, "tools/call", tool("fail"), caller)
    assert answer == {"content": [{"type": "text", "text": '{"x": "\\u00fc"}'}]}
    assert (caught.value.code, caught.value.data) == (-32042, {"why": 1})


@eras
async def test_a_new_session_is_listed_and_admitted_before_its_first_call(era: str) -> None:
    happened: list[str] = []

    async def on_list(_: Upstream, offer: Offer) -> None:
        assert [item["uri"] for item in offer.resources] == ["note://a"]
        happened.append(f"listed {len(offer.tools)} tools")

    async def admit() -> None:
        happened.append("admitted")

    server, caller = upstream(two_eras(era)), RecordingCaller()
    async with running_pool(on_list=on_list) as pool:
        for _ in range(2):
            answer = await pool.request(server, "tools/call", tool("count"), caller, admit=admit)
            happened.append(f"called {told(answer)[0]}")
    assert happened == ["listed 9 tools", "admitted", "called 1", "admitted", "called 2"]


async def test_a_refused_request_does_not_reach_the_server() -> None:
    async def refuse() -> None:
        raise PermissionError

    server, caller = upstream(two_eras("old")), RecordingCaller()
    async with running_pool() as pool:
        with pytest.raises(PermissionError):
            await pool.request(server, "tools/call", tool("count"), caller, admit=refuse)
        assert told(await pool.request(server, "tools/call", tool("count"), caller))[0] == 1


@eras
async def test_tools_that_change_while_a_person_is_asked_are_listed_and_asked_about_again(era: str) -> None:
    lists, server, caller = Lists(), upstream(two_eras(era)), RecordingCaller()
    asked = 0

    async def admit() -> None:
        nonlocal asked
        asked += 1
        if asked == 1:
            await pool.request(server, "tools/call", tool("change"), caller)
            assert (await anext(changes)).method == "notifications/tools/list_changed"

    async with running_pool(on_list=lists) as pool, pool.changes() as changes:
        await pool.request(server, "tools/call", tool("echo"), caller, admit=admit)
    assert (asked, len(lists.offers)) == (2, 2)


async def test_a_server_that_announces_a_change_whenever_it_lists_can_be_called() -> None:
    announce = """print('{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}')"""
    restless = LISTS_AS_OLD.replace('    if "id" in asked', f'    {announce}\n    if "id" in asked')
    lists, asked = Lists(), 0

    async def admit() -> None:
        nonlocal asked
        asked += 1

    async with running_pool(on_list=lists) as pool:
        for _ in range(2):
            await pool.request(
                upstream(script(restless)), "tools/call", tool("any"), RecordingCaller(), admit=admit
            )
    assert (asked, len(lists.offers)) == (2, 2)


async def test_a_process_that_died_while_a_person_was_asked_is_replaced_listed_and_asked_about_again() -> (
    None
):
    lists, server, caller = Lists(), upstream(two_eras("old")), RecordingCaller()
    asked = 0

    async def admit() -> None:
        nonlocal asked
        asked += 1
        if asked == 1:
            with pytest.raises(UpstreamError):
                await pool.request(server, "tools/call", tool("crash"), caller)

    async with running_pool(on_list=lists) as pool:
        answer = await pool.request(server, "tools/call", tool("count"), caller, admit=admit)
    assert (told(answer)[0], asked, len(lists.offers)) == (1, 2, 2)


@eras
async def test_all_lists_are_read_in_any_session(era: str) -> None:
    lists = Lists()
    async with running_pool(on_list=lists) as pool:
        offer = await pool.list(upstream(two_eras(era)))
    assert [item.tool for item in offer.tools][:2] == ["echo", "count"]
    assert [item["uriTemplate"] for item in offer.templates] == ["note://{name}"]
    assert (offer.prompts, offer.is_partial) == ([], False)
    assert offer.protocol_version == ("2025-06-18" if era == "old" else "2026-07-28")
    assert offer.instructions == (None if era == "old" else "Hi")
    assert lists.offers == [offer]


async def test_what_is_listed_again_in_part_keeps_the_rest() -> None:
    server, lists = upstream(two_eras("old")), Lists()
    async with running_pool(on_list=lists) as pool:
        whole = await pool.list(server, parts=PARTS)
        again = await pool.list(server, parts={"resources"})
    assert again._replace(seconds=0) == whole._replace(seconds=0)
    assert len(lists.offers) == 2


async def test_tools_are_asked_for_even_if_undeclared_and_a_server_without_the_method_has_none() -> None:
    async with running_pool() as pool:
        offer = await pool.list(upstream(script(LISTS_AS_OLD)))
    assert (offer.failure, offer.tools) == (None, [])


async def test_a_list_for_fewer_capabilities_than_are_relayed_is_partial() -> None:
    server = upstream(two_eras("old"))
    async with running_pool() as pool:
        partial = await pool.list(server, RecordingCaller(capabilities=ROOTS))
        whole = await pool.list(server, RecordingCaller("two", capabilities=RELAYED))
    assert (partial.is_partial, whole.is_partial) == (True, False)


@eras
async def test_progress_comes_under_the_callers_own_token_and_before_the_answer(era: str) -> None:
    caller = RecordingCaller()
    async with running_pool() as pool:
        asked = {**tool("progress", steps=3), "_meta": {"progressToken": "mine"}}
        await pool.request(upstream(two_eras(era)), "tools/call", asked, caller)
        steps = [(params["progressToken"], params["progress"]) for _, params in caller.told]
    assert steps == [("mine", 1), ("mine", 2), ("mine", 3)]


@eras
async def test_a_question_of_a_server_reaches_the_caller(era: str) -> None:
    caller = RecordingCaller(capabilities={"elicitation": {}}, answer=yes)
    async with running_pool() as pool:
        asked = tool("ask", method="elicitation/create")
        answer = told(await pool.request(upstream(two_eras(era)), "tools/call", asked, caller))
    accepted = {"action": "accept", "content": {"about": "Which?"}}
    old = {"result": accepted, "error": None}
    assert answer == (old if era == "old" else {"responses": {"q": accepted}, "state": "s1"})


async def test_a_question_without_a_request_is_refused() -> None:
    caller = RecordingCaller(capabilities=RELAYED, answer=yes)
    async with running_pool() as pool:  # this server asks while it lists its resources
        heard = told(await pool.request(upstream(two_eras("old")), "tools/call", tool("heard"), caller))[
            "heard"
        ]
    assert [message["error"]["code"] for message in heard if "error" in message] == [-32601]
    assert caller.asked == []


async def test_the_callers_capabilities_go_into_the_handshake_or_into_each_stateless_request() -> None:
    old, new = upstream(two_eras("old"), "old"), upstream(two_eras("new"), "new")
    shown: list[Any] = []
    async with running_pool() as pool:
        for capabilities in (ROOTS, SAMPLING, ROOTS):
            caller = RecordingCaller(capabilities=capabilities)
            heard = told(await pool.request(old, "tools/call", tool("heard"), caller))
            shown.append(heard["greeting"]["capabilities"])
            heard = told(await pool.request(new, "tools/call", tool("heard"), caller))
            shown.append(heard["meta"]["io.modelcontextprotocol/clientCapabilities"])
        assert [status.sessions for status in pool.statuses()] == [2, 1]
    assert shown == [ROOTS, ROOTS, SAMPLING, SAMPLING, ROOTS, ROOTS]


@pytest.mark.parametrize(
    ("era", "shared", "sessions"), [("old", None, 2), ("old", True, 1), ("new", None, 1), ("new", False, 2)]
)
async def test_callers_share_a_server_that_keeps_no_state_or_as_configured(
    era: str, shared: bool | None, sessions: int
) -> None:
    server = upstream(two_eras(era), shared=shared)
    async with running_pool() as pool:
        async with anyio.create_task_group() as tasks:
            for session in ("ada", "bob"):  # both start it, and wait to know whether they share it
                tasks.start_soon(pool.request, server, "tools/call", tool("count"), RecordingCaller(session))
        assert pool.statuses()[0].sessions == sessions
        await pool.leave("ada")
        assert pool.statuses()[0].sessions == 1


async def test_a_session_that_was_only_listed_ends_with_the_first_caller() -> None:
    server = upstream(two_eras("old"))
    async with running_pool() as pool:
        await pool.list(server)
        await pool.request(server, "tools/call", tool("echo"), RecordingCaller())
        assert pool.statuses()[0].sessions == 1


@eras
async def test_changes_reach_all_listeners_and_repeats_once(era: str) -> None:
    server, caller = upstream(two_eras(era)), RecordingCaller()
    async with running_pool() as pool, pool.changes() as first, pool.changes() as second:
        await pool.request(server, "resources/subscribe", {"uri": "note://a"}, caller)
        for _ in range(3):
            await pool.request(server, "tools/call", tool("change"), caller)
        with anyio.fail_after(30):
            for changes in (first, second):
                heard = [await anext(changes), await anext(changes)]
                assert {change.method for change in heard} == {
                    "notifications/tools/list_changed",
                    "notifications/resources/updated",
                }
                assert {change.key for change in heard} == {("speaking",)}


@eras
async def test_subscriptions_survive_a_crash(era: str) -> None:
    server, caller = upstream(two_eras(era)), RecordingCaller()
    async with running_pool() as pool, pool.changes() as changes:
        await pool.request(server, "resources/subscribe", {"uri": "note://a"}, caller)
        with pytest.raises(UpstreamError):
            await pool.request(server, "tools/call", tool("crash"), caller)
        await pool.request(server, "tools/call", tool("echo"), caller)
        with anyio.fail_after(30):
            first = await anext(changes)  # it may have changed meanwhile
            await pool.request(server, "tools/call", tool("change"), caller)
            heard = {(await anext(changes)).method for _ in range(2)}
    assert (first.method, first.params) == ("notifications/resources/updated", {"uri": "note://a"})
    assert heard == {"notifications/tools/list_changed", "notifications/resources/updated"}


async def test_an_idle_session_ends_unless_it_is_shared_and_announces_changes() -> None:
    shared, own = upstream(two_eras("new"), "shared"), upstream(two_eras("old"), "own")
    async with running_pool(idle=0.05) as pool:
        for server in (shared, own):
            await pool.request(server, "tools/call", tool("count"), RecordingCaller())
        with anyio.fail_after(30):
            while pool.statuses()[1].sessions:
                await anyio.sleep(0.01)
        assert pool.statuses()[0].sessions == 1
        assert told(await pool.request(own, "tools/call", tool("count"), RecordingCaller()))[0] == 1
        assert pool.statuses()[1].errors == 0


async def test_a_changed_entry_starts_its_server_again_and_a_dropped_one_ends() -> None:
    async with running_pool() as pool:
        words: list[str] = []
        for word in ("before", "after", "after"):
            server = upstream(two_eras("old", env={"WORD": word}))
            answer = await pool.request(server, "tools/call", tool("environment"), RecordingCaller())
            words.append(f"{told(answer)['WORD']} {pool.statuses()[0].calls}")
        assert words == ["before 1", "after 1", "after 2"]
        await pool.drop({("speaking",)})
        assert pool.statuses() == []


async def test_sessions_are_bounded_and_the_one_unused_longest_ends_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(supervisor, "MAX_SESSIONS", 2)
    server = upstream(two_eras("old"))
    async with running_pool() as pool:
        counts = [
            told(await pool.request(server, "tools/call", tool("count"), RecordingCaller(session)))[0]
            for session in ("ada", "bob", "bob", "cleo", "bob", "ada")
        ]
        assert pool.statuses()[0].sessions == 2
    assert counts == [1, 1, 2, 1, 3, 1]


async def test_a_server_of_a_known_era_is_not_asked_for_it_first() -> None:
    note = "import json, sys\nheard = []\n" + LISTS_AS_OLD.replace(
        'said = {"result": {}}', 'heard.append(asked.get("method"))\n    said = {"result": {"heard": heard}}'
    )
    first: list[str] = []
    async with running_pool() as pool:
        for version in (None, "2025-11-25", "2026-07-28"):
            server = upstream(script(note), str(version), version=version)
            answer = await pool.request(server, "tools/call", tool("any"), RecordingCaller())
            first.append(answer["heard"][0])
    assert first == ["server/discover", "initialize", "server/discover"]


async def test_a_server_has_a_health_and_statistics() -> None:
    server = upstream(two_eras("old"))
    async with running_pool() as pool:
        for _ in range(3):
            await pool.request(server, "tools/call", tool("echo"), RecordingCaller())
        with pytest.raises(JsonRpcError):
            await pool.request(server, "tools/call", tool("fail"), RecordingCaller())
        (status,) = pool.statuses()
    assert (status.health, status.calls, status.errors, status.restarts) == (Health.UP, 4, 1, 0)
    assert status.p50_ms is not None
    assert status.p95_ms is not None
    assert 0 < status.p50_ms <= status.p95_ms


async def test_a_server_of_our_own_answers_in_this_process() -> None:
    from remit.upstream import open_pool
    from support.upstreams import launcher

    class Memory:
        async def request(self, method: str, params: Params, caller: object) -> Answer:
            del caller
            return {"content": [{"type": "text", "text": json.dumps([method, params["name"]])}]}

        async def list(self) -> Offer:
            return Offer(instructions="remember")

    ours = Upstream(key=("memory",), label="memory", client="", source="remit", permit=None)
    async with open_pool(launcher(), on_list=Lists(), local={ours.key: Memory()}) as pool:
        answer = await pool.request(ours, "tools/call", tool("find"), RecordingCaller())
        assert (await pool.list(ours)).instructions == "remember"
    assert text_of(answer) == '["tools/call", "find"]'
