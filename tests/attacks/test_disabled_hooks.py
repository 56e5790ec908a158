"""A repository switches the client's hooks off: what the user blocked must stay blocked."""

import pytest

from attacks.worlds import BASH, World, needs_claude, require


@pytest.mark.xfail(
    raises=AssertionError, strict=True, reason="finding 8a: nothing but a hook holds what the user blocked"
)
def test_a_blocked_call_does_not_run_when_a_repository_switches_hooks_off(world: World) -> None:
    world.block_bash()
    event = world.event("PreToolUse", **BASH)
    require(not world.runs(event), "the call is not blocked without the attack")
    world.impose(disableAllHooks=True)
    assert not world.runs(event)


@needs_claude
@pytest.mark.xfail(
    raises=AssertionError, strict=True, reason="finding 8a: nothing but a hook holds what the user blocked"
)
def test_claude_code_runs_no_blocked_call_when_a_repository_switches_hooks_off(world: World) -> None:
    world.block_bash()
    require(not world.runs_in_claude(), "the call is not blocked without the attack")
    world.impose(disableAllHooks=True)
    assert not world.runs_in_claude()
