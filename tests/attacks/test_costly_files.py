"""A repository whose files are costly to read: commands and hooks still end soon, and keep to the rules."""

import os
from collections.abc import Sequence

import pytest

from attacks.costly_files import (
    BUILDS,
    Build,
    a_key_of_many_parts,
    many_permission_rules,
    many_servers,
    repeated_yaml,
)
from attacks.worlds import World
from support.forked_commands import Done, fork_server

# The limits are 5 s and 300 MB; these are processor seconds, with room for a busy machine, and what a command
# takes beyond the 100 MB of one that has everything loaded.
SECONDS, MEGABYTES = 10.0, 200
IS_WHOLE = "REMIT_ATTACK_REPOSITORIES" in os.environ
TRIED = BUILDS if IS_WHOLE else (many_permission_rules, repeated_yaml)
COMMANDS = (
    ("scan",),
    ("doctor", "--json"),
    ("tools", "--client", "all"),
    ("why", "Bash"),
    ("context",),
    ("search", "hello"),
)[: None if IS_WHOLE else 2]


def run(world: World, words: Sequence[str]) -> Done:
    """Run a command, and end it when it is far beyond its limit."""
    return fork_server().run(words, cwd=world.repository, environment=world.environment, deadline=120.0)


@pytest.mark.long
@pytest.mark.proof
@pytest.mark.parametrize("build", TRIED, ids=lambda build: build.__name__)
def test_every_command_ends_soon_and_takes_little_memory(world: World, build: Build) -> None:
    world.configure('block = ["Bash"]\n')
    build(world.repository)
    for words in COMMANDS:
        done = run(world, words)
        assert not done.is_late, words
        assert done.seconds < SECONDS, words
        assert done.megabytes < MEGABYTES, words
        assert "Traceback" not in done.stderr, words


@pytest.mark.long
@pytest.mark.proof
@pytest.mark.parametrize("build", TRIED, ids=lambda build: build.__name__)
def test_a_blocked_call_is_denied_wherever_it_is_made(world: World, build: Build) -> None:
    world.configure('block = ["Bash"]\n')
    build(world.repository)
    for _ in range(2):
        assert world.hook("PreToolUse", tool_name="Bash", tool_input={})["permissionDecision"] == "deny"
    world.hook("SessionStart", source="startup")
    assert world.hook("PreToolUse", tool_name="Bash", tool_input={})["permissionDecision"] == "deny"


@pytest.mark.long
@pytest.mark.parametrize(
    ("build", "file"),
    [(a_key_of_many_parts, "remit.toml"), (many_servers, ".mcp.json")],
    ids=["keys", "servers"],
)
def test_a_file_over_a_limit_is_a_problem_and_the_others_count(world: World, build: Build, file: str) -> None:
    build(world.repository)
    world.write(world.repository / ".claude/commands/greet.md", "Greet the user\n")
    warned = world.attempt("scan").stderr.splitlines()
    assert any(file in line and "at most" in line for line in warned)
    assert "/greet" in world.remit("tools", "--all")


def test_yaml_that_repeats_itself_leaves_a_decision_what_it_is(world: World) -> None:
    world.configure('block = ["Bash"]\n')
    repeated_yaml(world.repository)
    denied = world.hook("PreToolUse", tool_name="Bash", tool_input={})
    assert denied["permissionDecision"] == "deny"
    assert "block" in denied["permissionDecisionReason"]
    assert world.hook("PreToolUse", tool_name="Read", tool_input={}) == {}
