"""What `remit trust` and other commands say of a server whose entry changed after it was trusted."""

import json
import re
from pathlib import Path

import pytest

from support.builders import servers
from support.sandbox import Sandbox

TOKEN = "ghp_abcdefghij0123456789ABCDEFGHIJ012345"  # noqa: S105 - made up
SECRET = "k3Jd82mslw0Qp2xZaa91"  # noqa: S105 - made up
ENTRY = {
    "command": "npx",
    "args": ["till@1", "--token", TOKEN],
    "env": {"MODE": "safe", "TILL_KEY": SECRET, "OLD": "1"},
}
CHANGED = {**ENTRY, "args": ["till@2", "--token", TOKEN], "env": {"MODE": "fast", "TILL_KEY": SECRET}}


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    shop = sandbox.project("shop")
    sandbox.write(shop / ".mcp.json", servers(till=ENTRY))
    sandbox.remit("trust", "--all", "--yes", cwd=shop)
    return shop


def test_trust_shows_the_old_and_the_new_parts_of_a_changed_entry(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / ".mcp.json", servers(till=CHANGED))
    ran = sandbox.remit("trust", cwd=shop)
    changes = [line.strip() for line in ran.stdout.splitlines() if line.startswith(("  - ", "  + "))]
    assert [re.sub("#[0-9a-f]{4}", "#", line) for line in changes] == [
        "- runs npx till@1 --token '***'",
        "- variable MODE (value #)",
        "- variable OLD (value #)",
        "+ runs npx till@2 --token '***'",
        "+ variable MODE (value #)",
    ]
    assert "MODE=fast" in ran.stdout
    assert "its entry changed" not in ran.stderr  # said above


@pytest.mark.usefixtures("shop")
def test_no_secret_of_a_trusted_entry_is_stored(sandbox: Sandbox) -> None:
    stored = b"".join(path.read_bytes() for path in sandbox.database.parent.glob("*"))
    assert b"till@1" in stored
    assert TOKEN.encode() not in stored
    assert SECRET.encode() not in stored


def test_a_part_that_cannot_be_shown_is_said_to_have_changed(sandbox: Sandbox, shop: Path) -> None:
    other = {**ENTRY, "args": ["till@1", "--token", TOKEN.replace("abc", "xyz")]}
    sandbox.write(shop / ".mcp.json", servers(till=other))
    ran = sandbox.remit("trust", cwd=shop)
    assert "  a part that looks like a secret changed, or one that is not shown\n" in ran.stdout


@pytest.mark.parametrize("command", [(), ("scan",), ("tools",), ("context",)])
def test_each_command_warns_of_a_changed_entry_without_an_install(
    command: tuple[str, ...], sandbox: Sandbox, shop: Path
) -> None:
    told = "till: its entry changed since you trusted it; `remit trust` shows what changed"
    assert told not in sandbox.remit(*command, cwd=shop).stderr
    sandbox.write(shop / ".mcp.json", servers(till=CHANGED))
    assert told in sandbox.remit(*command, cwd=shop).stderr
    sandbox.remit("trust", "till", "--yes", cwd=shop)
    assert told not in sandbox.remit(*command, cwd=shop).stderr


def test_doctor_warns_of_a_changed_entry_without_an_install(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / ".mcp.json", servers(till=CHANGED))
    findings = json.loads(sandbox.remit("doctor", "--json", cwd=shop).stdout)["findings"]
    (found,) = [each for each in findings if each["check"] == "trust"]
    assert (found["subject"], found["reason"]) == ("till", "its entry changed since you trusted it")
    assert found["severity"] == "warning"
