"""`remit demo`: a story of real commands, which leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.builders import servers
from support.sandbox import Sandbox

README = Path(__file__).parents[3] / "README.md"
COMMAND = [sys.executable, "-m", "remit", "demo"]


@pytest.fixture
def world(sandbox: Sandbox) -> Sandbox:
    """A user with a server, whose temporary files lie in a folder of their own."""
    sandbox.write_state("git")
    (sandbox.root / "temporary").mkdir()
    sandbox.variables["TMPDIR"] = str(sandbox.root / "temporary")
    return sandbox


def started(world: Sandbox, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, *words],
        cwd=world.root,
        env=world.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def lines_of(run: subprocess.Popen[str]) -> Iterator[str]:
    assert run.stdout is not None
    return iter(run.stdout)


def files(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


@pytest.mark.long
def test_the_demo_tells_its_story_and_leaves_nothing_behind(world: Sandbox) -> None:
    before = files(world.root)
    told = world.remit_process("demo")
    assert (told.returncode, told.stderr) == (0, "")
    lines = told.stdout.splitlines()
    for shown in (
        "~/shop $ remit tools",
        "~/blog $ remit tools",
        "mcp__deploy__release: hidden, needs state tests-passed (false: not set)",
        "to change it: run `remit states set tests-passed`, or change remit.toml line 8",
        "~/shop $ remit search --limit 2 'go back to the version that worked'",
        "Released 2.4.0 to production. Before: 2.3.0.",
    ):
        assert shown in lines
    found = told.stdout.partition("3. Search")[2].partition("\n4. ")[0]
    assert found.index("mcp__deploy__rollback") < 160  # the first result, though no word of it was asked for
    call = told.stdout.partition("\n4. ")[2]
    assert call.index("needs approval") < call.index("approved ") < call.index("Released 2.4.0")
    in_shop, _, in_blog = told.stdout.partition("\n2. ")[0].partition("~/blog $")
    assert "articles" not in in_shop
    assert "deploy" not in in_blog
    assert "; with Remit: about " in " ".join(told.stdout.split())
    sample = README.read_text("utf-8").partition("$ remit\n")[2].partition("```")[0]
    assert sample in told.stdout  # the readme shows the demo's last screen
    assert lines[-3].strip().startswith("remit ")
    assert files(world.root) == before
    assert os.listdir(world.root / "temporary") == []


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_machine_without_tools_sees_the_demo_and_stopped_it_leaves_nothing_behind(
    world: Sandbox, number: signal.Signals
) -> None:
    (world.home / ".claude.json").write_text(json.dumps({}))
    with started(world, "--unless-tools", str(world.root)) as run:
        lines = lines_of(run)
        assert "~/shop $ remit tools\n" in lines
        assert any("agent calls" in line for line in lines)  # the gateway and its servers run now
        run.send_signal(number)
        _, errors = run.communicate(timeout=60)
    assert run.returncode == 128 + number
    assert "Traceback" not in errors
    assert os.listdir(world.root / "temporary") == []


def test_a_machine_with_tools_sees_its_own_instead(world: Sandbox) -> None:
    shop = world.project("shop")
    world.write(shop / ".mcp.json", servers("till"))
    shown = world.remit("demo", "--unless-tools", str(shop))
    assert shown.returncode == 0
    assert not world.database.exists()  # a look leaves nothing behind
    assert shown.stdout == world.remit(cwd=shop).stdout
    assert "~/shop $" not in shown.stdout
