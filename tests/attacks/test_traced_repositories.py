"""Hostile repositories under `strace`: no program that the user did not trust, no connection, no write.

`make test` traces one where `strace` is installed, `make attack` a hundred. Every command is a real process,
started as the user or the client starts it, with the variables that the repository sets.
"""

import os
import sys
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

from attacks.hostile_repositories import Victim, event, mix
from attacks.ingredients.repository import HostileRepository
from attacks.traced_commands import STRACE, Trace, run_traced, serve_traced
from attacks.worlds import BASH, REMIT
from remit.upstream.transports import watchdog

NUMBERS = [int(word) for word in os.environ.get("REMIT_ATTACK_NUMBERS", "").split()] or [
    *range(2_000, 2_000 + int(os.environ.get("REMIT_ATTACK_TRACES", "1")))
]
WATCHDOG = ([watchdog.SHELL, "-c", watchdog.SCRIPT], ["sleep", "1"])  # ends servers with the gateway
pytestmark = pytest.mark.skipif(STRACE is None, reason="strace is not installed")


def trace_failures(
    name: str, trace: Trace, victim: Victim, allowed: Sequence[Sequence[str]]
) -> Generator[str]:
    """What a traced command did that it must not do."""
    brought = str(victim.world.repository)
    for program, *words in trace.started:
        if words not in allowed or program.startswith(brought):
            yield f"{name} started {program} as {words}"
    yield from (f"{name} reached {line}" for line in trace.reached)
    yield from (f"{name} changed {path}" for path in trace.changed if not may_change(path, victim))
    secrets = {str(path) for path in victim.secrets}
    yield from (f"{name} opened {path}" for path in trace.opened if path in secrets)


def may_change(path: str, victim: Victim) -> bool:
    """Tell whether a command may write here: Remit's own directory, devices, Python's compiled modules."""
    is_compiled = "__pycache__" in path and not path.startswith(str(victim.world.root))
    return path.startswith((str(victim.data), "/dev/")) or is_compiled


def attacks(victim: Victim, repository: HostileRepository) -> Generator[str]:
    """Run every command, one event and the gateway, and say what went wrong."""
    own, reached = victim.environment, victim.reached(repository)
    for words in (["scan"], ["tools", "--all"], ["why", "notes"], ["context"], ["doctor"]):
        done, trace = run_traced([REMIT, *words], cwd=repository.workspace, environment=own)
        if done.returncode not in (0, 1):
            yield f"{words} ended with {done.returncode}: {done.stderr.decode(errors='replace')[-500:]}"
        yield from trace_failures(words[0], trace, victim, [[REMIT, *words]])
    hook = victim.installed_hook()
    asked = event("PreToolUse", repository, **BASH)
    done, trace = run_traced(hook, cwd=repository.workspace, environment=reached, stdin=asked)
    yield from trace_failures("hook", trace, victim, [hook, past_env(hook)])
    if b'"deny"' not in done.stdout and b'"ask"' not in done.stdout:
        yield f"the hook let a blocked call through: {done}"
    yield from gateway_failures(victim, repository, reached)


def gateway_failures(
    victim: Victim, repository: HostileRepository, reached: dict[str, str]
) -> Generator[str]:
    """Let a client list and call everything that the gateway has here."""
    served = victim.installed_gateway()
    trace = serve_traced(served, cwd=repository.workspace, environment=reached)
    own = [victim.notes.words, victim.diary.words, victim.diary.words[1:]]
    yield from trace_failures("serve", trace, victim, [served, past_env(served), *own, *WATCHDOG])


def past_env(words: Sequence[str]) -> Sequence[str]:
    """Return the words of the program that `env` starts without some variables."""
    return words[words.index(sys.executable) :]


@pytest.mark.long
@pytest.mark.parametrize("number", NUMBERS)
def test_a_trace_shows_no_program_no_connection_and_no_write(tmp_path: Path, number: int) -> None:
    victim = Victim(tmp_path.resolve(), number)
    try:
        victim.world.install()
        repository = victim.clone(mix(number))
        records = [f"{name}.{kind}" for name in ("notes", "diary") for kind in ("log", "variables")]
        logs = [str(victim.notes.folder / name) for name in records]  # which the user's own servers write
        found = [line for line in attacks(victim, repository) if not line.endswith(tuple(logs))]
        assert [*found, *(mark.name for mark in victim.marks.iterdir())] == []
        assert not victim.was_reached()
    finally:
        victim.close()


def test_a_trace_shows_what_a_program_starts_reaches_and_changes(tmp_path: Path) -> None:
    script = """
import os, socket, subprocess
listener = socket.create_server(("127.0.0.1", 0))
socket.create_connection(listener.getsockname())
subprocess.run(["true", "a b"])
os.mkdir("made")
os.rename("made", "moved")
"""
    words = [sys.executable, "-c", script]
    done, trace = run_traced(words, cwd=tmp_path, environment={"PATH": os.environ["PATH"]})
    assert done.returncode == 0
    assert trace.started[0] == [sys.executable, *words]
    assert trace.started[-1][1:] == ["true", "a b"]
    assert sum("connect(" in line and "AF_INET" in line for line in trace.reached) == 1
    assert trace.changed == [str(tmp_path / name) for name in ("made", "made", "moved")]
