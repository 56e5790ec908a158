"""What a gateway does while its PostgreSQL is down, and after it is back."""

import shutil
import tempfile
from collections.abc import Callable, Generator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread

from remit.audit.audit_log import CallQuery
from remit.errors import StoreError, StoreTooNewError, StoreUnavailableError
from remit.gateway.call_records.call_spool import CallSpool
from remit.gateway.endpoint import _TRANSLATED  # pyright: ignore[reportPrivateUsage]
from remit.presentation.refusals import STORE_DOWN
from remit.protocol.json_rpc import JsonRpcError
from remit.upstream.ports import ServerLists
from support.frozen_database import freezable
from support.gateway_fakes import FakeLinks, call, endpoint, names, offered, told
from support.postgres import PostgresServer, needs_postgres, open_everywhere
from support.sandbox import Sandbox

pytestmark = [pytest.mark.anyio, needs_postgres]


@pytest.fixture(scope="module")
def mortal() -> Generator[PostgresServer]:
    """A server that tests may kill."""
    folder = Path(tempfile.mkdtemp(prefix="remit-postgres-"))
    made = PostgresServer(folder)
    made.start()
    yield made
    made.kill()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def server(mortal: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> PostgresServer:
    """The server, with a new database that has every store."""
    open_everywhere(monkeypatch, mortal.create_database())
    return mortal


@pytest.fixture
def shop(sandbox: Sandbox, server: PostgresServer) -> Path:  # noqa: ARG001
    sandbox.write_state("git")
    rules = (
        '[tools."git__push"]\napproval = true\n'
        '[states.online]\npush = true\n[tools."git__pull"]\nstates = ["online"]\n'
    )
    path = sandbox.project("shop")
    sandbox.write(path / "remit.toml", rules)
    return path


@pytest.fixture
def links() -> FakeLinks:
    return FakeLinks({"git": ServerLists(tools=[offered("status"), offered("push"), offered("pull")])})


async def until(is_so: Callable[[], bool]) -> None:
    with anyio.fail_after(60):
        while not is_so():
            await anyio.sleep(0.02)


async def answer(port: int, path: str, host: str = "127.0.0.1") -> tuple[int, str, str | None]:
    def get() -> tuple[int, str, str | None]:
        with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
            connection.request("GET", path, headers={"Host": host})
            found = connection.getresponse()
            return found.status, found.read().decode(), found.headers["retry-after"]

    return await to_thread.run_sync(get)


def recorded(sandbox: Sandbox, shop: Path) -> list[tuple[str, str]]:
    with sandbox.registry() as registry:
        found = registry.audit.find(CallQuery(limit=1000), registry.at(str(shop)))
        return [(entry.tool, entry.outcome) for entry in found.entries]


@pytest.mark.long
async def test_without_the_database_the_last_known_tools_are_served_and_every_call_is_recorded_later_once(
    sandbox: Sandbox, shop: Path, links: FakeLinks, server: PostgresServer
) -> None:
    with sandbox.registry() as registry:
        registry.states.push({"online": True}, registry.at(str(shop)))
    spool = CallSpool(str(sandbox.database.parent))
    async with endpoint(sandbox, links, shop) as served:
        with anyio.fail_after(60):  # the first list comes in time, and the rest is announced
            while len(before := await names(served)) < 3:
                await anyio.sleep(0.02)
        assert told(await call(served, "git__status")) == "git did status"
        server.kill()
        assert await names(served) == before == ["git__pull", "git__push", "git__status"]
        for _ in range(5):
            assert told(await call(served, "git__status")) == "git did status"
        assert told(await call(served, "git__pull")) == "git did pull"
        refused = await call(served, "git__push")
        assert refused["isError"]
        assert "approvals cannot be checked now" in told(refused)
        await until(lambda: len(spool) > 0)
        server.start()
        await until(lambda: len(spool) == 0)
        waits = await call(served, "git__push")
        assert waits["structuredContent"]["error"] == "approval_required"
        await until(lambda: len(recorded(sandbox, shop)) == 9)
    git = "mcp__git__"
    assert sorted(recorded(sandbox, shop)) == [
        (f"{git}pull", "done"),
        (f"{git}push", "refused"),
        (f"{git}push", "waiting"),
        *[(f"{git}status", "done")] * 6,
    ]
    with sandbox.registry() as registry:
        used = registry.usage.report(registry.at(str(shop))).used
    assert [(each.tool.name, each.uses) for each in used] == [(f"{git}status", 6), (f"{git}pull", 1)]


@pytest.mark.long
async def test_calls_that_a_gateway_left_in_the_spool_are_recorded_by_the_next(
    sandbox: Sandbox, shop: Path, links: FakeLinks, server: PostgresServer
) -> None:
    spool = CallSpool(str(sandbox.database.parent))
    async with endpoint(sandbox, links, shop) as served:
        await names(served)
        server.kill()
        await call(served, "git__status")
    assert len(spool) == 1
    server.start()
    async with endpoint(sandbox, links, shop):
        await until(lambda: len(spool) == 0)
    assert recorded(sandbox, shop) == [("mcp__git__status", "done")]


@pytest.mark.long
async def test_a_connection_that_was_idle_while_the_database_restarted_is_not_noticed(
    sandbox: Sandbox, shop: Path, server: PostgresServer
) -> None:
    with sandbox.registry() as registry:
        at = registry.at(str(shop))
        registry.states.push({"online": True}, at)
        server.kill()
        server.start()
        registry.states.push({"online": False}, at)


def test_a_spool_that_is_full_refuses_more(sandbox: Sandbox, shop: Path) -> None:
    from remit.errors import StoreUnavailableError
    from remit.files.checkout import locate
    from remit.usage.call_batch import CallBatch

    spool = CallSpool(str(sandbox.database.parent), most=1)
    batch = CallBatch("a", 1, "claude-code", locate(str(shop)), [], [])
    spool.add(batch)
    with pytest.raises(StoreUnavailableError, match="full"):
        spool.add(batch._replace(id="b"))
    assert spool.is_full
    delivered: list[Any] = []
    spool.deliver(delivered.append)
    assert delivered == [batch]
    assert not spool.is_full


@pytest.mark.long
async def test_a_database_that_hangs_is_noticed_and_used_again_when_it_answers(
    sandbox: Sandbox, shop: Path, links: FakeLinks, mortal: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remit.store.postgres.revision_listener.POLL", 0.1)
    monkeypatch.setattr("remit.store.postgres.revision_listener.SILENCE", 1.0)
    from remit.store.postgres.revision_listener import listener_of

    with freezable(mortal.create_database()) as (proxy, address):
        open_everywhere(monkeypatch, address)
        async with endpoint(sandbox, links, shop) as served:
            with anyio.fail_after(60):
                while "git__push" not in await names(served):
                    await anyio.sleep(0.02)
            listener = listener_of(address)
            assert listener is not None
            await until(lambda: listener.is_live)
            proxy.freeze()
            with anyio.fail_after(60):
                refused = await call(served, "git__push")
                assert told(await call(served, "git__status")) == "git did status"
            assert "approvals cannot be checked now" in told(refused)
            assert listener.is_down
            proxy.thaw()
            await until(lambda: listener.is_live)
            with anyio.fail_after(60):
                while "cannot be checked" in told(await call(served, "git__push")):
                    await anyio.sleep(0.02)


@pytest.mark.long
async def test_a_node_that_starts_without_its_database_waits_for_it(
    sandbox: Sandbox, mortal: PostgresServer
) -> None:
    from remit.bootstrap_gateway import gateway_openers
    from remit.gateway.access.token_file import TokenFile
    from remit.gateway.transports.host_check import HostCheck
    from remit.gateway.transports.socket_server import Address, bind_socket
    from remit.gateway.transports.store_wait import wait_for_store
    from remit.store.open_store import open_store

    address = mortal.create_database()

    def tokens() -> TokenFile:
        open_store(address).close()
        return TokenFile(str(sandbox.root))

    openers = gateway_openers()._replace(tokens=tokens)
    mortal.kill()
    with bind_socket(Address("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait_for_store, openers, HostCheck("127.0.0.1"), listener)
            assert (await answer(port, "/health"))[0] == 200
            assert (await answer(port, "/health", host="evil.example"))[0] == 421
            assert await answer(port, "/ready") == (503, '{"status":"starting","store":"unreachable"}', None)
            status, _, retry_after = await answer(port, "/mcp")
            assert (status, retry_after) == (503, "1")
            mortal.start()  # ends the wait


@pytest.mark.parametrize("kind", [StoreTooNewError, StoreUnavailableError])
def test_a_model_is_not_told_where_the_store_is(kind: type[StoreError]) -> None:
    with (
        pytest.raises(JsonRpcError) as raised,
        _TRANSLATED,  # what all requests of an endpoint run in
    ):
        raise kind("`postgresql://db.internal/remit` cannot be used")
    assert str(raised.value) == STORE_DOWN
