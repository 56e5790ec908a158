"""The log of calls is a chain of digests: no entry changes, appears or disappears unnoticed."""

import pytest

from remit.audit.audit_log import (
    AuditEntry,
    AuditLog,
    BreakKind,
    CallQuery,
    ChainBreak,
    ChainCheck,
    linked,
)
from remit.configuration.retention import Retention
from remit.decision.context import Context
from remit.decision.projects import Project, Workspace
from remit.store.audit_store import prune_entries
from remit.store.open_store import open_store
from remit.store.sql_store import SqlStore
from support.builders import CLIENT
from support.databases import run_sql

SHOP = Context(client=CLIENT, workspace=Workspace("/shop", "/shop", Project(path="/shop", hash="shop")))
BLOG = Context(client=CLIENT, workspace=Workspace("/blog", "/blog", Project(path="/blog", hash="blog")))
LIFETIME = Retention().audit
ENTRY = AuditEntry(
    called_at=1,
    endpoint="stdio",
    client="claude-code",
    agent=None,
    principal="ada",
    tool="mcp__git__push",
    verdict="visible",
    gate=None,
    outcome="done",
    duration_ms=3,
    bytes_in=5,
    bytes_out=7,
)


class Log:
    """A log with five entries of one project, between those of another."""

    def __init__(self) -> None:
        self.store: SqlStore = open_store(":memory:")
        self.time = 10
        self.log = AuditLog(self.store.audit, lambda: self.time)
        for at in range(1, 6):
            self.log.add([ENTRY._replace(called_at=at, tool=f"mcp__git__tool{at}")], SHOP)
            self.log.add([ENTRY._replace(called_at=at)] * 2, BLOG)

    def check(self, known: str = "") -> ChainCheck:
        return self.log.verify(SHOP, known)

    def change(self, statement: str) -> None:
        run_sql(self.store, statement)


@pytest.fixture
def log() -> Log:
    return Log()


def test_a_log_that_nobody_touched_is_whole(log: Log) -> None:
    found = log.check()
    assert (found.entries, found.broken_at, found.knows) == (5, None, True)
    assert found.head == log.check(found.head).head != log.log.verify(BLOG).head


def test_an_empty_log_is_whole_and_has_no_digest() -> None:
    log = AuditLog(open_store(":memory:").audit, lambda: 1)
    assert log.verify(SHOP) == ChainCheck(entries=0, breaks=[], head="", knows=True)


@pytest.mark.parametrize(
    ("statement", "at"),
    [
        ("update audit set outcome = 'refused' where tool = 'mcp__git__tool3'", 3),
        ("update audit set principal = null where tool = 'mcp__git__tool1'", 1),
        ("update audit set chain = '' where tool = 'mcp__git__tool2'", 2),
        ("delete from audit where tool = 'mcp__git__tool2'", 3),
        ("delete from audit where tool = 'mcp__git__tool1'", 2),
        ("update audit set project_hash = 'blog' where tool = 'mcp__git__tool4'", 5),
        ("update audit set tool = 'mcp__git__tool0', called_at = 0 where tool = 'mcp__git__tool5'", 0),
    ],
)
def test_an_entry_that_changed_or_is_gone_breaks_the_chain_there(log: Log, statement: str, at: int) -> None:
    log.change(statement)
    assert log.check().broken_at == at
    assert {each.kind for each in log.check().breaks} == {BreakKind.ALTERED}


def test_each_place_where_the_log_was_changed_is_found(log: Log) -> None:
    log.change("update audit set bytes_in = 0 where tool = 'mcp__git__tool2'")
    log.change("delete from audit where tool = 'mcp__git__tool4'")
    assert [(each.kind, each.called_at) for each in log.check().breaks] == [("altered", 2), ("altered", 5)]


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("is_linked", [True, False])
def test_entries_that_were_added_between_others_are_told_from_changed_ones(
    log: Log, count: int, *, is_linked: bool
) -> None:
    log.change("update audit set id = id + 100 where called_at > 3 and project_hash = 'shop'")
    links = [*log.store.audit.links(SHOP.workspace)]
    digest = links[2].chain
    for number in range(count):
        added = ENTRY._replace(called_at=30 + number)
        digest = linked(digest, added) if is_linked else "0" * 64
        log.change(_insertion(added, digest, id=50 + number))
    assert log.check().breaks == [ChainBreak(BreakKind.ADDED, 30, count)]
    assert (log.check().entries, log.check().head) == (5 + count, links[-1].chain)


def _insertion(entry: AuditEntry, digest: str, *, id: int) -> str:
    values = {"id": id, "project_hash": "shop", **entry._asdict(), "chain": digest}
    shown = ["null" if value is None else repr(value) for value in values.values()]
    return f"insert into audit ({', '.join(values)}) values ({', '.join(shown)})"  # noqa: S608 - a test's


def test_numbers_that_no_entry_has_break_nothing(log: Log) -> None:
    log.change("update audit set id = id * 10 + 7")
    assert log.check().breaks == []


def test_entries_cut_off_at_the_end_are_missed_by_who_kept_the_digest(log: Log) -> None:
    head = log.check().head
    log.change("delete from audit where tool = 'mcp__git__tool5'")
    assert log.check().broken_at is None
    assert not log.check(head).knows


def test_a_digest_stays_known_while_the_log_grows(log: Log) -> None:
    head = log.check().head
    log.log.add([ENTRY], SHOP)
    found = log.check(head)
    assert found.knows
    assert found.head != head


@pytest.mark.sqlite_only
def test_entries_deleted_for_their_age_break_nothing(log: Log) -> None:
    head = log.check().head
    log.time = LIFETIME * 2
    log.log.add([ENTRY._replace(called_at=log.time)], BLOG)
    assert log.check() == ChainCheck(0, [], head, knows=True, deleted=5, deleted_until=5)
    assert log.check(head).knows
    log.log.add([ENTRY._replace(called_at=log.time)], SHOP)
    assert (log.check(head).entries, log.check(head).broken_at) == (1, None)
    log.change("update audit set bytes_in = 0 where project_hash = 'shop'")
    assert log.check().broken_at == log.time


def test_digests_that_were_removed_break_the_chain(log: Log) -> None:
    log.change("update audit set chain = ''")
    assert log.check().broken_at == 1


def test_a_character_that_a_database_cannot_hold_breaks_nothing(log: Log) -> None:
    log.log.add([ENTRY._replace(called_at=6, principal="a\0b")], SHOP)
    assert log.check().broken_at is None


@pytest.mark.sqlite_only
def test_an_entry_with_a_wrong_time_takes_no_others_with_it(log: Log) -> None:
    log.time = LIFETIME
    log.log.add([ENTRY._replace(called_at=log.time + at) for at in range(3)], SHOP)
    log.log.add([ENTRY._replace(called_at=1)], SHOP)  # by a machine whose clock is wrong
    log.time += LIFETIME
    log.log.add([ENTRY._replace(called_at=log.time)], SHOP)
    found = log.check()
    assert (found.entries, found.broken_at) == (5, None)  # the first five are old, and gone


@pytest.mark.sqlite_only
def test_one_project_pushes_no_entries_of_another_out(log: Log) -> None:
    with log.store.database.transaction():
        prune_entries(log.store.database, Retention(most=3), 9)
    assert (log.check().entries, log.log.verify(BLOG).entries) == (3, 3)
    assert (log.check().broken_at, log.log.verify(BLOG).broken_at) == (None, None)


def test_the_log_is_exported_between_two_times_in_its_order(log: Log) -> None:
    found = [*log.log.export(CallQuery(since=2, until=4), [SHOP.workspace])]
    assert [(project.path, link.entry.tool) for project, link in found] == [
        ("/shop", "mcp__git__tool2"),
        ("/shop", "mcp__git__tool3"),
    ]
    assert len([*log.log.export(CallQuery(), [SHOP.workspace])]) == 5
    assert sorted(project.hash for project in log.log.projects()) == ["blog", "shop"]
