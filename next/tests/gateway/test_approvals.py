"""Calls that need approval: who is asked, what counts as yes, and what the yes is for."""

from typing import Any

import pytest

from remit.gateway import Identity
from support.gateways import NEW, World, answering, decline, served

pytestmark = pytest.mark.anyio
ASKS: dict[str, Any] = {"capabilities": {"elicitation": {}}}
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.fixture
def asking(world: World) -> World:
    """A server of which one tool needs approval."""
    world.server("files", tools={"drop": {"definition": {"inputSchema": SCHEMA}}, "read": {}})
    world.mine('[tools."mcp__files__drop"]\napproval = true\n')
    return world


def approve(world: World) -> str:
    """Approve the pending call as a person in a terminal does, and return what they read."""
    with world.registry() as registry:
        context = registry.at(str(world.shop))
        (waiting,) = registry.approvals.waiting(context)
        registry.approvals.answer(waiting.id, context, approve=True)
        return waiting.shown


async def test_a_client_that_cannot_ask_is_told_the_command_and_the_call_runs_once_approved(
    asking: World,
) -> None:
    async with served(asking) as client:
        text = await client.text("files__drop", n=1)
        assert text.startswith("approval_required: `files__drop` needs approval")
        assert "remit approve " in text
        assert approve(asking) == '{"n": 1}'
        assert "approval_required" in await client.text("files__drop", n=2)
        assert await client.text("files__drop", n=1) == '["drop", {"n": 1}]'
        assert "approval_required" in await client.text("files__drop", n=1)
    assert [call.outcome for call in asking.calls()] == ["waiting", "waiting", "done", "waiting"]


async def test_the_clients_user_is_asked_with_the_whole_call_and_only_true_counts(asking: World) -> None:
    async with served(asking, ask=answering(approve=True), **ASKS) as client:
        assert await client.text("files__drop", n=7) == '["drop", {"n": 7}]'
        ((method, params),) = client.asked
        assert method == "elicitation/create"
        assert 'arguments: {"n": 7}' in params["message"]
        field = params["requestedSchema"]["properties"]["approve"]
        assert field["type"] == "boolean"
        assert "default" not in field
        assert params["requestedSchema"]["required"] == ["approve"]
    for word in ("yes", 1, None):
        async with served(asking, ask=answering(approve=word), **ASKS) as client:
            assert "approval_required" in await client.text("files__drop", n=8)
    async with served(asking, ask=answering(approve=False), **ASKS) as client:
        assert "a person said no" in await client.text("files__drop", n=9)
    async with served(asking, ask=decline, **ASKS) as client:
        assert "a person said no" in await client.text("files__drop", n=9)
    assert len(asking.heard("files")) == 1


async def test_a_client_without_a_session_is_asked_by_the_answer(asking: World) -> None:
    async with served(asking, version=NEW, **ASKS) as client:
        answer = await client.call("files__drop", n=1)
        assert answer["resultType"] == "input_required"
        ((key, question),) = answer["inputRequests"].items()
        assert question["method"] == "elicitation/create"
        retry = {"name": "files__drop", "arguments": {"n": 1}, "requestState": answer["requestState"]}
        yes = {key: {"action": "accept", "content": {"approve": True}}}
        other = {**retry, "arguments": {"n": 2}}
        assert (
            "belongs to another request"
            in (await client.error("tools/call", **other, inputResponses=yes))["message"]
        )
        done = await client.request("tools/call", **retry, inputResponses=yes)
        assert done["content"][0]["text"] == '["drop", {"n": 1}]'
        assert "came too late" in (await client.error("tools/call", **retry, inputResponses=yes))["message"]


async def test_nobody_is_asked_about_arguments_that_cannot_be_right(asking: World) -> None:
    async with served(asking, ask=answering(approve=True), **ASKS) as client:
        assert "parameter `n` is missing" in await client.text("files__drop")
        assert "there" not in await client.text("files__drop", n="5")
        assert len(client.asked) == 1
    assert asking.heard("files")[0][1:] == ["drop", {"n": "5"}]


async def test_a_call_too_long_to_be_read_can_only_be_declined_in_the_client(asking: World) -> None:
    async with served(asking, ask=answering(approve=True), **ASKS) as client:
        await client.names()
        text = await client.text("files__drop", n=1, text="x" * 5_000)
        assert "approval_required" in text
        (_, params) = client.asked[0]
        assert "too many to show here" in params["message"]
        assert "remit approve" in params["message"]
    assert asking.heard("files") == []


async def test_a_yes_counts_only_for_the_rules_of_that_moment(asking: World) -> None:
    async def block_then_accept(method: str, params: Any) -> dict[str, Any]:
        del method, params
        asking.mine('block = ["mcp__files__drop"]')
        return {"action": "accept", "content": {"approve": True}}

    async with served(asking, ask=block_then_accept, **ASKS) as client:
        assert "`block`" in await client.text("files__drop", n=1)
    assert asking.heard("files") == []


async def test_a_yes_does_not_count_for_a_definition_that_changes_before_the_call(asking: World) -> None:
    async def change_then_accept(method: str, params: Any) -> dict[str, Any]:
        del method, params
        asking.says("files", tools={"drop": {"definition": {"inputSchema": SCHEMA, "title": "Other"}}})
        return {"action": "accept", "content": {"approve": True}}

    async with served(asking) as client:
        await client.names()
    async with served(asking, ask=change_then_accept, **ASKS) as client:
        assert "its definition changed" in await client.text("files__drop", n=1)
    assert asking.heard("files") == []


async def test_who_may_not_approve_is_not_asked(asking: World) -> None:
    identity = Identity(name="agent", may_approve=False)
    async with served(asking, ask=answering(approve=True), identity=identity, **ASKS) as client:
        assert "approval_required" in await client.text("files__drop", n=1)
        assert client.asked == []


async def test_a_page_or_call_tool_asks_like_a_direct_call(asking: World) -> None:
    async with served(asking) as client:
        await client.names()
        inner = await client.call("call_tool", name="files__drop", arguments={"n": 1})
        assert inner["structuredContent"]["error"] == "approval_required"


async def test_the_clients_own_ask_rule_names_its_rule_and_file(asking: World) -> None:
    settings = {"permissions": {"ask": ["mcp__files__read"], "deny": ["mcp__files__drop"]}}
    asking.write(asking.home / ".claude/settings.json", settings)
    async with served(asking) as client:
        assert await client.names() == ["files__read"]
        asked = await client.text("files__read")
        assert "`mcp__files__read` asks about it" in asked
        assert "~/.claude/settings.json" in asked
        denied = await client.text("files__drop", n=1)
        assert "`mcp__files__drop` denies it" in denied
        assert "~/.claude/settings.json" in denied
