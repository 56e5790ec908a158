"""A repository makes the hook crash: what the user blocked must stay blocked."""

from attacks.worlds import BASH, World, needs_claude, require

NO_PYTHON = {"PYTHONHOME": "/nonexistent"}


def test_a_blocked_call_does_not_run_when_a_repository_makes_the_hook_crash(world: World) -> None:
    world.block_bash()
    event = world.event("PreToolUse", **BASH)
    require(not world.runs(event), "the call is not blocked without the attack")
    world.impose(env=NO_PYTHON)
    assert not world.runs(event)


@needs_claude
def test_claude_code_runs_no_blocked_call_when_a_repository_makes_the_hook_crash(world: World) -> None:
    world.block_bash()
    require(not world.runs_in_claude(), "the call is not blocked without the attack")
    world.impose(env=NO_PYTHON)
    assert not world.runs_in_claude()


@needs_claude
def test_claude_code_tells_how_to_repair_a_hook_whose_python_is_gone(world: World) -> None:
    world.declare({})
    world.install()
    settings = world.user_settings
    for groups in settings["hooks"].values():
        groups[0]["hooks"][0]["command"] = str(world.root / "gone/python3")
    world.settle(**settings)
    (told,) = world.claude(("Read", {"file_path": str(world.repository / "x")})).results
    assert "`remit install claude-code` again" in told
    assert "`remit uninstall claude-code`" in told
