"""A repository takes long to scan: a blocked call must not run because the hook is late."""

import os
from pathlib import Path

import pytest

from attacks.worlds import World, needs_claude, require

BASH = {"tool_name": "Bash", "tool_input": {"command": "true", "description": "x" * 20_000}}
DEPTH, FOLDERS = 400, 8_000  # every look at one of the folders goes through all directories above it


def slow_down(repository: Path) -> None:
    """Let `.claude/commands` lead to folders without any file, far down in the repository."""
    deep = os.path.join(repository, *("d" for _ in range(DEPTH)))
    os.makedirs(deep)
    for number in range(FOLDERS):
        os.mkdir(os.path.join(deep, str(number)))
    (repository / ".claude").mkdir()
    (repository / ".claude/commands").symlink_to(deep)


@pytest.mark.long
@pytest.mark.parametrize("is_late", [False, True], ids=["kind first", "kind last"])
def test_a_blocked_call_does_not_run_in_a_repository_that_is_slow_to_scan(
    world: World, is_late: bool
) -> None:
    world.block_bash()
    event = world.event("PreToolUse", **BASH)
    if is_late:
        event["hook_event_name"] = event.pop("hook_event_name")
    require(not world.runs(event), "the call is not blocked without the attack")
    slow_down(world.repository)
    assert not world.runs(event)


@needs_claude
@pytest.mark.proof
def test_claude_code_runs_no_blocked_call_in_a_repository_that_is_slow_to_scan(world: World) -> None:
    world.block_bash()
    require(not world.runs_in_claude(), "the call is not blocked without the attack")
    slow_down(world.repository)
    assert not world.runs_in_claude()
