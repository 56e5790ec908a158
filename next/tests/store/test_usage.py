"""Uses of names, the log of calls, reports, and the answers that hooks keep."""

import json

import pytest

from remit.decision import Authority, Launch, Resolved, Scope, Status, View, Workspace
from remit.store import Call, CallQuery, KeptKey, Reading, Store
from support.builders import BLOG, CLIENT, SHOP, context, declared
from support.stores import definition, keep_list, memory_store, names, prepared, scan, sql, tools

GIT = declared("git", launch=Launch(command="git-server"))
CALL = Call(5, "", CLIENT, None, None, "mcp__git__log", "visible", None, "done", 7, 2, 3)
HOUR, DAY = 3_600_000, 86_400_000


def listed_store() -> Store:
    store = memory_store()
    scan(store, GIT)
    keep_list(store, GIT, prepared(definition("mcp__git__log")), prepared(definition("mcp__git__push")))
    return store


def uses(store: Store, workspace: Workspace = SHOP) -> dict[str, tuple[int, str]]:
    return {tool.name: (tool.uses, tool.outcomes) for tool in tools(store, workspace) if tool.uses}


def test_uses_are_a_projects_own_and_a_server_has_the_sum_of_its_tools() -> None:
    store = listed_store()
    failed = CALL._replace(outcome="failed", called_at=9)
    store.calls.add([CALL, failed, CALL._replace(tool="mcp__git__push", called_at=7)], SHOP)
    assert uses(store) == {"mcp__git__*": (3, ""), "mcp__git__log": (2, "+-"), "mcp__git__push": (1, "+")}
    assert [tool.last_used_at for tool in tools(store)] == [9, 9, 7]
    assert uses(store, BLOG) == {}
    store.calls.add([failed] * 9, SHOP)
    assert uses(store)["mcp__git__log"] == (11, "-----")


def test_only_what_reached_a_tool_is_a_use() -> None:
    store = listed_store()
    outcomes = ["refused", "waiting", "unknown", "unreachable", "asks_back", "denied", "cancelled", "error"]
    store.calls.add([CALL._replace(outcome=outcome) for outcome in outcomes], SHOP)
    assert uses(store)["mcp__git__log"] == (2, "-")


def test_what_hook_and_gateway_know_of_one_call_is_one_entry_and_one_use() -> None:
    store = listed_store()
    asked = CALL._replace(
        endpoint="hook", agent="helper", session="s", outcome="waiting", duration_ms=0, call_id="c"
    )
    done = CALL._replace(call_id="c")
    for call in (asked, done, done, asked):
        store.calls.add([call], SHOP)
    for call in (done, asked):
        store.calls.add([call], BLOG)
    assert store.calls.find(CallQuery(), BLOG) == [done._replace(agent="helper", session="s")]
    entry = done._replace(endpoint="hook", agent="helper", session="s")
    assert store.calls.find(CallQuery(), SHOP) == [entry]
    assert uses(store)["mcp__git__log"] == (1, "+")
    store.calls.add([done, done], BLOG)
    assert uses(store, BLOG)["mcp__git__log"] == (1, "+")
    store.calls.add([CALL, CALL], SHOP)
    assert uses(store)["mcp__git__log"] == (3, "+++")


def test_a_use_never_makes_or_widens_a_tool() -> None:
    store = memory_store()
    store.calls.add([CALL, CALL._replace(tool="Read")], SHOP)
    assert sql(store, "select count(*) from tools") == [(0,)]
    assert [(tool.name, tool.status, tool.uses) for tool in tools(store)] == [
        ("Read", Status.SEEN, 1),
        ("mcp__git__log", Status.SEEN, 1),
    ]
    assert names(store, BLOG) == []
    scan(store, GIT)
    keep_list(store, GIT, prepared(definition("mcp__git__log")))
    assert names(store) == ["mcp__git__*", "mcp__git__log", "Read"]
    assert uses(store)["mcp__git__log"] == (1, "+")


def test_a_use_of_a_name_that_only_another_project_declares_is_seen_here() -> None:
    store = memory_store()
    scan(store, declared("mine", Scope.LOCAL))
    store.calls.add([CALL._replace(tool="mcp__mine__*")], BLOG)
    assert [(tool.name, tool.status) for tool in tools(store, BLOG)] == [("mcp__mine__*", Status.SEEN)]


def test_what_a_project_says_of_a_tool_is_not_shown_in_another() -> None:
    store = memory_store()
    schema: dict[str, object] = {"type": "object"}
    store.usage.report("x", CLIENT, Authority.REPORT, SHOP, 1, description="Of shop.", schema=schema)
    store.usage.report("x", CLIENT, Authority.HOOK, SHOP, 2, description="Less sure.")
    store.usage.report("x", CLIENT, Authority.REPORT, BLOG, 1)
    (shop,), (blog,) = tools(store), tools(store, BLOG)
    assert (shop.description, blog.description) == ("Of shop.", None)
    digest = shop.definition or ""
    found = store.catalog.definitions([digest], SHOP)[digest]
    assert json.loads(found.raw)["inputSchema"] == schema
    assert store.catalog.definitions([digest], BLOG) == {}


def test_calls_are_found_by_what_is_asked_for_newest_first() -> None:
    store = memory_store()
    calls = [
        CALL._replace(called_at=at, agent=agent, caller=caller, outcome=outcome, tool=f"mcp__git__{at}")
        for at, agent, caller, outcome in [
            (1, None, "a", "done"),
            (2, "h", "b", "failed"),
            (3, "h", "a", "refused"),
        ]
    ]
    store.calls.add(calls, SHOP)
    for query, found in (
        (CallQuery(), [3, 2, 1]),
        (CallQuery(limit=1, offset=1), [2]),
        (CallQuery(text="GIT__3"), [3]),
        (CallQuery(agent=""), [1]),
        (CallQuery(agent="h", caller="b"), [2]),
        (CallQuery(outcome="done"), [1]),
        (CallQuery(since=2, until=3), [2]),
    ):
        assert [call.called_at for call in store.calls.find(query, SHOP)] == found, query
    assert store.calls.span(CallQuery(limit=1, agent="h"), SHOP) == (2, 2, 3)
    assert store.calls.span(CallQuery(), BLOG) == (0, 0, 0)
    assert store.calls.bars(CallQuery(), SHOP, 2) == [(0, 1, 0, 0), (2, 2, 1, 1)]
    assert store.calls.agents(SHOP) == ["h"]
    assert store.calls.find(CallQuery(), BLOG) == []


@pytest.mark.parametrize(
    ("times", "kept"),
    [
        ([1, 2, 200, 201], [200, 201]),
        ([1, 200, 2, 201], [2, 200, 201]),  # a clock was wrong: it takes no others with it
        ([1, 2], []),
        ([200, 201, 202, 203], [201, 202, 203]),
    ],
)
def test_an_entry_with_a_wrong_time_takes_no_others_with_it(times: list[int], kept: list[int]) -> None:
    store = memory_store()
    store.calls.add([CALL._replace(called_at=at) for at in times], SHOP)
    store.calls.prune(before=100, most=3)
    assert [call.called_at for call in store.calls.find(CallQuery(), SHOP)] == sorted(kept, reverse=True)


def test_usage_is_told_by_name_hour_session_and_project() -> None:
    store = listed_store()
    one = CALL._replace(session="s1", called_at=10 * DAY)
    two = one._replace(session="s2", called_at=10 * DAY + 2 * HOUR, duration_ms=9, outcome="failed")
    old = one._replace(session="s0", called_at=DAY, duration_ms=9)
    refused = two._replace(outcome="refused", called_at=10 * DAY + 3 * HOUR)
    store.calls.add([old, one, one, two, refused], SHOP)
    total = (CLIENT, CALL.tool, 4, 1, two.called_at, pytest.approx(23 / 3))
    assert store.usage.totals(SHOP) == [total]
    assert store.usage.hourly(SHOP, 2 * DAY) == [
        (CLIENT, CALL.tool, 240, 2, 0),
        (CLIENT, CALL.tool, 242, 1, 1),
    ]
    assert store.usage.sessions(SHOP, 2) == [
        ("s2", CLIENT, two.called_at, two.called_at, 1, 1, 1),
        ("s1", CLIENT, one.called_at, one.called_at, 2, 0, 1),
    ]
    assert store.usage.first_seen(SHOP)[CLIENT, "mcp__git__log"] == 2
    assert (store.usage.totals(BLOG), store.usage.sessions(BLOG, 9)) == ([], [])


def test_an_answer_is_kept_for_one_call_until_a_catalog_or_remit_changes() -> None:
    store = memory_store()
    store.scans.save(Reading([Resolved(GIT, None)], {"/a": "1"}), View(CLIENT, SHOP), 1)
    key = KeptKey(CLIENT, "", "mcp__git__log", "git", "user", "", "", "default")
    revision = store.catalog.revision()
    store.usage.keep_answer(key, "1.0", revision, SHOP, 1)
    assert store.usage.is_kept(key, "1.0", SHOP)
    assert store.usage.stamps(key, SHOP) == {"/a": "1"}
    for other in (
        key._replace(agent="a"),
        key._replace(mode="plan"),
        key._replace(tool="x"),
        key._replace(launch="h"),
    ):
        assert not store.usage.is_kept(other, "1.0", SHOP)
    assert not store.usage.is_kept(key, "1.1", SHOP)
    assert not store.usage.is_kept(key, "1.0", BLOG)
    scan(store, GIT, declared("new", Scope.LOCAL))
    assert not store.usage.is_kept(key, "1.0", SHOP)
    store.usage.keep_answer(key._replace(tool="y"), "1.0", store.catalog.revision(), SHOP, 2)
    assert sql(store, "select tool from kept_answers") == [("y",)]


def test_rows_of_names_have_no_uses_because_no_decision_reads_them() -> None:
    store = listed_store()
    store.calls.add([CALL], SHOP)
    assert [row.tool.uses for row in store.catalog.named([CALL.tool], context())] == [0]
