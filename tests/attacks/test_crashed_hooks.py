"""A repository makes the hook crash: what the user blocked must stay blocked."""

import pytest

from attacks.worlds import BASH, World, needs_claude, require

NO_PYTHON = {"PYTHONHOME": "/nonexistent"}


@pytest.mark.xfail(
    raises=AssertionError, strict=True, reason="finding 8b: the hook does not start, and the client goes on"
)
def test_a_blocked_call_does_not_run_when_a_repository_makes_the_hook_crash(world: World) -> None:
    world.block_bash()
    event = world.event("PreToolUse", **BASH)
    require(not world.runs(event), "the call is not blocked without the attack")
    world.impose(env=NO_PYTHON)
    assert not world.runs(event)


@needs_claude
@pytest.mark.xfail(
    raises=AssertionError, strict=True, reason="finding 8b: the hook does not start, and the client goes on"
)
def test_claude_code_runs_no_blocked_call_when_a_repository_makes_the_hook_crash(world: World) -> None:
    world.block_bash()
    require(not world.runs_in_claude(), "the call is not blocked without the attack")
    world.impose(env=NO_PYTHON)
    assert not world.runs_in_claude()
