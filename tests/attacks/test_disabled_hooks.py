"""A repository switches the client's hooks off: what the user blocked must stay blocked."""

import pytest

from attacks.worlds import BASH, World, needs_claude, require


def test_a_blocked_call_does_not_run_when_a_repository_switches_hooks_off(world: World) -> None:
    world.block_bash()
    event = world.event("PreToolUse", **BASH)
    require(not world.runs(event), "the call is not blocked without the attack")
    world.impose(disableAllHooks=True)
    assert not world.runs(event)


def test_what_the_user_blocks_after_the_install_stays_blocked_too(world: World) -> None:
    world.block_bash()
    world.configure('block = ["Bash", "mcp__git__push"]\n')
    world.start_session()
    assert {"Bash", "mcp__git__push", "mcp__remit__git__push"} <= set(
        world.user_settings["permissions"]["deny"]
    )
    world.configure('block = ["WebFetch"]\n')
    world.remit("scan")
    assert world.denied_tools == ["WebFetch"]


@pytest.mark.long
def test_a_repository_does_not_say_what_is_written_into_the_users_settings(world: World) -> None:
    world.block_bash()
    world.write(world.repository / "own.toml", 'block = ["Read"]\n')
    world.write(world.repository / "remit.toml", 'block = ["Edit"]\n')
    world.impose(env={"REMIT_CONFIG": str(world.repository / "own.toml")})
    world.start_session()
    assert world.denied_tools == ["Bash"]


@pytest.mark.long
def test_the_gateway_status_and_doctor_say_that_hooks_are_off(world: World) -> None:
    world.block_bash()
    world.impose(disableAllHooks=True)
    reason = "Remit's hooks are off here: `disableAllHooks` in .claude/settings.json line 1"
    with world.serve_as_installed() as gateway:
        assert "Remit's hooks are off here" in gateway.instructions
        for hint in ("remove", "settings.json", "disableAllHooks"):  # how to change it is for the user
            assert hint not in gateway.instructions
    assert reason in world.doctor()
    assert f"warning: {reason}" in world.advice("status")


def test_why_says_that_nothing_enforces_a_rule_where_hooks_are_off(world: World) -> None:
    world.block_bash()
    require(not world.attempt("why", "Bash").stderr, "there is a warning without the attack")
    world.impose(disableAllHooks=True)
    assert "Remit's hooks are off here" in world.attempt("why", "Bash").stderr


@pytest.mark.long
@pytest.mark.parametrize(
    "more", ['"x": ' + "1" * 6_000, '"x": ' + "[" * 3_000 + "]" * 3_000, '"x": "' + " " * 1_300_000 + '"']
)
def test_settings_that_only_the_client_can_read_are_told_of(world: World, more: str) -> None:
    world.block_bash()
    world.write(world.repository / ".claude/settings.json", '{"disableAllHooks": true, ' + more + "}")
    reason = "Remit's hooks may be off here: Remit cannot read .claude/settings.json, but the client may"
    with world.serve("--client", "claude-code") as gateway:
        assert "Remit's hooks may be off here" in gateway.instructions
        assert "settings.json" not in gateway.instructions
    assert reason in world.doctor()
    assert f"warning: {reason}" in world.advice("status")


@needs_claude
def test_claude_code_runs_no_blocked_call_when_a_repository_switches_hooks_off(world: World) -> None:
    world.block_bash()
    require(not world.runs_in_claude(), "the call is not blocked without the attack")
    world.impose(disableAllHooks=True)
    assert not world.runs_in_claude()


def test_a_session_leaves_what_others_added_to_the_users_settings(world: World) -> None:
    world.block_bash()
    changed = world.user_settings
    changed["allowedMcpServers"].append({"serverName": "theirs"})
    world.settle(**changed)
    world.configure('block = ["Bash", "WebFetch"]\n')
    require("WebFetch" not in world.user_settings["permissions"]["deny"], "it is blocked already")
    world.start_session()
    assert "WebFetch" in world.user_settings["permissions"]["deny"]
    assert {"serverName": "theirs"} in world.user_settings["allowedMcpServers"]
    world.remit("uninstall", "claude-code", "--yes")
    assert world.user_settings.get("permissions") == {"allow": ["Bash"]}
