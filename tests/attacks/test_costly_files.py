"""A repository whose files are costly to read: commands and hooks still end soon, and keep to the rules."""

import os
import select
import subprocess
import sys
from collections.abc import Sequence
from typing import NamedTuple

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

# The limits are 5 s and 300 MB; these are processor seconds, with room for a busy machine.
SECONDS, MEGABYTES = 10.0, 300
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


class Cost(NamedTuple):
    """What a command took, and what it wrote."""

    seconds: float
    megabytes: int
    stdout: str
    stderr: str


# A child is charged with the memory of the process that starts it, so the command counts its own.
_COUNTED = """
import atexit, re, runpy, sys
path = sys.argv.pop(1)
status = lambda: open("/proc/self/status").read()
atexit.register(lambda: open(path, "w").write(re.search(r"VmHWM:\\s+(\\d+)", status())[1]))
runpy.run_module("remit", run_name="__main__", alter_sys=True)
"""


def run(world: World, words: Sequence[str]) -> Cost:
    """Run a command, and end it when it is far beyond its limit."""
    out, err, peak = (world.root / name for name in ("out", "err", "peak"))
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", _COUNTED, str(peak), *words],
            cwd=world.repository,
            env=world.environment,
            stdout=stdout,
            stderr=stderr,
        )
        descriptor = os.pidfd_open(process.pid)
        if not select.select([descriptor], [], [], 120)[0]:
            process.kill()
        os.close(descriptor)
        ended = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(ended[1])
    used = ended[2]
    seconds = used.ru_utime + used.ru_stime
    megabytes = int(peak.read_text()) // 1024
    return Cost(seconds, megabytes, out.read_text(errors="replace"), err.read_text())


@pytest.mark.proof
@pytest.mark.parametrize("build", TRIED, ids=lambda build: build.__name__)
def test_every_command_ends_soon_and_takes_little_memory(world: World, build: Build) -> None:
    world.configure('block = ["Bash"]\n')
    build(world.repository)
    for words in COMMANDS:
        cost = run(world, words)
        assert cost.seconds < SECONDS, words
        assert cost.megabytes < MEGABYTES, words
        assert "Traceback" not in cost.stderr, words


@pytest.mark.proof
@pytest.mark.parametrize("build", TRIED, ids=lambda build: build.__name__)
def test_a_blocked_call_is_denied_wherever_it_is_made(world: World, build: Build) -> None:
    world.configure('block = ["Bash"]\n')
    build(world.repository)
    for _ in range(2):
        assert world.hook("PreToolUse", tool_name="Bash", tool_input={})["permissionDecision"] == "deny"
    world.hook("SessionStart", source="startup")
    assert world.hook("PreToolUse", tool_name="Bash", tool_input={})["permissionDecision"] == "deny"


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
