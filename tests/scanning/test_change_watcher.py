"""Following a workspace: a turn whenever something may have changed, and none otherwise."""

import asyncio
import os
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import pytest

from remit.decision.context import Context
from remit.registry import Registry
from remit.scanning.change_watcher import STEPS, STEPS_WITH_SERVER
from support.builders import servers
from support.sandbox import Sandbox

ON_SERVER = os.environ.get("REMIT_TEST_STORE", "sqlite") != "sqlite"
UNTIL_LOOK = STEPS_WITH_SERVER if ON_SERVER else STEPS

Step = Callable[[], bool]  # what happens while one waits, and whether it is noticed


class Notifier:
    """Lets a script happen while somebody waits, and stops at its end."""

    def __init__(self, *steps: Step) -> None:
        self.is_stopped = False
        self.waits = 0
        self.places: Collection[str] = ()
        self._steps = list(steps)

    def watch(self, places: Collection[str]) -> bool:
        self.places = places
        return False

    def wait(self, seconds: float) -> Collection[str]:
        assert seconds > 0
        self.waits += 1
        if not self._steps:
            self.stop()
            return ["the end"]
        return ["a path"] if self._steps.pop(0)() else []

    def stop(self) -> None:
        self.is_stopped = True


def nothing() -> bool:
    return False


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    path = sandbox.project("shop")
    sandbox.write(path / ".git/HEAD", "ref: refs/heads/main\n")
    sandbox.write_state("deploy")
    sandbox.write(path / "remit.toml", CONFIGURATION)
    sandbox.later_ns = 10**11  # all files are long settled
    return path


CONFIGURATION = """
env = ["STAGE"]
[states.editing]
kind = "workflow"
[states.online]
push = true
[states.documented]
glob = "notes/**/*.md"
[states.named]
value = { file = "package.json", at = "name" }
[tools."mcp__deploy__*"]
states = ["editing"]
"""


@pytest.fixture
def registry(sandbox: Sandbox) -> Iterator[Registry]:
    with sandbox.registry() as opened:
        yield opened


def turns(registry: Registry, at: Context, notifier: Notifier) -> int:
    """Follow to the end of the script, deciding anew at each turn, and count the turns."""
    count = 0
    for _ in registry.follow(at, notifier):
        registry.tools(at)
        count += 1
    return count


def test_the_first_turn_comes_at_once_and_no_other_while_nothing_happens(
    shop: Path, registry: Registry
) -> None:
    notifier = Notifier(*[nothing] * (3 * UNTIL_LOOK))
    assert turns(registry, registry.at(str(shop)), notifier) == 1
    assert notifier.waits == 3 * UNTIL_LOOK + 1


def test_what_is_noticed_but_changes_nothing_is_no_turn(shop: Path, registry: Registry) -> None:
    assert turns(registry, registry.at(str(shop)), Notifier(lambda: True, lambda: True)) == 1


@pytest.mark.parametrize(
    ("file", "content"),
    [
        (".mcp.json", servers("till")),
        ("remit.toml", "[states.other]\nkind = 'workflow'"),
        ("Dockerfile", "FROM scratch"),
        (".git/MERGE_HEAD", "0"),
        ("package.json", {"name": "shop"}),
    ],
)
def test_a_file_that_is_written_is_a_turn_as_soon_as_it_is_noticed(
    sandbox: Sandbox, shop: Path, registry: Registry, file: str, content: object
) -> None:
    def write() -> bool:
        sandbox.write(shop / file, content)
        return True

    notifier = Notifier(write)
    assert turns(registry, registry.at(str(shop)), notifier) == 2
    assert str(shop / file) in notifier.places


def test_a_file_that_nobody_noticed_is_a_turn_at_the_next_look(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    def write() -> bool:
        sandbox.write(shop / ".mcp.json", servers("till"))
        return False

    notifier = Notifier(write, *[nothing] * (UNTIL_LOOK - 1))
    assert turns(registry, registry.at(str(shop)), notifier) == 2


@pytest.mark.skipif(ON_SERVER, reason="a server announces writes a moment later")
def test_what_another_process_stores_is_a_turn_without_being_noticed(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    def set_state() -> bool:
        with sandbox.registry() as other:
            other.states.set("editing", other.at(str(shop)))
        return False

    waits: list[int] = []
    at, notifier = registry.at(str(shop)), Notifier(nothing, set_state)
    for _ in registry.follow(at, notifier):
        waits.append(notifier.waits)
        registry.tools(at)
    assert waits == [0, 2]


def test_what_expires_and_what_a_variable_says_are_turns_at_the_next_look(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    at = registry.at(str(shop))
    registry.states.push({"online": True}, at)

    def expire() -> bool:
        sandbox.time += 100_000
        return False

    def set_variable() -> bool:
        sandbox.variables["CI"] = "true"
        return False

    quiet = [nothing] * (UNTIL_LOOK - 1)
    assert turns(registry, at, Notifier(expire, *quiet, set_variable, *quiet)) == 3


def test_what_the_registry_itself_keeps_is_no_turn(shop: Path, registry: Registry) -> None:
    at = registry.at(str(shop))

    def record() -> bool:
        registry.usage.record("Bash", at, succeeded=True)
        return False

    assert turns(registry, at, Notifier(record, *[nothing] * UNTIL_LOOK)) == 1


def test_a_young_file_is_read_again_until_it_cannot_change_unseen(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.later_ns = 0
    sandbox.write(shop / ".mcp.json", servers("till"))
    quiet = [nothing] * UNTIL_LOOK
    assert turns(registry, registry.at(str(shop)), Notifier(*quiet, *quiet)) == 3
    sandbox.later_ns = 10**11
    assert turns(registry, registry.at(str(shop)), Notifier(*quiet, *quiet)) == 1


def test_the_places_are_those_that_the_answers_depend_on(
    shop: Path, registry: Registry, sandbox: Sandbox
) -> None:
    notifier = Notifier()
    turns(registry, registry.at(str(shop)), notifier)
    expected = {
        sandbox.home / ".claude.json",
        sandbox.home / ".config/remit/remit.toml",
        shop / ".mcp.json",
        shop / "remit.local.toml",
        shop / "notes",
        shop / "package.json",
        shop / "tests",
        shop / ".git/HEAD",
    }
    assert {str(path) for path in expected} <= set(notifier.places)


def test_a_git_directory_of_somebody_else_is_not_watched(sandbox: Sandbox, registry: Registry) -> None:
    other = sandbox.project("other")
    sandbox.write(other / ".git/HEAD", "ref: refs/heads/main\n")
    planted = sandbox.project("planted", git=False)
    sandbox.write(planted / ".git", f"gitdir: {other / '.git'}\n")
    notifier = Notifier()
    turns(registry, registry.at(str(planted)), notifier)
    assert not any(place.startswith(str(other)) for place in notifier.places)


def test_an_application_with_a_loop_of_its_own_follows_too(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    at = registry.at(str(shop))

    def write() -> bool:
        sandbox.write(shop / ".mcp.json", servers("till"))
        return True

    async def follow() -> int:
        count = 0
        async for _ in registry.follow(at, Notifier(write)):
            registry.tools(at)
            count += 1
        return count

    assert asyncio.run(follow()) == 2


def test_leaving_a_loop_ends_the_watching(shop: Path, registry: Registry) -> None:
    notifier = Notifier()
    follower = iter(registry.follow(registry.at(str(shop)), notifier))
    next(follower)
    follower.close()  # type: ignore[attr-defined]
    assert notifier.is_stopped
    assert list(registry.follow(registry.at(str(shop)), notifier)) == []
