"""Sessions of older clients that move between gateways on one PostgreSQL."""

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from typing import Any, NamedTuple

import anyio
import httpx2
import pytest

from remit.gateway.access.token_grants import Grant, digest
from remit.gateway.transports.session_seal import LIFETIME, LONGEST, ROTATION, SessionSeal
from support.http_gateway import ACCEPT, BLOG, Gateway, gateway
from support.postgres import Databases, needs_postgres
from support.stub_endpoint import StubEndpoint

pytestmark = [pytest.mark.anyio, needs_postgres]
ADA = "Bearer token_of_ada"
GRANTS = [Grant(name=name, digest=digest(f"token_of_{name}")) for name in ("ada", "eve")]
CAPABILITIES = {"elicitation": {}, "roots": {"listChanged": True}, "sampling": {}}
PATIENCE = 30  # seconds; a slow day is no failure: the polls are off, so only a notification can tell


@pytest.fixture
def address(databases: Databases) -> str:
    return databases.create()


def seal_of(address: str, now: int = 1_000) -> SessionSeal:
    from remit.store.postgres.session_key_store import SqlSessionKeys

    return SessionSeal(SqlSessionKeys(address), lambda: now)


class Nodes(NamedTuple):
    one: Gateway
    two: Gateway
    endpoint: StubEndpoint  # of the first


@pytest.fixture(autouse=True)
def without_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.store.postgres.revision_listener.POLL", 600)


@asynccontextmanager
async def nodes(address: str) -> AsyncGenerator[Nodes]:
    endpoint = StubEndpoint()
    with closing(seal_of(address)) as first, closing(seal_of(address)) as second:
        async with (
            gateway(grants=GRANTS, seal=first, endpoint=lambda: endpoint) as one,
            gateway(grants=GRANTS, seal=second) as two,
        ):
            yield Nodes(one, two, endpoint)


def hello(**capabilities: Any) -> dict[str, Any]:
    client = {"name": "claude-code", "version": "2.1.0", "title": "Claude Code " * 100}
    parameters = {
        "protocolVersion": "2025-06-18",
        "capabilities": {**CAPABILITIES, **capabilities},
        "clientInfo": client,
    }
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": parameters}


def request(method: str, **parameters: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 2, "method": method, "params": parameters}


WHO = request("tools/call", name="who", arguments={})


async def opened(node: Gateway, path: str = "/mcp", **capabilities: Any) -> str:
    answer = await node.post(path, hello(**capabilities), authorization=ADA)
    assert answer.status_code == 200
    id = answer.headers["mcp-session-id"]
    done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert (await post(node, id, done)).status_code == 202
    return id


async def post(
    node: Gateway, id: str, body: object = WHO, *, path: str = "/mcp", by: str = ADA, **headers: str
) -> httpx2.Response:
    return await node.post(path, body, authorization=by, mcp_session_id=id, **headers)


async def test_a_session_goes_on_at_another_node_under_its_name(address: str) -> None:
    async with nodes(address) as (one, two, _):
        id = await opened(one)
        assert id.isascii()
        assert id.isprintable()
        assert len(id) <= LONGEST
        assert "claude" not in id
        here, there = await post(one, id), await post(two, id)
        assert (here.status_code, there.status_code) == (200, 200)
        assert here.text == there.text
        assert there.headers["mcp-session-id"] == id
        listed = await post(two, id, request("tools/list"))
        assert "mumble" in listed.text


async def test_requests_that_come_at_once_open_a_session_once(address: str) -> None:
    async with nodes(address) as (one, two, _):
        id = await opened(one)
        statuses: list[int] = []

        async def ask(number: int) -> None:
            statuses.append((await post(two, id, {**WHO, "id": number})).status_code)

        async with anyio.create_task_group() as tasks:
            for number in range(5):
                tasks.start_soon(ask, number)
        assert statuses == [200] * 5
        assert [each.dispatcher.sessions for each in two.endpoints] == [1]


@pytest.mark.long
async def test_an_id_is_worth_nothing_to_others_or_elsewhere(address: str) -> None:
    async with nodes(address) as (one, two, _):
        id = await opened(one)
        changed = id[:-6] + ("AAAAAA" if not id.endswith("AAAAAA") else "BBBBBB")
        for node in (one, two):
            assert (await post(node, id, by="Bearer token_of_eve")).status_code == 404
            assert (await post(node, id, path=f"/p/{BLOG.hash}/mcp")).status_code == 404
            for wrong in (changed, id[:40], "r1.", "r1.=", "x" * 30):
                assert (await post(node, wrong)).status_code == 404


async def test_a_session_that_its_client_ended_is_over(address: str) -> None:
    async with nodes(address) as (one, two, _), httpx2.AsyncClient() as client:
        id = await opened(one)
        assert (await post(two, id)).status_code == 200
        headers = {**ACCEPT, "authorization": ADA, "mcp-session-id": id}
        assert (await client.delete(f"{two.url}/mcp", headers=headers)).status_code == 200
        assert (await post(two, id)).status_code == 404
        assert (await client.delete(f"{two.url}/mcp", headers=headers)).status_code == 404
        for spelling in (f"{id}=", f"{id[:9]}!{id[9:]}", f"{id[:9]} {id[9:]}"):
            assert (await post(two, spelling)).status_code == 404


async def end(node: Gateway, id: str, by: str = ADA) -> int:
    async with httpx2.AsyncClient() as client:
        headers = {**ACCEPT, "authorization": by, "mcp-session-id": id}
        return (await client.delete(f"{node.url}/mcp", headers=headers)).status_code


async def refused(node: Gateway, id: str) -> None:
    with anyio.fail_after(PATIENCE):
        while await _status(node, id) != 404:
            await anyio.sleep(0.01)


async def _status(node: Gateway, id: str) -> int | None:
    """Ask at a node; None if the session ended in the middle of the answer."""
    try:
        return (await post(node, id)).status_code
    except httpx2.RemoteProtocolError:
        return None


@pytest.mark.long
async def test_a_session_that_was_never_at_another_node_cannot_start_there_once_its_client_ended_it(
    address: str,
) -> None:
    async with nodes(address) as (one, two, _):
        id, kept = await opened(one), await opened(one)
        assert await end(one, id) == 200
        assert (await post(two, id)).status_code == 404
        assert (await post(two, kept)).status_code == 200


async def test_a_session_that_is_open_at_two_nodes_ends_at_both(address: str) -> None:
    async with nodes(address) as (one, two, _):
        id, kept = await opened(one), await opened(one)
        for each in (id, kept):
            assert (await post(two, each)).status_code == 200
        assert await end(two, id) == 200
        await refused(one, id)
        assert [served.dispatcher.sessions for served in one.endpoints] == [1]
        assert [(await post(node, kept)).status_code for node in (one, two)] == [200, 200]
        assert await end(one, kept) == 200
        await refused(two, kept)


@pytest.mark.long
async def test_a_session_can_be_ended_at_a_node_that_never_had_it_even_if_it_cannot_move(
    address: str,
) -> None:
    async with nodes(address) as (one, two, _):
        id = await opened(one)
        assert (await post(one, id, request("resources/subscribe", uri="note://one"))).status_code == 200
        assert await end(two, id, by="Bearer token_of_eve") == 404
        assert (await post(one, id)).status_code == 200
        assert await end(two, id) == 200
        await refused(one, id)
        assert [await end(node, id) for node in (one, two)] == [404, 404]


async def test_the_stream_of_a_session_ends_at_its_node_when_another_node_is_told_to_end_it(
    address: str,
) -> None:
    async with nodes(address) as (one, two, _), httpx2.AsyncClient() as client:
        id = await opened(one)
        headers = {"accept": "text/event-stream", "authorization": ADA, "mcp-session-id": id}
        async with client.stream("GET", f"{one.url}/mcp", headers=headers) as stream:
            assert stream.status_code == 200
            assert await end(two, id) == 200
            with anyio.fail_after(PATIENCE):
                async for _ in stream.aiter_bytes():
                    pass


@pytest.mark.long
async def test_a_session_that_a_node_opens_while_its_client_ends_it_does_not_stay_open(address: str) -> None:
    async with nodes(address) as (one, two, _):
        for _ in range(5):
            id = await opened(one)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(post, two, id)
                tasks.start_soon(end, one, id)
            await refused(two, id)
            await refused(one, id)


@pytest.mark.long
async def test_a_session_that_cannot_be_ended_everywhere_says_so_and_can_be_ended_again(
    databases: Databases, address: str
) -> None:
    async with nodes(address) as (one, two, _):
        id = await opened(one)
        assert (await post(two, id)).status_code == 200
        databases.disconnect(address)
        assert await end(one, id) == 503
        assert (await post(one, id)).status_code == 404
        databases.admit(address)
        with anyio.fail_after(PATIENCE):
            while (status := await end(one, id)) == 503:
                await anyio.sleep(0.05)
        assert status == 200
        await refused(two, id)


async def test_the_store_is_asked_about_ended_sessions_only_after_one_ended(address: str) -> None:
    with closing(seal_of(address)) as one, closing(seal_of(address)) as two:
        assert two.ended(["a"]) == []
        with anyio.fail_after(PATIENCE):  # until its listener has read what the store has
            while two.may_have_ended():
                await anyio.sleep(0.01)
        one.bind("b")
        assert one.end("a")
        assert not one.end("a")
        with anyio.fail_after(PATIENCE):
            while not two.may_have_ended():
                await anyio.sleep(0.01)
        assert two.ended(["a", "b", "c"]) == ["a"]
        assert not two.may_have_ended()


async def test_a_session_with_a_server_of_its_own_ends_at_another_node(address: str) -> None:
    async with nodes(address) as (one, two, endpoint):
        id = await opened(one)
        endpoint.bound.update(re.findall("http:[0-9a-f]+", (await post(one, id)).text))
        assert (await post(one, id)).status_code == 200
        assert (await post(two, id)).status_code == 404
        assert (await post(one, id)).status_code == 200


async def test_a_session_with_subscriptions_ends_at_another_node(address: str) -> None:
    async with nodes(address) as (one, two, _):
        id = await opened(one)
        assert (await post(one, id, request("resources/subscribe", uri="note://one"))).status_code == 200
        assert (await post(two, id)).status_code == 404


async def test_an_answer_to_a_question_and_a_broken_stream_are_for_the_node_that_knows_them(
    address: str,
) -> None:
    async with nodes(address) as (one, two, _), httpx2.AsyncClient() as client:
        id = await opened(one)
        assert (await post(two, id, {"jsonrpc": "2.0", "id": 5, "result": {}})).status_code == 404
        assert (await post(two, id, last_event_id="7")).status_code == 404
        assert (await client.get(f"{two.url}/mcp", headers={"authorization": ADA})).status_code == 400


async def test_a_session_that_does_not_fit_into_an_id_stays_at_its_node(address: str) -> None:
    async with nodes(address) as (one, two, _):
        for filler in ({str(number): str(hash(number * 7919)) for number in range(200)}, {"x": "y" * 9_000}):
            id = await opened(one, experimental=filler)
            assert len(id) < 40
            assert (await post(one, id)).status_code == 200
            assert (await post(two, id)).status_code == 404


async def test_without_the_database_sessions_stay_where_they_are(databases: Databases, address: str) -> None:
    async with nodes(address) as (one, two, _):
        id = await opened(one)
        databases.drop(address)
        assert (await post(one, id)).status_code == 200
        assert (await post(two, id)).status_code == 404
        answer = await one.post("/mcp", hello(), authorization=ADA)
        assert answer.status_code == 200


def test_keys_change_every_day_and_old_ids_stay_valid_until_they_expire(address: str) -> None:
    with closing(seal_of(address)) as first, closing(seal_of(address, 1_000 + ROTATION)) as next_day:
        sealed = first.seal(hello()["params"], "ada")
        assert sealed is not None
        later = next_day.seal(hello()["params"], "ada")
        assert later is not None
        assert later[0][:9] != sealed[0][:9]
        assert next_day.open(sealed[0], "ada") == sealed[1]
        assert next_day.open(sealed[0], "eve") is None
    with closing(seal_of(address, 1_000 + LIFETIME)) as last:
        assert last.open(sealed[0], "ada") is None
        assert last.open(later[0], "ada") == later[1]
        last.bind(later[0])
        assert (last.is_fixed(later[0]), last.is_fixed(sealed[0])) == (True, False)
        assert last.end(sealed[0])
        assert last.is_fixed(sealed[0])
    with closing(seal_of(address, 1_000 + LIFETIME + 3 * ROTATION)) as new, closing(seal_of(address)) as old:
        assert new.seal({}, "ada") is not None
        assert old.open(sealed[0], "ada") is None  # its key is gone
        assert new.ended([sealed[0]]) == [sealed[0]]  # for as long as a key could still open it
    with closing(seal_of(address, 1_000 + 3 * LIFETIME)) as newest:
        assert newest.seal({}, "ada") is not None
        assert newest.ended([sealed[0]]) == []
