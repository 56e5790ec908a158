"""Repositories that mix everything an attacker can write: nothing of them runs, leaks, escapes or hangs.

`make test` tries a slice, `make attack` a thousand. A failure names its repository: `REMIT_ATTACK_NUMBERS=17`
tries that one alone, and says which of its ingredients matter.
"""

import os
import shutil
import sys
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

from attacks.command_checks import (
    act_failures,
    answer_failures,
    block_failures,
    command_failures,
    labeled,
    world_failures,
)
from attacks.hostile_repositories import CONTENTS, FORMS, Victim, event, mix
from attacks.ingredients.repository import HostileRepository, Ingredient
from attacks.worlds import BASH
from support.forked_commands import Done, ForkServer, fork_server

COUNT = int(os.environ.get("REMIT_ATTACK_REPOSITORIES", "9"))
BATCH = 3
GIVEN = [int(word) for word in os.environ.get("REMIT_ATTACK_NUMBERS", "").split()]
BATCHES = [[number] for number in GIVEN] or [
    list(range(first, min(first + BATCH, COUNT))) for first in range(0, COUNT, BATCH)
]
CLIENTS = (
    *("all", "cursor", "vscode", "codex", "gemini-cli", "opencode", "zed", "roo", "kiro"),
    *("continue", "klaude", "copilot-cli"),
)
OTHERS = (
    *(["states"], ["trust"], ["clients", "--all"], ["policy", "check"], ["search", "delete", "notes"]),
    *(["usage"], ["prune"], ["suggest"], ["status"], ["approve"], ["memory", "list"]),
)
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="uses pipes, sockets and pidfds of Linux")


@pytest.fixture
def server() -> ForkServer:
    return fork_server()


class Attack:
    """One repository, and everything a user does in it."""

    def __init__(self, server: ForkServer, root: Path, number: int) -> None:
        self._server, self._victim = server, Victim(root, number)
        self._chance = self._victim.chance("commands")
        self._hook = _words_of_remit(self._install())

    def failures(self, ingredients: Sequence[Ingredient]) -> list[str]:
        """Clone a repository with these ingredients, run every command, and say what went wrong."""
        try:
            repository = self._victim.clone(ingredients)
            before = self._victim.snapshot()
            found = [*self._commands(repository), *self._events(repository)]
            return [*found, *world_failures(self._victim, before)]
        finally:
            self._victim.close()

    def _install(self) -> list[str]:
        done = self._server.run(
            ["install", "claude-code", "--yes"],
            cwd=self._victim.world.repository,
            environment=self._victim.environment,
        )
        if done.code:
            raise RuntimeError(f"the attack cannot be judged: {done}")
        return self._victim.installed_hook()

    def _commands(self, repository: HostileRepository) -> Generator[str]:
        chance = self._chance
        client = [] if chance.random() < 0.6 else ["--client", chance.choice(CLIENTS)]
        lines: list[list[str]] = [
            ["scan", *client, *chance.choice([[], ["--json"]])],
            ["tools", "--all", *client],
            ["tools", "--all", "--json", *client],
            ["context", *client, *chance.choice([[], ["--json"]])],
            ["doctor", *client, *chance.choice([[], ["--json"]])],
            ["why", *chance.choice([[], ["--json"]]), "--", self._name(repository)],
            [*chance.choice(OTHERS), *chance.choice([[], ["--json"]])],
        ]
        for words in lines:
            on_terminal = "--json" not in words and chance.random() < 0.3
            done = self._run(words, repository, self._victim.environment, on_terminal=on_terminal)
            yield from labeled(done, [*command_failures(done), *act_failures(done, self._victim)])
            if done.is_late:
                return  # so are the others

    def _name(self, repository: HostileRepository) -> str:
        names = ["notes", "mcp__notes__read", "Bash", *repository.servers]
        return self._chance.choice([name for name in names if "\x00" not in name and _is_text(name)])

    def _events(self, repository: HostileRepository) -> Generator[str]:
        reached = self._victim.reached(repository)
        asked = event("PreToolUse", repository, **BASH)
        done = self._run(self._hook, repository, reached, stdin=asked)
        told = [*command_failures(done), *act_failures(done, self._victim), *block_failures(done)]
        yield from labeled(done, told)
        asked = event("SessionStart", repository, source="startup")
        done = self._run(self._hook, repository, reached, stdin=asked)
        told = [*command_failures(done), *act_failures(done, self._victim), *answer_failures(done)]
        yield from labeled(done, told)

    def _run(
        self,
        words: Sequence[str],
        repository: HostileRepository,
        environment: dict[str, str],
        stdin: bytes = b"",
        *,
        on_terminal: bool = False,
    ) -> Done:
        return self._server.run(
            words,
            cwd=repository.workspace,
            environment=environment,
            stdin=stdin,
            on_terminal=on_terminal,
            deadline=20.0,
            is_audited=True,
        )


def _words_of_remit(command: Sequence[str]) -> list[str]:
    """The words after `remit` or `-m remit`: forks have everything before it loaded."""
    start = command.index("remit") if "remit" in command else 0
    return list(command[start + 1 :])


def _is_text(name: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in name)


def attack(server: ForkServer, folder: Path, number: int, ingredients: Sequence[Ingredient]) -> list[str]:
    """Attack a machine that is made for it and removed afterwards."""
    root = folder / "machine"
    root.mkdir()
    try:
        return Attack(server, root.resolve(), number).failures(ingredients)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def reduced(server: ForkServer, folder: Path, number: int) -> list[Ingredient]:
    """Leave out ingredients one by one, as long as something still goes wrong."""
    left = mix(number)
    for ingredient in mix(number):
        fewer = [each for each in left if each is not ingredient]
        if attack(server, folder, number, fewer):
            left = fewer
    return left


@pytest.mark.long
@pytest.mark.parametrize("numbers", BATCHES, ids=lambda numbers: f"{numbers[0]}-{numbers[-1]}")
def test_nothing_in_a_hostile_repository_runs_leaks_escapes_or_hangs(
    server: ForkServer, tmp_path: Path, numbers: Sequence[int]
) -> None:
    failed = {number: found for number in numbers if (found := attack(server, tmp_path, number, mix(number)))}
    if GIVEN and failed:
        names = [ingredient.__name__ for ingredient in reduced(server, tmp_path, GIVEN[0])]
        pytest.fail(f"{failed}\nneeds only: {names}")
    assert failed == {}


@pytest.mark.long
def test_every_ingredient_changes_the_repository_and_nothing_else(tmp_path: Path) -> None:
    for ingredient in (*CONTENTS, *FORMS):
        root = tmp_path / ingredient.__name__
        root.mkdir()
        victim = Victim(root.resolve(), 1)
        before = victim.snapshot()
        victim.clone([ingredient])
        after = victim.snapshot()
        victim.close()
        changed = [path for path in {**before, **after} if before.get(path) != after.get(path)]
        answers = str(victim.world.home / ".claude.json")  # what the user approved
        assert changed, ingredient.__name__
        assert [path for path in changed if not path.startswith(f"{victim.world.repository}/")] in (
            [],
            [answers],
        )
