"""One client's connection: its handshake in each era, its subscriptions, invalid requests."""

import anyio
import pytest

from support.gateways import NEW, Answer, World, connected, served

pytestmark = pytest.mark.anyio
CHANGED = "notifications/tools/list_changed"


async def test_a_second_initialize_keeps_the_subscriptions(world: World) -> None:
    world.server("files", "read")
    async with served(world) as client:
        await client.names()
        await client.open()
        world.server("notes", "add")
        await client.notice(CHANGED)


async def test_discover_does_not_settle_the_era(world: World) -> None:
    async with served(world, version=NEW) as client:
        found = await client.request("server/discover")
        assert found["supportedVersions"] == [NEW]
        assert found["capabilities"]["resources"]["subscribe"]
        opened = await client.request("initialize", protocolVersion="2024-11-05", capabilities={})
        assert opened["protocolVersion"] == "2024-11-05"


async def test_a_change_stream_acknowledges_tells_and_ends_with_complete(world: World) -> None:
    world.server("files", "read", resources=[{"uri": "note://a", "name": "a"}])
    async with served(world, version=NEW) as client:
        await client.names()
        await client.request("resources/list")
        wanted = {"toolsListChanged": True, "resourceSubscriptions": ["note://a", "note://none"]}
        ended: list[object] = []
        granted: Answer = {}

        async def listen() -> None:
            ended.append(await client.request("subscriptions/listen", notifications=wanted))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen)
            granted |= await client.notice("notifications/subscriptions/acknowledged")
            assert granted["notifications"] == {
                "toolsListChanged": True,
                "resourceSubscriptions": ["note://a"],
            }
            world.server("notes", "add")
            told = await client.notice(CHANGED)
            assert told["_meta"] == granted["_meta"]
            await client.hang_up()
    assert ended == [
        {
            "resultType": "complete",
            "_meta": {
                **granted["_meta"],
                "io.modelcontextprotocol/serverInfo": {"name": "remit", "title": "Remit", "version": "0.1.0"},
            },
        }
    ]


async def test_invalid_requests_are_answered_with_errors(world: World) -> None:
    async with served(world) as client:
        invalid: list[tuple[str, Answer]] = [
            ("tools/call", {}),
            ("tools/call", {"name": "x", "arguments": []}),
            ("resources/read", {"uri": 5}),
            ("logging/setLevel", {"level": "loud"}),
            ("completion/complete", {"ref": {"type": "none"}, "argument": {}}),
        ]
        for method, params in invalid:
            assert (await client.error(method, **params))["code"] == -32602
        assert (await client.error("no/such"))["code"] == -32601
        assert (await client.error("server/discover"))["code"] == -32601


async def test_roots_of_a_client_without_a_session_are_the_directory_if_it_declares_them(
    world: World,
) -> None:
    world.server("files", tools={"ask": {"does": {"asks": [["roots/list", {}]]}}})
    async with served(world, version=NEW, capabilities={"roots": {}}) as client:
        assert world.shop.as_uri() in await client.text("files__ask")
    async with served(world, version=NEW) as client:
        assert "does not answer `roots/list`" in await client.text("files__ask")


async def test_session_names_are_unique_in_a_process_and_servers_end_with_their_session(world: World) -> None:
    world.server("files", "read")
    spec = world.spec()
    async with world.gateway() as it, connected(it, spec) as one:
        async with connected(it, spec) as two:
            await one.call("files__read")
            await two.call("files__read")
            sessions = [session for session, _, _ in world.heard("files")]
            assert len(set(sessions)) == 2
            (status,) = it.process.servers.statuses()
            assert status.sessions == 2
        (status,) = it.process.servers.statuses()
        assert status.sessions == 1


async def test_progress_returns_under_the_clients_own_token(world: World) -> None:
    world.server("files", "read")
    async with served(world) as client:
        meta = {"progressToken": "mine"}
        answer = await client.request("tools/call", name="files__read", arguments={}, _meta=meta)
        assert answer["content"][0]["text"] == '["read", {}]'
