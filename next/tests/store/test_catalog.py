"""From what files declare and servers list to the rows of a catalog: scope, trust, pins, revisions."""

import json
from collections.abc import Callable
from time import process_time

import apsw
import pytest

from remit.decision import (
    AgentProfile,
    Authority,
    DeclaredStates,
    DeclaredTool,
    Failure,
    Kind,
    Launch,
    LaunchFlags,
    Offer,
    Origin,
    PermissionEffect,
    PermissionRule,
    Resolved,
    Scope,
    Status,
    View,
    Workspace,
)
from remit.store import (
    Call,
    CatalogRow,
    CompiledConfiguration,
    Problem,
    Reading,
    Row,
    SqliteDatabase,
    Store,
    StoredFile,
    Value,
    make_definition,
)
from support.builders import BLOG, CLIENT, SHOP, context, declared
from support.stores import definition, keep_list, memory_store, names, prepared, scan, sql, tools

GIT = declared("git", launch=Launch(command="git-server"))
MINE = declared("git", Scope.LOCAL, launch=Launch(command="mine"))
SHARED = declared("shop", Scope.PROJECT, launch=Launch(command="shop"))
LOG, PUSH = definition("mcp__git__log", description="Shows commits."), definition("mcp__git__push")
HERE = View(CLIENT, SHOP)


def listed_store() -> Store:
    store = memory_store()
    scan(store, GIT)
    keep_list(store, GIT, prepared(LOG), prepared(PUSH))
    return store


def row(store: Store, name: str, workspace: Workspace = SHOP) -> CatalogRow:
    (row,) = [row for row in store.catalog.rows(context(workspace)) if row.tool.name == name]
    return row


def test_a_listed_tool_has_what_its_server_says_and_the_status_of_its_server() -> None:
    store = listed_store()
    server, log, push = tools(store)
    assert (server.kind, server.name, server.listed_at, server.tokens) == (
        Kind.MCP_SERVER,
        "mcp__git__*",
        2,
        None,
    )
    assert (log.kind, log.description, log.definition, log.listed_at) == (
        Kind.MCP_TOOL,
        "Shows commits.",
        LOG.digest,
        2,
    )
    assert (push.status, push.server, push.is_placed) == (Status.ENABLED, "git", True)
    assert log.tokens
    assert store.catalog.definitions([LOG.digest, "?"], SHOP) == {LOG.digest: LOG}


def test_hooks_read_the_rows_of_the_names_they_ask_about() -> None:
    store = listed_store()
    assert store.catalog.named(["mcp__git__log", "x"], context()) == [row(store, "mcp__git__log")]


def test_what_a_server_does_not_list_any_more_is_unlisted_unless_its_list_was_partial() -> None:
    store = listed_store()
    store.listings.keep(GIT, Offer([LOG], is_partial=True), [prepared(LOG)], SHOP, 3)
    assert row(store, "mcp__git__push").tool.status is Status.ENABLED
    keep_list(store, GIT, prepared(LOG), at=4)
    assert row(store, "mcp__git__push").tool.status is Status.UNLISTED
    keep_list(store, GIT, prepared(LOG), prepared(PUSH), at=5)
    assert row(store, "mcp__git__push").tool.status is Status.ENABLED


def test_tools_stay_when_their_server_fails_and_the_reason_goes_with_its_entry() -> None:
    store = listed_store()
    store.listings.keep(GIT, Offer(failure=Failure("no such program")), [], SHOP, 3)
    assert [(tool.status, tool.failure) for tool in tools(store)] == [(Status.ENABLED, "no such program")] * 3
    scan(store, declared("git", launch=Launch(command="other")))
    assert [(tool.failure, tool.listed_at) for tool in tools(store)] == [(None, None)] * 3


def test_only_rows_in_scope_are_read() -> None:
    store = memory_store()
    scan(store, GIT, MINE, SHARED)
    keep_list(store, MINE, prepared(definition("mcp__git__secret")))
    assert names(store) == ["mcp__git__*", "mcp__git__*", "mcp__shop__*", "mcp__git__secret"]
    assert names(store, BLOG) == ["mcp__git__*"]
    assert store.catalog.definitions([definition("mcp__git__secret").digest], BLOG) == {}
    below = Workspace("/code/shop/api", "/code/shop", SHOP.project)
    above = Workspace("/code", "/code", SHOP.project)
    assert "mcp__shop__*" in names(store, below)
    assert "mcp__shop__*" not in names(store, above)


def test_a_person_is_told_where_else_a_name_is_declared() -> None:
    store = memory_store()
    scan(store, MINE, SHARED)
    assert store.catalog.elsewhere("shop", BLOG) == [SHOP.project]
    assert store.catalog.elsewhere("mcp__shop__*", BLOG) == [SHOP.project]
    assert store.catalog.elsewhere("shop", SHOP) == []
    scan(store, MINE)
    assert store.catalog.elsewhere("shop", BLOG) == []


@pytest.mark.parametrize(
    ("scope", "project_hash", "dir"),
    [
        ("project", None, "/a"),
        ("project", "h", None),
        ("local", None, None),
        ("global", "h", None),
        ("group", None, None),
    ],
)
def test_a_row_that_could_leak_cannot_be_stored(
    scope: str, project_hash: str | None, dir: str | None
) -> None:
    store = memory_store()
    store.database.rows("see_project", project="h", path="p", at=1)
    values = dict.fromkeys(("agent", "plugin", "description", "tokens", "profile", "endpoint", "digest"))
    place = {"scope": scope, "project_hash": project_hash, "dir": dir}
    with pytest.raises(apsw.ConstraintError):
        store.database.rows(
            "declare",
            client="c",
            kind="mcp_server",
            server="s",
            name="n",
            source="f",
            at=1,
            **place,
            **values,
        )


def test_a_definition_that_is_only_written_in_another_order_is_the_same() -> None:
    one = make_definition("mcp__git__log", "git", "log", None, {"a": 1, "b": {"c": 1, "d": 2}})
    other = make_definition("mcp__git__log", "git", "log", None, {"b": {"d": 2, "c": 1}, "a": 1})
    assert one.digest == other.digest
    assert (
        one.digest
        != make_definition("mcp__hg__log", "hg", "log", None, {"a": 1, "b": {"c": 1, "d": 2}}).digest
    )
    store = memory_store()
    scan(store, GIT)
    keep_list(store, GIT, prepared(one))
    before = store.catalog.revision()
    keep_list(store, GIT, prepared(one)._replace(definition=other))
    assert store.catalog.revision() == before


def test_what_changes_a_catalog_is_counted_and_a_use_is_not() -> None:
    store = memory_store()
    call = Call(9, "hook", CLIENT, None, None, "mcp__git__log", "visible", None, "done")
    offer = Offer([LOG], prompts=[{"name": "p"}], instructions="Hm.")
    rule = PermissionRule(PermissionEffect.DENY, "mcp__git", Origin("/s"))
    judged = prepared(LOG, findings="[]", inspector="2")
    steps: list[tuple[bool, Callable[[], object]]] = [
        (True, lambda: scan(store, GIT)),
        (False, lambda: scan(store, GIT)),
        (True, lambda: scan(store, GIT, permissions=[rule])),
        (False, lambda: scan(store, GIT, permissions=[rule], problems=[Problem("/s", "", "broken")])),
        (True, lambda: scan(store, GIT, permissions=[rule], facts={"searches_tools": True})),
        (True, lambda: store.listings.keep(GIT, offer, [prepared(LOG)], SHOP, 2)),
        (False, lambda: store.listings.keep(GIT, offer, [prepared(LOG)], SHOP, 3)),
        (True, lambda: store.listings.keep(GIT, offer, [judged], SHOP, 3)),
        (False, lambda: store.listings.keep(GIT, offer, [prepared(LOG)], SHOP, 3)),
        (True, lambda: store.listings.keep(GIT, offer._replace(prompts=[]), [prepared(LOG)], SHOP, 4)),
        (True, lambda: store.listings.keep(GIT, Offer(failure=Failure("gone")), [], SHOP, 5)),
        (False, lambda: store.listings.keep(GIT, Offer(failure=Failure("gone")), [], SHOP, 6)),
        (True, lambda: store.trust.grant(GIT.key, "d", "git-server", SHOP, 6)),
        (True, lambda: store.trust.revoke(GIT.key, SHOP)),
        (True, lambda: store.trust.trust_part("/f", "x", "d", SHOP, 7)),
        (True, lambda: store.trust.revoke_part("/f", "x", SHOP)),
        (False, lambda: store.calls.add([call], SHOP)),
        (True, lambda: store.calls.add([call._replace(tool="Read")], SHOP)),  # never heard of here
        (False, lambda: store.calls.add([call._replace(tool="Read")], SHOP)),
        (True, lambda: store.usage.report("Read", CLIENT, Authority.REPORT, SHOP, 9, description="Reads.")),
        (True, lambda: store.states.keep([], CompiledConfiguration({"/r": "1"}, "{}"), SHOP, 9)),
        (False, lambda: store.states.keep([], CompiledConfiguration({"/r": "2"}, "{}"), SHOP, 9)),
        (True, lambda: scan(store)),
    ]  # fmt: skip
    for number, (does_count, change) in enumerate(steps):
        before = store.catalog.revision()
        change()
        assert (store.catalog.revision() != before) is does_count, number


def test_an_unchanged_view_is_not_rewritten() -> None:
    store = memory_store()
    scan(store, GIT, MINE)
    sql(store, "create temp table written (what)")
    note = "begin insert into written values (1); end"
    sql(store, f"create temp trigger resolved after insert on resolutions {note}")
    sql(store, f"create temp trigger declared after insert on tools {note}")
    scan(store, GIT, MINE)
    assert sql(store, "select count(*) from written") == [(0,)]
    scan(store, GIT)
    assert sql(store, "select count(*) from written") == [(1,)]  # the resolution; its row is as it was


def test_a_scan_tells_what_it_changed() -> None:
    store = memory_store()
    other = GIT._replace(status=Status.DISABLED)
    first = store.scans.save(Reading([Resolved(GIT, MINE), Resolved(MINE, None)], {}), HERE, 1)
    assert (first.added, first.removed, first.changed) == ([GIT, MINE], [], [])
    second = store.scans.save(Reading([Resolved(other, None), Resolved(SHARED, None)], {}), HERE, 2)
    assert (second.added, second.removed, second.changed) == ([SHARED], [MINE._replace(launch=None)], [other])


def test_the_last_reading_is_returned_without_launches() -> None:
    store = memory_store()
    profile = AgentProfile(servers=("git",), tools=None, denied_tools=("Bash",))
    helper = declared("helper", kind=Kind.SUBAGENT)._replace(profile=profile, description="Helps.")
    rule = PermissionRule(PermissionEffect.DENY, "Bash", Origin("/s", "permissions.deny", 3))
    reading = Reading(
        [Resolved(GIT, MINE), Resolved(MINE, None), Resolved(helper, None)],
        {"/a": "1", "$X": "2"},
        [rule],
        [Problem("/s", "line 3", "unclear")],
        {"ignored": [{"name": "x"}]},
    )
    assert store.scans.last(HERE) is None
    store.scans.save(reading, HERE, 1)
    mine = MINE._replace(launch=None)
    resolved = [Resolved(GIT._replace(launch=None), mine), Resolved(mine, None), Resolved(helper, None)]
    assert store.scans.last(HERE) == reading._replace(resolved=resolved)
    assert store.scans.inputs(HERE) == {"/a": "1", "$X": "2"}
    assert store.scans.clients(HERE) == {CLIENT: ([rule], {"ignored": [{"name": "x"}]})}
    assert store.scans.inputs(HERE._replace(flags=LaunchFlags(is_headless=True))) == {}
    (tool,) = [tool for tool in tools(store) if tool.kind is Kind.SUBAGENT]
    assert (tool.profile, tool.description, tool.shadowed_by) == (profile, "Helps.", None)
    assert tool.tokens
    assert tools(store)[0].shadowed_by == (Scope.LOCAL, MINE.source, "git")


def test_a_reading_keeps_its_own_source_and_entry_when_its_row_is_read_again_elsewhere() -> None:
    store = memory_store()
    tree = Workspace("/trees/shop", "/trees/shop", SHOP.project)
    moved = MINE._replace(source="/files/tree", digest="another")
    scan(store, MINE)
    scan(store, moved, workspace=tree)
    here, there = row(store, "mcp__git__*"), row(store, "mcp__git__*", tree)
    assert (here.tool.source, here.entry) == (MINE.source, MINE.digest)
    assert (there.tool.source, there.entry) == ("/files/tree", "another")
    last = store.scans.last(HERE)
    assert last is not None
    assert last.resolved[0].declaration == MINE._replace(launch=None)


def test_what_a_broken_file_declared_and_ruled_when_it_was_valid_is_kept() -> None:
    store = memory_store()
    denied = GIT._replace(status=Status.DENIED)
    user = StoredFile("/home/settings", None, "1", json.dumps(["deny Bash"]))
    local = StoredFile("/home/state", SHOP.project.hash, "1", json.dumps(["disable x"]))
    scan(store, denied, MINE, files=[user, local])
    assert store.scans.last_declared(HERE, [GIT.source]) == [denied._replace(launch=None)]
    elsewhere = View(CLIENT, BLOG)
    assert store.scans.last_declared(elsewhere, [GIT.source, MINE.source]) == [denied._replace(launch=None)]
    sources = ["/home/settings", "/home/state"]
    assert store.scans.files(CLIENT, sources, SHOP) == {"/home/settings": user, "/home/state": local}
    assert store.scans.files(CLIENT, sources, BLOG) == {"/home/settings": user}
    scan(store, MINE)  # the file is valid, and does not declare it any more
    assert store.scans.last_declared(HERE, [GIT.source]) == []
    assert row(store, GIT.name, BLOG).tool.status is Status.STALE


def test_trust_is_in_the_entry_that_was_shown() -> None:
    store = memory_store()
    scan(store, SHARED)
    assert row(store, SHARED.name).tool.is_trusted is False
    store.trust.grant(SHARED.key, SHARED.digest or "", "runs shop", SHOP, 5)
    assert store.trust.entries(SHOP) == {SHARED.key: (SHARED.digest, "runs shop", 5)}
    assert store.trust.entries(BLOG) == {}
    assert row(store, SHARED.name).tool.is_trusted is True
    scan(store, SHARED._replace(digest="changed"))
    assert row(store, SHARED.name).tool.is_trusted is False
    store.trust.revoke(SHARED.key, SHOP)
    assert store.trust.entries(SHOP) == {}


def test_a_row_tells_what_was_accepted_and_what_is_listed_now() -> None:
    store = listed_store()
    changed = definition("mcp__git__log", description="Shows commits, and more.")
    keep_list(store, GIT, prepared(changed, by=None, findings='["odd"]', inspector="1"), prepared(PUSH), at=3)
    log = row(store, "mcp__git__log")
    assert (log.definition, log.pin, log.findings) == (changed.digest, prepared(changed).pin, '["odd"]')
    assert log.accepted == (prepared(LOG).pin, LOG.digest, GIT.digest, "sight", 2, None)
    assert (log.entry, log.listed_entry) == (GIT.digest, GIT.digest)
    assert [*store.catalog.definitions([LOG.digest, changed.digest], SHOP)] == [LOG.digest, changed.digest]
    store.trust.accept([(log.tool.key, LOG.digest)], "person", SHOP, 4)  # not what is listed now
    assert row(store, "mcp__git__log").accepted == log.accepted
    store.trust.accept([(log.tool.key, changed.digest)], "person", SHOP, 5)
    accepted = row(store, "mcp__git__log").accepted
    assert accepted == (prepared(changed).pin, changed.digest, GIT.digest, "person", 5, None)


def test_the_next_list_is_compared_with_what_is_known() -> None:
    store = memory_store()
    assert not store.listings.known(GIT, [], SHOP).is_stored
    scan(store, GIT)
    assert store.listings.known(GIT, [], SHOP).listed_entry is None
    keep_list(store, GIT, prepared(LOG, findings="[]", inspector="1"), prepared(PUSH, by=None))
    known = store.listings.known(GIT, [LOG.digest, "?"], SHOP)
    assert (known.listed_entry, [*known.accepted]) == (GIT.digest, ["mcp__git__log"])
    assert known.definitions == {LOG.digest: (prepared(LOG).pin, "[]", "1")}
    assert store.listings.names(SHOP) == ({"git"}, {"mcp__git__log", "mcp__git__push"})


def test_a_server_that_a_plugin_adds_knows_of_the_lists_before() -> None:
    store = memory_store()
    one, two, three = (declared(label, Scope.PLUGIN, plugin="quill") for label in ("one", "two", "three"))
    one, two, three = one._replace(digest="1"), two._replace(digest="2"), three._replace(digest="3")
    scan(store, one, two)
    keep_list(store, one, prepared(definition("mcp__plugin_quill_one__x", "one")))
    assert not store.listings.known(two, [], SHOP).is_plugin_listed  # both came with the plugin
    store.scans.save(Reading([Resolved(item) for item in (one, two, three)], {"/files": "2"}), HERE, at=9)
    known = store.listings.known(three, [], SHOP)
    assert (known.is_plugin_listed, known.listed_entry) == (True, None)


def test_instructions_have_a_pin_of_their_own() -> None:
    store = listed_store()
    first = prepared(make_definition(GIT.name, "git", None, "Be kind.", {}))
    second = prepared(make_definition(GIT.name, "git", None, "Be cruel.", {}), by=None)
    for said in (first, second):
        offer = Offer([LOG], instructions=said.definition.description)
        store.listings.keep(GIT, offer, [prepared(LOG)], SHOP, 3, instructions=said)
    server = row(store, GIT.name)
    assert (server.definition, server.pin) == (second.definition.digest, second.pin)
    assert server.accepted is not None
    assert server.accepted.digest == first.definition.digest
    assert (server.tool.description, server.tool.definition) == (None, None)
    assert row(store, "mcp__git__log").accepted is not None
    store.trust.accept([(GIT.key, second.definition.digest)], "person", SHOP, 5)
    accepted = row(store, GIT.name).accepted
    assert accepted is not None
    assert accepted.pin == second.pin


def test_what_a_server_offers_is_kept_as_long_as_its_entry_is_the_same() -> None:
    store = memory_store()
    scan(store, GIT)
    declared_set = DeclaredStates(
        [DeclaredTool(PUSH, ["x"], "git", "moderate")], {"x": {"file": "x"}}, "/code"
    )
    offer = Offer(
        [LOG],
        resources=[{"uri": "a://b"}],
        templates=[],
        prompts=[{"name": "p"}],
        capabilities={"logging": {}},
        instructions="Hm.",
        protocol_version="2025-11-25",
        declared=declared_set,
    )
    waiting = prepared(PUSH, is_listed=False)
    store.listings.keep(GIT, offer, [prepared(LOG), waiting], SHOP, 2)
    assert store.listings.offers(SHOP) == {GIT.key: offer._replace(tools=())}
    push = row(store, "mcp__git__push")
    assert (push.tool.status, push.accepted is None) == (Status.UNLISTED, False)
    store.listings.keep(GIT, Offer(failure=Failure("gone")), [], SHOP, 3)
    assert store.listings.offers(SHOP) != {}
    scan(store, declared("git", launch=Launch(command="other")))
    assert store.listings.offers(SHOP) == {}


def test_forgetting_a_project_leaves_the_others() -> None:
    store = memory_store()
    scan(store, GIT, MINE)
    keep_list(store, MINE, prepared(definition("mcp__git__secret")))
    scan(store, GIT, workspace=BLOG)
    store.catalog.forget(SHOP.project)
    assert store.catalog.projects() == [BLOG.project]
    assert sql(store, "select count(*) from definitions") == [(0,)]
    assert names(store, BLOG) == ["mcp__git__*"]


def test_a_list_of_thousands_takes_a_few_queries_and_few_times_as_long_to_read_as_its_rows() -> None:
    database = CountingDatabase(":memory:")
    store = Store(database)
    scan(store, GIT)
    items = [prepared(definition(f"mcp__git__t{number}")) for number in range(3_000)]
    database.queries = 0
    keep_list(store, GIT, *items)
    assert database.queries < 20
    query = {"workspace": SHOP.dir, "flags": "", "reach": "[]", "group": "", "project": SHOP.project.hash}
    alone = quickest(lambda: database.rows("catalog", **query))
    assert quickest(lambda: store.catalog.rows(context())) < 3.3 * alone


class CountingDatabase(SqliteDatabase):
    """Counts the queries it is asked for."""

    queries = 0

    def rows(self, query: str, /, **values: Value) -> list[Row]:
        self.queries += 1
        return super().rows(query, **values)


def quickest(step: Callable[[], object]) -> float:
    taken: list[float] = []
    for _ in range(5):
        start = process_time()
        step()
        taken.append(process_time() - start)
    return min(taken)
