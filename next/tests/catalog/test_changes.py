"""The wait for the next change of a listing."""

from pathlib import Path

from support.catalogs import World


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
