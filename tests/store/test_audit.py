"""What is kept for the gateway: what servers offer, what became of calls, and how often a catalog changed."""

import json
from collections.abc import Iterator

import pytest

from remit.audit.audit_log import AuditEntry, CallQuery
from remit.configuration.config_model import StoredConfiguration
from remit.configuration.retention import Retention
from remit.decision.client_reports import CallOutcome, ReportedTool
from remit.decision.declarations import ClientReading, Declaration, Resolved
from remit.decision.kinds import Authority, ConfigStatus
from remit.decision.projects import DEFAULT_FLAGS, View
from remit.decision.tools import Definition
from remit.store.audit_store import prune_entries
from remit.store.definition_rows import define
from remit.store.open_store import open_store
from remit.store.sql_store import SqlStore
from remit.store.usage_store import count_all
from remit.upstream.upstream_model import Failure, Offer, ServerExtras
from remit.usage.call_batch import CallBatch, read_batch
from support.builders import BLOG, CLIENT, SHOP, declared

GIT = declared("git", digest="d1")
EXTRAS = ServerExtras(
    resources=[{"uri": "a://b"}],
    templates=[],
    prompts=[{"name": "p"}],
    capabilities={"logging": {}},
    instructions="Hm.",
)
ENTRY = AuditEntry(5, "", CLIENT, None, None, "mcp__git__log", "visible", None, "done", 7, 2, 3)


@pytest.fixture
def store(store_place: str) -> Iterator[SqlStore]:
    made = open_store(store_place)
    save(made, GIT)
    yield made
    made.close()


def save(store: SqlStore, *declarations: Declaration) -> None:
    resolved = [Resolved(declaration=each, config_status=ConfigStatus.ENABLED) for each in declarations]
    reading = ClientReading(client=CLIENT, declarations=list(declarations), inputs={"x": "1"})
    store.scans.save(reading, resolved, View(CLIENT, SHOP), at=1)


def test_what_a_server_offers_is_kept_as_long_as_its_entry_is_the_same(store: SqlStore) -> None:
    store.servers.keep(GIT, Offer(extras=EXTRAS), SHOP, at=2)
    assert store.servers.extras(SHOP) == {GIT.key: EXTRAS}
    store.servers.keep(GIT, Offer(failure=Failure(reason="gone")), SHOP, at=3)
    store.servers.keep(GIT, Offer(), SHOP, at=4)  # which was asked for its tools alone
    assert store.servers.extras(SHOP) == {GIT.key: EXTRAS}
    save(store, declared("git", digest="d2"))
    assert store.servers.extras(SHOP) == {}


def test_a_definition_that_is_only_written_in_another_order_is_the_same(store: SqlStore) -> None:
    one, two = ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}')
    first = define(store.database, Definition(name="mcp__git__log", raw=one))
    assert define(store.database, Definition(name="mcp__git__log", raw=two)) == first
    assert define(store.database, Definition(name="mcp__git__log", raw='{"a": 2}')) != first
    assert define(store.database, Definition(name="mcp__git__log")) != first


def test_what_changes_a_catalog_is_counted_and_a_use_is_not(store: SqlStore) -> None:
    tool = Definition(name="mcp__git__log", server="git", tool="log", raw=json.dumps({}))
    reported = ReportedTool(tool.name, CLIENT, SHOP, Authority.HOOK, 9, True, "git")
    for does_count, change in (
        (True, lambda: store.servers.keep(GIT, Offer(tools=[tool], extras=EXTRAS), SHOP, at=2)),
        (False, lambda: store.servers.keep(GIT, Offer(tools=[tool], extras=EXTRAS), SHOP, at=3)),
        (True, lambda: store.servers.keep(GIT, Offer(tools=[], extras=EXTRAS), SHOP, at=4)),
        (True, lambda: store.servers.keep(GIT, Offer(tools=[tool], extras=ServerExtras()), SHOP, at=5)),
        (False, lambda: save(store, GIT)),
        (True, lambda: store.servers.trust(GIT, SHOP, at=6, sandbox=None)),
        (True, lambda: store.servers.revoke(GIT, SHOP)),
        (True, lambda: store.states.trust_part("/f", "x", "d", SHOP, 7)),
        (True, lambda: store.states.revoke_part("/f", "x", SHOP)),
        (True, lambda: store.record(reported, CallOutcome())),  # which was never seen in this project
        (False, lambda: store.record(reported, CallOutcome(succeeded=True))),
        (True, lambda: save(store)),
    ):
        before = store.database.catalog_revision()
        change()
        assert (store.database.catalog_revision() != before) is does_count, change


def test_many_uses_are_counted_at_once_each_call_once(store: SqlStore) -> None:
    reported = ReportedTool("mcp__git__log", CLIENT, SHOP, Authority.HOOK, 9, True, "git")
    other = reported._replace(name="mcp__git__push", at=11)
    uses = [
        (reported, CallOutcome(call_id="c1")),
        (reported, CallOutcome(call_id="c1", succeeded=True)),
        (other, CallOutcome()),
    ]
    with store.database.transaction():
        count_all(store.database, [*uses, (reported._replace(at=10), CallOutcome(succeeded=False))])
    used = {key[-1]: found for key, found in store.uses_here(SHOP).items()}
    assert used == {"mcp__git__log": (2, 10), "mcp__git__push": (1, 11)}
    assert store.uses_here(BLOG) == {}


def test_a_batch_of_calls_is_recorded_once_however_often_it_is_delivered(store: SqlStore) -> None:
    save(store, GIT)
    store.servers.keep(GIT, Offer(tools=[Definition(name="mcp__git__log", server="git")]), SHOP, at=2)
    key = next(tool.key for tool in store.catalog(SHOP, DEFAULT_FLAGS) if tool.name == "mcp__git__log")
    batch = CallBatch("b1", 9, CLIENT, SHOP, [(key, CallOutcome(succeeded=True))], [ENTRY])
    for written in (batch, read_batch(json.loads(json.dumps(batch.as_json()))), batch._replace(id="b2")):
        store.record_calls(written)
    assert store.audit.find(CallQuery(), SHOP) == [ENTRY, ENTRY]
    assert store.uses_here(SHOP)[key] == (2, 9)


def test_the_audit_is_a_projects_own_and_bounded(store: SqlStore) -> None:
    entries = [ENTRY._replace(called_at=at) for at in range(5)]
    audit = store.audit
    audit.add(entries, SHOP, at=9)
    assert audit.find(CallQuery(limit=2), SHOP) == [entries[4], entries[3]]
    assert audit.find(CallQuery(limit=2, offset=2), SHOP) == [entries[2], entries[1]]
    assert audit.find(CallQuery(), BLOG) == []
    if store.database.is_append_only:  # only an owner deletes
        store.forget(SHOP.project)
        assert len(audit.find(CallQuery(), SHOP)) == 5
        return
    with store.database.transaction():
        prune_entries(store.database, Retention(audit=8, most=3), at=9)
    assert audit.find(CallQuery(), SHOP) == entries[:1:-1]
    store.forget(SHOP.project)
    assert audit.find(CallQuery(), SHOP) == []


def test_records_are_kept_as_long_as_the_configuration_says(store: SqlStore) -> None:
    day = 86_400_000
    old, young = ENTRY._replace(called_at=day), ENTRY._replace(called_at=200 * day)
    store.audit.add([old, young], SHOP, at=9)
    kept = StoredConfiguration({}, [], [], retention={"audit": 400 * day})
    store.states.keep_configuration({}, kept, SHOP, at=9)
    store.audit.prune(SHOP, at=201 * day)
    assert store.audit.find(CallQuery(), SHOP) == [young, old]
    if store.database.is_append_only:
        return
    store.states.keep_configuration({}, kept._replace(retention={"audit": 7 * day}), SHOP, at=9)
    store.audit.prune(SHOP, at=201 * day)
    assert store.audit.find(CallQuery(), SHOP) == [young]


@pytest.mark.long
@pytest.mark.parametrize(
    ("query", "times"),
    [
        (CallQuery(text="PUSH"), [2]),
        (CallQuery(text="%"), []),
        (CallQuery(agent="reviewer"), [3]),
        (CallQuery(agent=""), [2, 1]),
        (CallQuery(outcome="refused"), [3]),
        (CallQuery(since=2), [3, 2]),
        (CallQuery(until=2), [1]),
        (CallQuery(since=2, until=3, text="git"), [2]),
    ],
    ids=str,
)
def test_a_query_selects_calls_by_name_agent_outcome_and_time(
    store: SqlStore, query: CallQuery, times: list[int]
) -> None:
    refused = ENTRY._replace(called_at=3, agent="reviewer", outcome="refused")
    entries = [ENTRY._replace(called_at=1), ENTRY._replace(called_at=2, tool="mcp__git__push"), refused]
    store.audit.add(entries, SHOP, at=9)
    assert [entry.called_at for entry in store.audit.find(query, SHOP)] == times
    assert store.audit.span(query, SHOP)[0] == len(times)


def test_the_tools_of_applications_are_known_by_their_calls_in_the_project(store: SqlStore) -> None:
    called = ENTRY._replace(endpoint="langchain", client="langchain", tool="publish")
    through_gateway = called._replace(tool="mcp__git__log")
    store.audit.add([ENTRY, called, called, through_gateway], SHOP, at=9)
    assert store.audit.application_tools(SHOP) == {"publish": "langchain"}
    assert store.audit.application_tools(BLOG) == {}
