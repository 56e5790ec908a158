"""`remit demo`: a story of real commands, which leaves nothing behind."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from remit.cli.onboarding import demo_person
from support.builders import servers
from support.forked_commands import fork_server
from support.processes import forked_script
from support.sandbox import Sandbox

README = Path(__file__).parents[3] / "README.md"
# The demo with its commands in forks, which start ten of them in the time of one; `make smoke` runs it as is.
STORY = """
from remit.demo import demo_story
demo_story.REMIT, demo_story.PERSON = {remit}, {person}
from remit.__main__ import main
main()
"""


@pytest.fixture
def world(sandbox: Sandbox) -> Sandbox:
    """A user with a server, whose temporary files lie in a folder of their own."""
    sandbox.write_state("git")
    (sandbox.root / "temporary").mkdir()
    sandbox.variables["TMPDIR"] = str(sandbox.root / "temporary")
    return sandbox


def demo(world: Sandbox, *words: str) -> list[str]:
    remit, person = fork_server().command("remit"), fork_server().command(demo_person.__file__)
    return forked_script(world.root, STORY.format(remit=remit, person=person), "demo", *words)


def started(world: Sandbox, command: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
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


def test_the_demo_tells_its_story_and_leaves_nothing_behind(world: Sandbox) -> None:
    command = demo(world)
    before = files(world.root)
    with started(world, command) as run:
        told, errors = run.communicate(timeout=120)
    assert (run.returncode, errors) == (0, "")
    lines = told.splitlines()
    for shown in (
        "~/shop $ remit tools",
        "~/blog $ remit tools",
        "mcp__deploy__release: hidden, needs state tests-passed (false: not set)",
        "to change it: run `remit states set tests-passed`, or change remit.toml line 8",
        "~/shop $ remit search --limit 2 'go back to the version that worked'",
        "Released 2.4.0 to production. Before: 2.3.0.",
    ):
        assert shown in lines
    found = told.partition("3. Search")[2].partition("\n4. ")[0]
    assert found.index("mcp__deploy__rollback") < 160  # the first result, though no word of it was asked for
    call = told.partition("\n4. ")[2]
    assert call.index("needs approval") < call.index("approved ") < call.index("Released 2.4.0")
    in_shop, _, in_blog = told.partition("\n2. ")[0].partition("~/blog $")
    assert "articles" not in in_shop
    assert "deploy" not in in_blog
    assert "; with Remit: about " in " ".join(told.split())
    sample = README.read_text("utf-8").partition("$ remit\n")[2].partition("```")[0]
    assert sample in told  # the readme shows the demo's last screen
    assert lines[-3].strip().startswith("remit ")
    assert files(world.root) == before
    assert os.listdir(world.root / "temporary") == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_machine_without_tools_sees_the_demo_and_stopped_it_leaves_nothing_behind(
    world: Sandbox, number: signal.Signals
) -> None:
    (world.home / ".claude.json").write_text(json.dumps({}))
    with started(world, demo(world, "--unless-tools", str(world.root))) as run:
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
