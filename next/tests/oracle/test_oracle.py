"""The command answers as recorded in every generated world, except where a difference is named."""

import json
import os
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from oracle.answers import Rows, ask
from oracle.differences import KEYS, NAMED, Difference, unnamed, wanted
from oracle.machine import own_command
from oracle.record import RECORDED
from oracle.servers import ask_servers
from oracle.worlds import WORLDS, World

# What the command answers already, and in which worlds (patterns): names of `answers.FIELDS`, and of commands
# among the worlds' steps. Nothing else is asked.
COMMANDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("tools", "why", "search", "states", "scan", "doctor", "calls"), ("*",)),
    "context": ("[!c]*", "c[!l]*", "claude-[!sp]*", "claude-p[!e]*"),
}

DATA = os.environ.get("REMIT_TEST_DATA")  # a folder with `real-mcp-tools`, which is not committed
SERVERS: Rows = json.loads((RECORDED / "servers.json").read_text(encoding="utf-8"))["servers"]


def _commands(world: World) -> list[str]:
    """The commands that are compared in a world: none before it can be set up and listed."""
    commands = [
        command
        for command, worlds in COMMANDS.items()
        if any(fnmatchcase(world.name, pattern) for pattern in worlds)
    ]
    return commands if {"tools", *(step.split()[0] for step in world.steps)} <= set(commands) else []


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name, world in WORLDS.items() if _commands(world)])
def test_every_answer_is_as_recorded_or_its_difference_is_named(name: str, tmp_path: Path) -> None:
    commands = _commands(WORLDS[name])

    answers = ask(WORLDS[name], own_command(), tmp_path, commands=commands)

    recorded = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
    _hold(unnamed(name, recorded, answers, commands))


@pytest.mark.long
@pytest.mark.parametrize("name", SERVERS if DATA and "serve" in COMMANDS else ())
def test_real_servers_are_listed_and_found_as_recorded(name: str, tmp_path: Path) -> None:
    row = ask_servers(name, Path(str(DATA)), own_command(), tmp_path)

    recorded = {"servers": {name: SERVERS[name]}}
    _hold(unnamed("servers", recorded, {"servers": {name: row}}, ["servers"]))


def test_each_named_difference_is_one_of_a_recorded_world_and_has_its_reason() -> None:
    for difference in wanted():
        assert tuple(difference) == KEYS, difference
        assert all(difference.values()) or difference["name"] == "", difference


def _hold(differences: list[Difference]) -> None:
    if differences:
        lines = "\n".join(map(str, differences[:50]))
        pytest.fail(
            f"{len(differences)} answers differ; each is a defect, or named in {NAMED.name}:\n{lines}"
        )
