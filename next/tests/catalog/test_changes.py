"""Differences of listings, and the wait for the next change."""

from pathlib import Path

from remit.catalog import changed_states, difference
from remit.decision import UNKNOWN, Decision, Gate, Snapshot, StateValue, Tool, ToolDecision, Verdict
from support.builders import tool
from support.catalogs import World

SHOWN = Decision(Verdict.VISIBLE, None, "declared")
HIDDEN = Decision(Verdict.HIDDEN, Gate.STATE, "not ready")


def item(name: str, decision: Decision = SHOWN, **fields: object) -> ToolDecision:
    made: Tool = tool(name, **fields)  # type: ignore[arg-type]
    return ToolDecision(made, decision)


def test_a_difference_has_what_appeared_disappeared_and_changed_with_the_reason() -> None:
    log, push, gone = item("mcp__git__log"), item("mcp__git__push"), item("mcp__git__gone")
    used = log._replace(tool=log.tool._replace(uses=9))
    hidden = push._replace(decision=HIDDEN)
    found = difference([log, push, gone], [used, item("mcp__git__new")], [used, hidden])
    assert [added.tool.name for added in found.appeared] == ["mcp__git__new"]
    assert [(left.tool.name, left.decision) for left in found.disappeared] == [
        ("mcp__git__push", HIDDEN),
        ("mcp__git__gone", UNKNOWN),
    ]
    assert found.changed == []  # a use is no change
    assert difference([log], [used], [used]).is_empty
    changed = difference([log], [log._replace(tool=log.tool._replace(description="new"))], [])
    assert [entry.tool.name for entry in changed.changed] == ["mcp__git__log"]


def test_states_change_by_their_truth_alone() -> None:
    before = Snapshot({"a": StateValue(True, "x"), "b": StateValue(None, ""), "c": StateValue(True, "")})
    after = Snapshot({"a": StateValue(True, "y"), "b": StateValue(False, ""), "d": StateValue(None, "")})
    assert sorted(changed_states(before, after)) == ["b", "c", "d"]


def test_a_watcher_tells_of_changed_decisions_and_of_nothing_that_it_wrote_itself(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.servers("git")
    world.lists("git", "push")
    world.shared('[states.ready]\nfile = "ready"\n[tools."mcp__git__push"]\nstates = ["ready"]\n')
    watcher = world.registry.watch(world.here())
    assert watcher.look()
    assert not watcher.look()  # the first look stored what it read
    world.servers("git", "wiki")
    assert watcher.look()
    (world.shop / "ready").touch()
    assert watcher.look()
    assert not watcher.look()


def test_a_watcher_is_woken_by_a_file_and_ends_when_it_is_stopped(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.servers("git")
    watcher = world.registry.watch(world.here())
    told = 0
    for _ in watcher:
        told += 1
        if told == 1:
            world.servers("git", "wiki")
        else:
            watcher.stop()
    assert told == 2


def test_a_watch_begins_before_the_look(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.servers("git")
    watcher = world.registry.watch(world.here())
    look, told = watcher.look, 0

    def look_then_change() -> bool:
        changed = look()
        if not told:
            world.servers("git", "wiki")  # just after the look
        return changed

    watcher.look = look_then_change
    for _ in watcher:
        told += 1
        if told == 2:
            watcher.stop()
    assert told == 2
