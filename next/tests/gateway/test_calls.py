"""Calls: decided for the moment, compared with what their server lists, forwarded, recorded."""

from typing import Any

import anyio
import pytest

from remit.gateway import Identity
from support.gateways import NEW, OLD, World, connected, served

pytestmark = pytest.mark.anyio
eras = pytest.mark.parametrize("version", [OLD, NEW])
ASKS: dict[str, Any] = {"elicitation": {}}
PAGES: dict[str, Any] = {"extensions": {"io.modelcontextprotocol/ui": {}}}


@eras
async def test_an_answer_passes_unchanged(world: World, version: str) -> None:
    result = {"content": [{"type": "text", "text": "ü"}], "structuredContent": {"n": 1}, "more": [None]}
    world.server("files", tools={"read": {"does": {"result": result}}})
    async with served(world, version=version) as client:
        answer = await client.call("files__read", path="a")
        assert answer.items() >= result.items()
    assert world.heard("files")[0][1:] == ["read", {"path": "a"}]


async def test_every_spelling_of_a_name_calls_the_same_tool(world: World) -> None:
    world.server("files", "read")
    async with served(world) as client:
        for name in ("files__read", "mcp__files__read", "mcp__remit__files__read"):
            assert await client.text(name) == '["read", {}]'


async def test_unknown_tools_get_near_names_and_are_in_the_log(world: World) -> None:
    world.server("files", "read")
    async with served(world) as client:
        await client.names()
        error = await client.error("tools/call", name="files__reed")
        assert error == {"code": -32602, "message": "Unknown tool: files__reed; did you mean `files__read`?"}
    assert [(call.tool, call.outcome) for call in world.calls()] == [("files__reed", "unknown")]


async def test_a_tool_of_another_project_and_one_that_does_not_exist_answer_alike(world: World) -> None:
    other = world.root / "other"
    (other / ".git").mkdir(parents=True)
    world.write(other / ".mcp.json", {"mcpServers": {"secret": {"command": "true"}}})
    with world.registry() as registry:
        registry.tools(registry.at(str(other)))
    world.server("files", "read")
    async with served(world) as client:
        await client.names()
        known = await client.error("tools/call", name="secret__read")
        absent = await client.error("tools/call", name="absent__read")
        assert known["message"].replace("secret", "absent") == absent["message"]


async def test_a_name_that_is_too_long_is_refused(world: World) -> None:
    async with served(world) as client:
        assert "longer than 1,000" in (await client.error("tools/call", name="x" * 1_001))["message"]


async def test_a_hidden_tool_names_the_rule_and_its_file_and_the_refusal_is_in_the_log(world: World) -> None:
    world.server("files", "read", "drop")
    path = world.mine('block = ["mcp__files__drop"]')
    async with served(world) as client:
        assert await client.names() == ["files__read"]
        answer = await client.call("files__drop")
        assert answer["isError"]
        text = answer["content"][0]["text"]
        assert "`block` in ~/" in text
        assert path.name in text
        assert answer["structuredContent"]["gate"] == "policy"
    assert [(call.outcome, call.gate) for call in world.calls()] == [("refused", "policy")]
    assert world.heard("files") == []


async def test_the_data_of_a_refusal_goes_beside_an_output_schema(world: World) -> None:
    world.server("files", tools={"drop": {"definition": {"outputSchema": {"type": "object"}}}})
    world.mine('[states.open]\nkind = "workflow"\n\n[tools."mcp__files__drop"]\nstates = ["open"]\n')
    async with served(world) as client:
        await client.names()
        answer = await client.call("files__drop")
        assert "structuredContent" not in answer
        assert answer["_meta"]["remit/refusal"]["gate"] == "state"


async def test_rules_about_arguments_decide_each_call(world: World) -> None:
    world.server("files", "read")
    world.mine('[tools."mcp__files__read"]\nwhen = "args.path == \'open\'"\n')
    async with served(world) as client:
        assert await client.names() == ["files__read"]
        assert await client.text("files__read", path="open") == '["read", {"path": "open"}]'
        assert "these arguments are not allowed" in await client.text("files__read", path="secret")
    assert [call.outcome for call in world.calls()] == ["done", "refused"]


async def test_a_rule_that_why_shows_as_passing_lets_the_call_through(world: World) -> None:
    world.server("files", "read")
    world.mine('[servers.files]\nallow = ["read"]\n')
    async with served(world) as client:
        explained = await client.call("why_tool", name="files__read")
        assert all(gate["passed"] for gate in explained["structuredContent"]["gates"])
        assert await client.text("files__read") == '["read", {}]'


async def test_why_takes_a_name_without_its_server_also_of_a_hidden_tool(world: World) -> None:
    world.server("files", "read", "drop", "list")
    world.server("notes", "list")
    world.mine('block = ["mcp__files__drop"]\n')
    async with served(world) as client:
        assert "files__read" in await client.names()
        read = await client.call("why_tool", name="read")
        drop = await client.call("why_tool", name="drop")
        assert "`files__read` is visible" in read["content"][0]["text"]
        assert "`files__drop` is hidden: blocked by" in drop["content"][0]["text"]
        several = await client.text("why_tool", name="list")
        assert "ask about `mcp__files__list` or `mcp__notes__list`" in several
        assert "Unknown tool" in await client.text("why_tool", name="nothing_like_it")


async def test_a_new_process_is_compared_before_it_gets_a_call(world: World) -> None:
    world.server("files", tools={"read": {}, "end": {"does": {"ends": True}}})
    async with served(world) as client:
        await client.call("files__read")
        await client.call("files__end")
        world.says("files", tools={"read": {"definition": {"description": "Other"}}})
        assert "its definition changed" in await client.text("files__read")
    assert [tool for _, tool, _ in world.heard("files")] == ["read", "end"]


async def test_a_server_that_ends_is_named_with_the_last_it_wrote_and_started_again(world: World) -> None:
    world.server("files", tools={"read": {}, "end": {"does": {"ends": True}}})
    async with served(world) as client:
        answer = await client.call("files__end")
        assert answer["isError"]
        assert "`files`" in answer["content"][0]["text"]
        assert await client.text("files__read") == '["read", {}]'
    assert [call.outcome for call in world.calls()] == ["unreachable", "done"]


async def test_errors_of_servers_are_passed_on_and_recorded(world: World) -> None:
    error = {"code": -32050, "message": "no", "data": {"why": 1}}
    world.server("files", tools={"read": {"does": {"error": error}}})
    async with served(world) as client:
        assert await client.error("tools/call", name="files__read") == error
    assert [call.outcome for call in world.calls()] == ["error"]


async def test_a_call_is_recorded_under_the_clients_own_id_and_session(world: World) -> None:
    world.server("files", "read")
    async with served(world, environment={"CLAUDE_CODE_SESSION_ID": "abc"}) as client:
        meta = {"claudecode/toolUseId": "toolu_1"}
        await client.request("tools/call", name="files__read", arguments={}, _meta=meta)
    (call,) = world.calls()
    assert (call.call_id, call.session, call.tool) == ("toolu_1", "abc", "mcp__files__read")


async def test_made_up_names_under_a_server_do_not_count_as_uses(world: World) -> None:
    world.server("files", slow=60)
    async with served(world) as client:
        await client.error("tools/call", name="files__")
    assert {call.outcome for call in world.calls()} == {"unknown"}


async def test_a_cancelled_call_is_in_the_log(world: World) -> None:
    world.server("files", tools={"ask": {"does": {"asks": [["elicitation/create", {"message": "?"}]]}}})
    asked = anyio.Event()

    async def never(*_: object) -> dict[str, object]:
        asked.set()
        await anyio.sleep_forever()
        return {}

    async with served(world, capabilities=ASKS, ask=never) as client:
        message = {"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": {"name": "files__ask"}}
        await client.send(message)
        await asked.wait()
        cancelled = {"requestId": 99}
        await client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled})
        await client.request("ping")
    assert [call.outcome for call in world.calls()] == ["cancelled"]


async def test_call_tool_says_what_is_wrong_in_its_result(world: World) -> None:
    world.server("files", "read")
    async with served(world) as client:
        await client.names()
        assert "cannot call itself" in await client.text("call_tool", name="call_tool")
        assert "belong in `arguments`" in await client.text("call_tool", name="files__read", path="a")
        assert "did you mean `files__read`" in await client.text("call_tool", name="files__reed")
        assert await client.text("call_tool", name="files__read", arguments={"a": 1}) == '["read", {"a": 1}]'


async def test_who_may_not_call_lists_and_searches(world: World) -> None:
    world.server("files", "read")
    async with served(world, identity=Identity(name="reader", may_call=False)) as client:
        assert await client.names() == ["files__read"]
        assert "can list and search tools" in await client.text("files__read")
        assert "files__read" in await client.text("discover_tools", query="read")
    assert [(call.caller, call.outcome) for call in world.calls()] == [
        ("reader", "refused"),
        ("reader", "done"),
    ]


async def test_filters_are_asked_for_each_call(world: World) -> None:
    path = world.write(
        world.root / "filters.py",
        "from pathlib import Path\n"
        "def open_hours(context, tool):\n"
        f"    return Path({str(world.root / 'open')!r}).exists()\n",
    )
    world.server("files", "read")
    world.mine(f"filters = ['{path}']")
    async with served(world) as client:
        assert "hidden by the filter" in await client.text("files__read")
        (world.root / "open").touch()
        assert await client.text("files__read") == '["read", {}]'
        (world.root / "open").unlink()
        assert "hidden by the filter" in await client.text("files__read")


async def test_memory_is_a_server_in_this_process_under_its_own_prefix(world: World) -> None:
    world.mine("[memory]\nenabled = true\n")
    async with served(world) as client:
        await client.request("tools/list")
        found = await client.text("discover_tools", query="save what was decided in this session")
        assert "remit-memory__save_session" in found
        scope = await client.call("remit-memory__get_scope_state", project_id="shop")
        assert scope["structuredContent"]["scope_state"] == "uncertain"
        assert "remit-memory__" in scope["structuredContent"]["next_step"]
    async with served(world) as client:
        assert "with remit-memory__retrieve_context" in client.opening["instructions"]
    assert world.calls()[-1].tool == "mcp__remit-memory__get_scope_state"


async def test_without_the_store_lists_and_calls_go_on_and_approvals_are_refused(world: World) -> None:
    world.server("files", "read", "drop")
    world.mine('[tools."mcp__files__drop"]\napproval = true\n')
    async with served(world) as client:
        await client.call("files__read")
        world.is_store_down = True
        assert "files__read" in await client.names()
        assert await client.text("files__read") == '["read", {}]'
        assert "approvals cannot be checked now" in await client.text("files__drop")
        world.is_store_down = False
    assert [call.outcome for call in world.calls()] == ["done", "done", "refused"]


async def test_pages_call_the_tools_of_their_servers_by_their_own_names(
    world: World,
) -> None:
    ui = {"_meta": {"ui": {"resourceUri": "ui://files/page.html"}}}
    hidden = {"_meta": {"ui": {"visibility": ["app"]}}}
    world.server("files", tools={"show": {"definition": ui}, "pick": {"definition": hidden}})
    async with world.gateway() as gateway:
        async with connected(gateway, world.spec(), capabilities=PAGES) as client:
            assert await client.names() == ["files__pick", "files__show"]
            assert await client.text("pick", a=1) == '["pick", {"a": 1}]'
            assert "only be called by the page" in await client.text("call_tool", name="files__pick")
        async with connected(gateway, world.spec()) as client:
            assert await client.names() == ["files__show"]


async def test_an_unlisted_name_is_decided_on_its_servers_row(world: World) -> None:
    world.server("files", "read")
    world.mine('block = ["mcp__files__*"]')
    async with served(world) as client:
        await client.names()
        assert "`block`" in await client.text("files__anything")
    world.mine("# no rules\n")
    async with served(world) as client:
        await client.names()
        error = await client.error("tools/call", name="files__anything")
        assert "Unknown tool" in error["message"]
        assert await client.text("files__read") == '["read", {}]'
    assert [tool for _, tool, _ in world.heard("files")] == ["read"]
