"""One call that the store refuses costs no other its records."""

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from remit.audit.audit_log import AuditEntry, CallQuery
from remit.decision.client_reports import CallOutcome
from remit.errors import StoreCorruptError, StoreUnavailableError
from remit.files.checkout import locate
from remit.gateway.call_records.call_spool import CallSpool
from remit.upstream.ports import ServerLists
from remit.usage.call_batch import CallBatch
from support.gateway_fakes import FakeLinks, call, endpoint, names, offered
from support.postgres import Databases, needs_postgres, open_everywhere
from support.sandbox import Sandbox

pytestmark = pytest.mark.anyio
LONG_ID = random.Random(0).randbytes(3000).hex()  # noqa: S311 - no compression makes it short
ID = "claudecode/toolUseId"


@pytest.fixture
def address(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> str:
    """The database that every gateway opens."""
    made = databases.create()
    open_everywhere(monkeypatch, made)
    return made


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    sandbox.write_state("git")
    return sandbox.project("shop")


@pytest.fixture
def links() -> FakeLinks:
    return FakeLinks({"git": ServerLists(tools=[offered("status"), offered("push")])})


async def until(is_so: Callable[[], bool]) -> None:
    with anyio.fail_after(20):
        while not is_so():
            await anyio.sleep(0.02)


def recorded(sandbox: Sandbox, shop: Path) -> tuple[list[str], dict[str, int]]:
    """The audited tools, and the uses."""
    with sandbox.registry() as registry:
        at = registry.at(str(shop))
        audited = [entry.tool for entry in registry.audit.find(CallQuery(limit=100), at).entries]
        return sorted(audited), {each.tool.name: each.uses for each in registry.usage.report(at).used}


def refused(sandbox: Sandbox) -> list[str]:
    folder = sandbox.database.parent / "call-spool"
    return [name for name in os.listdir(folder) if not name.endswith(".json")] if folder.exists() else []


def entry(tool: str) -> AuditEntry:
    return AuditEntry(5, "", "claude-code", None, None, tool, "visible", None, "done", 7, 2, 3)


@pytest.mark.long
@needs_postgres
@pytest.mark.parametrize("id", [LONG_ID, "half of a \ud83d character"], ids=["long", "half"])
async def test_a_call_with_an_id_that_no_database_stores_is_recorded_like_others(
    sandbox: Sandbox,
    shop: Path,
    links: FakeLinks,
    address: str,  # noqa: ARG001
    id: str,
) -> None:
    async with endpoint(sandbox, links, shop) as served:
        await names(served)
        await call(served, "git__push", _meta={ID: id})
        await call(served, "git__push", _meta={ID: id})  # the same call
        await call(served, "git__status")
        await until(lambda: len(recorded(sandbox, shop)[0]) == 3)
    assert recorded(sandbox, shop)[1] == {"mcp__git__push": 1, "mcp__git__status": 1}
    assert refused(sandbox) == []


@pytest.mark.long
@needs_postgres
async def test_a_use_that_the_database_refuses_is_set_aside_and_the_rest_of_its_batch_is_recorded(
    sandbox: Sandbox, shop: Path, links: FakeLinks, address: str
) -> None:
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("alter table remit.usage_events add check (call_id <> 'bad')")
    async with endpoint(sandbox, links, shop) as served:
        await names(served)
        await call(served, "git__push", _meta={ID: "bad"})
        await call(served, "git__status")
    assert recorded(sandbox, shop) == (["mcp__git__push", "mcp__git__status"], {"mcp__git__status": 1})
    assert len(refused(sandbox)) == 1


@pytest.mark.long
@needs_postgres
async def test_a_batch_that_the_database_refuses_does_not_hold_up_the_spool(
    sandbox: Sandbox,
    shop: Path,
    links: FakeLinks,
    address: str,  # noqa: ARG001
) -> None:
    async with endpoint(sandbox, links, shop) as served:
        await names(served)
        await call(served, "git__status")
    with sandbox.registry() as registry:
        known = {each.tool.name: each.tool.key for each in registry.tools(registry.at(str(shop)))}
    push, status = "mcp__git__push", "mcp__git__status"
    spool = CallSpool(str(sandbox.database.parent))
    workspace = locate(str(shop))
    for at, id in ((1, LONG_ID), (2, "toolu_1")):
        used = [(known[push], CallOutcome(call_id=id, succeeded=True))]
        spool.add(CallBatch(id[:8], at, "claude-code", workspace, used, [entry(push)]))
    async with endpoint(sandbox, links, shop):
        await until(lambda: len(spool) == 0)
    assert recorded(sandbox, shop) == ([push, push, status], {push: 1, status: 1})
    assert len(refused(sandbox)) == 1


def batch_of(shop: Path, *tools: str) -> CallBatch:
    return CallBatch("a", 1, "claude-code", locate(str(shop)), [], [entry(tool) for tool in tools])


def test_everything_but_the_refused_entry_is_recorded(tmp_path: Path, shop: Path) -> None:
    spool, kept = CallSpool(str(tmp_path)), list[str]()

    def record(batch: CallBatch) -> None:
        tools = [entry.tool for entry in batch.entries]
        if "bad" in tools:
            raise UnicodeError("it cannot be encoded")
        kept.extend(tools)

    spool.record(batch_of(shop, "a", "b", "bad", "c", "d"), record)
    assert kept == ["a", "b", "c", "d"]
    (aside,) = (tmp_path / "call-spool").iterdir()
    assert aside.suffix == ".refused"
    assert len(spool) == 0


def test_a_refused_entry_that_cannot_be_kept_does_not_stop_the_others(
    tmp_path: Path, shop: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "call-spool").write_text("in the way", encoding="utf-8")

    def record(batch: CallBatch) -> None:
        raise ValueError(batch.id)

    CallSpool(str(tmp_path)).record(batch_of(shop, "a", "b"), record)
    assert caplog.text.count("cannot be kept on disk either") == 2


@pytest.mark.parametrize("error", [StoreUnavailableError("it is down"), StoreCorruptError("it is damaged")])
def test_batches_wait_while_the_store_cannot_be_used(tmp_path: Path, shop: Path, error: Exception) -> None:
    def record(_: CallBatch) -> Any:
        raise error

    spool = CallSpool(str(tmp_path))
    spool.add(batch_of(shop, "a", "b"))
    with pytest.raises(type(error)):
        spool.deliver(record)
    assert len(spool) == 1


def test_a_spool_is_bounded_by_bytes_too(tmp_path: Path, shop: Path) -> None:
    spool = CallSpool(str(tmp_path), most_bytes=3000)
    spool.add(batch_of(shop, "a"))
    with pytest.raises(StoreUnavailableError, match="is full: 1 writes"):
        spool.add(batch_of(shop, "x" * 3000)._replace(id="b"))
    assert spool.is_full
