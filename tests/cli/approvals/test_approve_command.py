import json
import subprocess
from pathlib import Path

import pytest

from support.processes import forked_script
from support.sandbox import Sandbox

PUSH = "mcp__git__push"


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    sandbox.write_state("git")
    path = sandbox.project("shop")
    sandbox.write(sandbox.home / ".config/remit/remit.toml", f'[tools."{PUSH}"]\ndanger = "critical"\n')
    return path


def ask(sandbox: Sandbox, shop: Path) -> str:
    with sandbox.registry() as registry:
        here = registry.at(str(shop))
        registry.usage.report_tool(PUSH, here, description="Pushes.")
    script = (
        "import remit\n"
        "with remit.open_registry() as registry:\n"
        f"    here = registry.at({str(shop)!r})\n"
        f"    print(registry.approvals.request({PUSH!r}, {{'remote': 'origin\\x1b[31m'}}, here).id)\n"
    )
    command = forked_script(sandbox.root, script)
    done = subprocess.run(command, env=sandbox.environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_approve_lists_what_waits_and_answers_it(sandbox: Sandbox, shop: Path) -> None:
    assert sandbox.remit("approve", cwd=shop).stdout == "No pending approvals.\n"
    id = ask(sandbox, shop)
    shown = sandbox.remit("approve", cwd=shop)
    listed = shown.stdout
    assert f"hint: `remit approve {id}` approves it, `remit approve {id} --deny` denies it" in shown.stderr
    assert f"{id}  {PUSH}: waiting" in listed
    assert "for        claude-code" in listed
    assert "\x1b" not in listed
    told = json.loads(sandbox.remit("approve", "--json", cwd=shop).stdout)["approvals"]
    assert [(item["id"], item["status"], item["tool"]) for item in told] == [(id, "waiting", PUSH)]
    done = sandbox.remit("approve", id[:4], "--yes", cwd=shop)
    assert (done.returncode, done.stdout) == (
        0,
        f"approved {id}  {PUSH}: for one call; the agent has to call again\n",
    )
    assert "arguments" in done.stderr
    again = sandbox.remit("approve", id, "--deny", cwd=shop)
    assert again.returncode == 2
    assert "approved and can no longer be answered" in again.stderr


def test_approve_can_say_no_and_needs_a_persons_word_for_a_yes(sandbox: Sandbox, shop: Path) -> None:
    id = ask(sandbox, shop)
    silent = sandbox.remit("approve", id, cwd=shop)
    assert silent.returncode == 2
    assert "not a terminal: pass --yes" in silent.stderr
    denied = sandbox.remit("approve", id, "--deny", "--json", cwd=shop)
    assert [item["status"] for item in json.loads(denied.stdout)["approvals"]] == ["denied"]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("nonsense", "--yes"), 1, "error: no approval `nonsense` here"),
        (("--deny",), 2, "pass the ID of a call to deny"),
    ],
)
def test_approve_needs_to_know_what_is_meant(
    sandbox: Sandbox, shop: Path, words: tuple[str, ...], code: int, says: str
) -> None:
    done = sandbox.remit("approve", *words, cwd=shop)
    assert done.returncode == code
    assert says in done.stderr
