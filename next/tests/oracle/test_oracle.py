"""The command answers as recorded in every generated world, except where a difference is named."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from oracle.answers import Answers, Rows, ask
from oracle.differences import KEYS, unnamed, wanted
from oracle.machine import own_command
from oracle.record import RECORDED
from oracle.servers import ask_servers
from oracle.worlds import WORLDS

# What the command answers already: names of `answers.FIELDS`, and of the commands among the worlds' steps.
COMMANDS: tuple[str, ...] = ()

SERVERS: Rows = json.loads((RECORDED / "servers.json").read_text(encoding="utf-8"))["servers"]


@pytest.mark.long
@pytest.mark.parametrize("name", WORLDS)
def test_every_answer_is_as_recorded_or_its_difference_is_named(name: str, tmp_path: Path) -> None:
    world = WORLDS[name]
    later = {"tools", *(step.split()[0] for step in world.steps)} - set(COMMANDS)
    if later:
        pytest.skip(f"the command does not offer {', '.join(sorted(later))} yet")

    answers = ask(world, own_command(), tmp_path, commands=COMMANDS)

    recorded = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
    assert _unnamed(name, recorded, answers, COMMANDS) == []


@pytest.mark.long
@pytest.mark.parametrize("name", SERVERS)
def test_real_servers_are_listed_and_found_as_recorded(name: str, tmp_path: Path) -> None:
    data = os.environ.get("REMIT_TEST_DATA")
    if not data or "serve" not in COMMANDS:
        pytest.skip("needs `serve`, and DATA: a folder with `real-mcp-tools`, which is not committed")

    row = ask_servers(name, Path(data), own_command(), tmp_path)

    recorded = {"servers": {name: SERVERS[name]}}
    assert _unnamed("servers", recorded, {"servers": {name: row}}, ["servers"]) == []


def test_each_named_difference_is_one_of_a_recorded_world_and_has_its_reason() -> None:
    for difference in wanted():
        assert tuple(difference) == KEYS, difference
        assert all(difference.values()) or difference["name"] == "", difference


def _unnamed(world: str, recorded: Answers, answers: Answers, commands: Sequence[str]) -> list[str]:
    return [str(difference) for difference in unnamed(world, recorded, answers, commands)]
