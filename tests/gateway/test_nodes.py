"""What several gateways on one PostgreSQL do: each follows what the others change."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from remit.errors import StoreTooNewError, UpstreamError
from remit.gateway.ports import EndpointChange
from remit.upstream.ports import ServerLists
from support.builders import servers
from support.gateway_fakes import FakeLinks, call, endpoint, names, offered, told
from support.postgres import Databases, needs_postgres, open_everywhere
from support.sandbox import Sandbox

pytestmark = [pytest.mark.anyio, needs_postgres]

SECONDS = 60  # a slow day is no failure: the polls are off, so only a notification can tell


@pytest.fixture
def address(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> str:
    """The database that every node opens."""
    made = databases.create()
    open_everywhere(monkeypatch, made)
    monkeypatch.setattr("remit.store.postgres.revision_listener.POLL", 600)
    monkeypatch.setattr("remit.gateway.change_feed.FALLBACK", 600)
    return made


@pytest.fixture
def shop(sandbox: Sandbox, address: str) -> Path:  # noqa: ARG001
    sandbox.write_state("git")
    return sandbox.project("shop")


@pytest.fixture
def links() -> FakeLinks:
    return FakeLinks({"git": ServerLists(tools=[offered("status"), offered("push")])})


async def announced(changes: AsyncIterator[EndpointChange]) -> EndpointChange:
    with anyio.fail_after(SECONDS):
        return await anext(changes)


def query(address: str, text: str) -> list[Any]:
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        found = connection.execute(text.encode())
        while found.nextset():
            pass
        return found.fetchall()


@pytest.mark.long
async def test_a_tool_that_one_node_finds_is_announced_and_callable_at_another_by_notification(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    links.stocks["git"] = UpstreamError("`git` does not answer")
    other = FakeLinks({"git": links.stocks["git"]})
    async with endpoint(sandbox, links, shop) as one, endpoint(sandbox, other, shop) as two:
        assert (await names(one), await names(two)) == ([], [])
        async with two.changes() as changes:
            links.stocks["git"] = ServerLists(tools=[offered("status"), offered("merge")])
            links.tell("git", "notifications/tools/list_changed")
            assert (await announced(changes)).part == "tools"
        assert await names(two) == ["git__merge", "git__status"]
        assert told(await call(two, "git__merge")) == "git did merge"


@pytest.mark.long
async def test_trust_counts_at_every_node_by_notification(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(shop / ".mcp.json", servers("till"))
    links.stocks["till"] = ServerLists(tools=[offered("open")])
    async with endpoint(sandbox, links, shop) as served:
        assert await names(served) == ["git__push", "git__status"]
        assert "not trusted" in told(await call(served, "till__open"))
        async with served.changes() as changes:
            with sandbox.registry() as registry:
                at = registry.at(str(shop))
                registry.trust.grant(registry.trust.servers(at, ["till"]), at)
            await announced(changes)
        assert told(await call(served, "till__open")) == "till did open"


@pytest.mark.long
async def test_a_pushed_state_counts_at_every_node_by_notification(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    rules = '[states.online]\npush = true\n[tools."git__push"]\nstates = ["online"]\n'
    sandbox.write(shop / "remit.toml", rules)
    async with endpoint(sandbox, links, shop) as served:
        assert await names(served) == ["git__status"]
        async with served.changes() as changes:
            with sandbox.registry() as registry:
                registry.states.push({"online": True}, registry.at(str(shop)))
            await announced(changes)
        assert await names(served) == ["git__push", "git__status"]
        assert told(await call(served, "git__push")) == "git did push"


@pytest.mark.long
async def test_an_approval_that_a_person_answers_elsewhere_counts_once_at_every_node(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(shop / "remit.toml", '[tools."git__push"]\napproval = true\n')
    async with endpoint(sandbox, links, shop) as one, endpoint(sandbox, links, shop) as two:
        assert await names(one) == await names(two)
        waits = await call(one, "git__push", {"path": "p"})
        with sandbox.registry() as registry:
            id = waits["structuredContent"]["approval"]
            registry.approvals.answer(id, registry.at(str(shop)), approve=True)
        assert told(await call(two, "git__push", {"path": "p"})) == "git did push"
        again = await call(one, "git__push", {"path": "p"})
        assert again["structuredContent"]["error"] == "approval_required"


@pytest.mark.long
async def test_a_node_that_lost_its_listening_connection_follows_again(
    sandbox: Sandbox, shop: Path, links: FakeLinks, address: str
) -> None:
    sandbox.write(shop / ".mcp.json", servers("till"))
    links.stocks["till"] = ServerLists(tools=[offered("open")])
    async with endpoint(sandbox, links, shop) as served:
        await names(served)
        await until(lambda: bool(listening(address)))
        (before,) = listening(address)
        query(address, f"select pg_terminate_backend({before[0]})")
        await until(lambda: bool(listening(address)) and listening(address) != [before])
        async with served.changes() as changes:
            with sandbox.registry() as registry:
                at = registry.at(str(shop))
                registry.trust.grant(registry.trust.servers(at, ["till"]), at)
            await announced(changes)
        assert told(await call(served, "till__open")) == "till did open"


@pytest.mark.long
async def test_a_node_goes_on_with_what_it_knows_after_a_newer_version_migrated_the_store(
    sandbox: Sandbox, shop: Path, links: FakeLinks, address: str
) -> None:
    async with endpoint(sandbox, links, shop) as served:
        assert await names(served) == ["git__push", "git__status"]
        newer = "insert into remit.schema_version select max(number) + 1 from remit.schema_version"
        query(address, f"{newer}; select 1")
        assert told(await call(served, "git__status")) == "git did status"
        query(
            address,
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where datname = current_database() and pid <> pg_backend_pid()",
        )
        with pytest.raises(StoreTooNewError):
            sandbox.registry()
        assert told(await call(served, "git__status")) == "git did status"


def listening(address: str) -> list[Any]:
    text = "select pid from pg_stat_activity where datname = current_database() and query like 'select part%'"
    return query(address, text)


async def until(is_so: Callable[[], bool]) -> None:
    with anyio.fail_after(SECONDS):
        while not is_so():
            await anyio.sleep(0.01)


@pytest.mark.long
async def test_a_lost_notification_is_made_up_for_by_the_poll(
    sandbox: Sandbox, shop: Path, links: FakeLinks, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remit.store.postgres.revision_listener.POLL", 0.1)
    async with endpoint(sandbox, links, shop) as served:
        await names(served)
        await until(lambda: bool(listening(address)))
        async with served.changes() as changes:
            query(
                address,
                "alter table remit.tools disable trigger user; "
                "update remit.tools set is_unlisted = 1 where name = 'mcp__git__push'; "
                "update remit.revisions set number = number + 1 where part = 'catalog'; select 1",
            )
            await announced(changes)
        assert await names(served) == ["git__status"]


@pytest.mark.long
async def test_calls_notify_nobody(sandbox: Sandbox, shop: Path, links: FakeLinks, address: str) -> None:
    import psycopg

    async with endpoint(sandbox, links, shop) as served:
        await names(served)
        await call(served, "git__status")
        await until(lambda: query(address, "select count(*) from remit.audit")[0][0] == 1)
        with psycopg.connect(address, autocommit=True) as heard:
            heard.execute("listen remit")
            for _ in range(100):
                await call(served, "git__status")
            await until(lambda: query(address, "select count(*) from remit.audit")[0][0] == 101)
            assert list(heard.notifies(timeout=0.1)) == []
