"""`remit tools --watch`, as a user meets it: the real command, and files that are really edited."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from remit.decision.tools import Definition
from remit.upstream.upstream_model import Offer
from support.builders import servers
from support.postgres import Databases, needs_postgres
from support.sandbox import Sandbox


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    path = sandbox.project("shop")
    sandbox.write(path / ".git/HEAD", "ref: refs/heads/main\n")
    sandbox.write_state("deploy", "git")
    sandbox.write(
        path / "remit.toml",
        '[states.editing]\nkind = "workflow"\n[tools."mcp__deploy__*"]\nstates = ["editing"]\n',
    )
    return path


@contextmanager
def watching(sandbox: Sandbox, shop: Path, *options: str) -> Generator[tuple[IO[str], IO[str]]]:
    """Run the command, give what it writes and what it says, and end it as a user does."""
    process = subprocess.Popen(
        [sys.executable, "-m", "remit", "tools", "--watch", *options],
        cwd=shop,
        env=sandbox.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    late = threading.Timer(120, process.kill)  # else a test that waits for a line waits for ever
    late.start()
    try:
        yield process.stdout, process.stderr
        process.send_signal(signal.SIGINT)
        left, said = process.communicate(timeout=60)
        assert (process.returncode, left) == (0, ""), said
        assert "Traceback" not in said
    finally:
        late.cancel()
        process.kill()
        process.communicate()


@pytest.mark.long
def test_each_change_is_a_line_of_json(sandbox: Sandbox, shop: Path) -> None:
    with watching(sandbox, shop, "--json") as (lines, _):
        first = json.loads(lines.readline())
        assert [tool["server"] for tool in first["appeared"]] == ["git"]
        assert first["states"]["editing"] is False
        assert sandbox.remit("state", "set", "editing", cwd=shop).returncode == 0
        second = json.loads(lines.readline())
        assert [tool["server"] for tool in second["appeared"]] == ["deploy"]
        assert second["states"]["editing"] is True
        sandbox.write(shop / "Dockerfile", "FROM scratch")
        third = json.loads(lines.readline())
        assert third["states"]["docker"] is True
        assert (third["appeared"], third["disappeared"], third["changed"]) == ([], [], [])
        sandbox.write_state("git", "till")
        fourth = json.loads(lines.readline())
        assert [tool["server"] for tool in fourth["appeared"]] == ["till"]
        assert [(tool["server"], tool["gate"]) for tool in fourth["disappeared"]] == [("deploy", "config")]
        sandbox.write(shop / "remit.toml", "not = [")
        fifth = json.loads(lines.readline())
        assert "the last valid version" in fifth["problems"][0]["reason"]
        assert fifth["at"] >= fourth["at"]


@pytest.mark.long
@needs_postgres
def test_with_a_shared_store_changes_are_announced_and_nothing_is_asked_in_between(
    sandbox: Sandbox, shop: Path, databases: Databases
) -> None:
    address = databases.create()
    sandbox.variables["REMIT_STORE"] = address
    with watching(sandbox, shop, "--json") as (lines, _):
        assert json.loads(lines.readline())["states"]["editing"] is False
        assert sandbox.remit("state", "set", "editing", cwd=shop).returncode == 0
        began = time.monotonic()
        assert [tool["server"] for tool in json.loads(lines.readline())["appeared"]] == ["deploy"]
        assert time.monotonic() - began < 1
        databases.wait_for_silence(address, seconds=2, within=8)
        sandbox.write(shop / "Dockerfile", "FROM scratch")
        assert json.loads(lines.readline())["states"]["docker"] is True


@pytest.mark.long
def test_without_a_terminal_the_list_is_followed_by_lines(sandbox: Sandbox, shop: Path) -> None:
    with watching(sandbox, shop) as (lines, _):
        assert "1 server visible" in "".join(lines.readline() for _ in range(6))
        for _ in range(3):  # unknown costs, what is hidden, what to do next
            lines.readline()
        sandbox.write(shop / "remit.toml", '[tools."mcp__git__*"]\nstates = ["docker"]\n')
        told = [lines.readline()[10:].rstrip() for _ in range(3)]
        assert told == [
            "state editing is unknown: no such state is declared",
            "+ mcp__deploy__* (global): visible, declared in ~/.claude.json",
            "- mcp__git__* (global): hidden, needs state docker (false: no Dockerfile or Containerfile"
            " or compose.yaml or 3 others in shop)",
        ]


@pytest.mark.long
def test_the_watched_list_is_the_one_that_tools_shows(sandbox: Sandbox, shop: Path) -> None:
    with sandbox.registry() as registry:
        here = registry.at(str(shop))
        (git,) = [
            each.declaration for each in registry.catalog.resolved(here) if each.declaration.server == "git"
        ]
        log = Definition(name="mcp__git__log", server="git", tool="log", description="Shows commits. " * 50)
        registry.catalog.keep(git, Offer(tools=[log]), here)
    listed = sandbox.remit("tools", cwd=shop).stdout.splitlines()
    assert any("the client sends names only" in line for line in listed)
    with watching(sandbox, shop) as (lines, _):
        assert [lines.readline().rstrip("\n") for _ in listed] == listed


@pytest.mark.long
def test_hidden_ones_are_followed_with_all(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(sandbox.home / ".claude/settings.json", {})
    with watching(sandbox, shop, "--all", "--json") as (lines, _):
        assert len(json.loads(lines.readline())["appeared"]) == 2
        sandbox.write(shop / ".mcp.json", servers("till"))
        (found,) = json.loads(lines.readline())["appeared"]
        assert (found["server"], found["verdict"]) == ("till", "hidden")


@pytest.mark.long
def test_an_agent_whose_file_breaks_for_the_moment_is_warned_of_and_followed(
    sandbox: Sandbox, shop: Path
) -> None:
    agent = shop / ".claude/agents/reviewer.md"
    text = "---\nname: reviewer\ndescription: reviews\ntools: mcp__git\n---\nReview.\n"
    sandbox.write(agent, text)
    with watching(sandbox, shop, "--json", "--agent", "reviewer") as (lines, said):
        assert "git" in [tool["server"] for tool in json.loads(lines.readline())["appeared"]]
        agent.unlink()
        assert "reviewer" in said.readline()
        sandbox.write(agent, text.replace("mcp__git", "Read"))
        assert "git" in [tool["server"] for tool in json.loads(lines.readline())["disappeared"]]


def test_an_agent_that_does_not_exist_is_an_error_at_once(sandbox: Sandbox, shop: Path) -> None:
    done = sandbox.remit("tools", "--watch", "--agent", "nobody", cwd=shop)
    assert done.returncode == 2
    assert "nobody" in done.stderr
