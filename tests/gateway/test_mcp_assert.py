"""A third party's checker on the gateway: `mcp-assert` audits, fuzzes and lints what a client sees.

Run by `make test-checker`, which installs it. The rules left out are defended in `docs/guides/gateway.md`.
"""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.processes import ServedProject

CHECKER = os.environ.get("REMIT_TEST_MCP_ASSERT", "")
DEFENDED = ("W103", "W109", "W110")
PRESS = """
import json, sys
text = {"type": "string", "description": "The text to print.", "minLength": 1, "examples": ["hello"]}
schema = {"type": "object", "properties": {"text": text}, "required": ["text"], "additionalProperties": False}
tool = {
    "name": "print",
    "description": "Print a text on the press, and return what was printed.",
    "inputSchema": schema,
    "annotations": {"readOnlyHint": True},
}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    given = asked.get("params", {}).get("arguments", {}).get("text")
    is_fine = isinstance(given, str) and bool(given)
    content = [{"type": "text", "text": f"printed {given}" if is_fine else "text: must be a string"}]
    answers = {
        "initialize": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "press", "version": "1"},
        },
        "tools/list": {"tools": [tool]},
        "tools/call": {"content": content, "isError": not is_fine},
    }
    result = answers.get(asked["method"], {})
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""

pytestmark = pytest.mark.skipif(not CHECKER, reason="`make test-checker` installs `mcp-assert` and runs this")


class Checked:
    """A gateway as the checker reaches it."""

    def __init__(self, project: ServedProject, reached: list[str]) -> None:
        self._project, self._reached = project, reached

    def check(self, command: str, *options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [CHECKER, command, *self._reached, *options],
            cwd=self._project.project,
            env=self._project.environment,
            capture_output=True,
            text=True,
        )


@contextmanager
def served(root: Path, strategy: str, transport: str) -> Generator[Checked]:
    project = ServedProject(root)
    script = root / "press.py"
    script.write_text(PRESS, "utf-8")
    project.declare({"press": [sys.executable, str(script)]})
    if transport == "stdio":
        yield Checked(project, ["--server", shlex.join(project.command("--strategy", strategy))])
        return
    with project.serving("--strategy", strategy) as listener:
        yield Checked(project, ["--transport", "http", "--server", f"{listener.url}/mcp"])


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("strategy", ["flat", "search"])
def test_the_checker_finds_nothing_but_what_is_defended(
    tmp_path: Path, strategy: str, transport: str
) -> None:
    with served(tmp_path, strategy, transport) as gateway:
        linted = gateway.check("lint", "--strict", "--skip-rules", ",".join(DEFENDED))
        assert linted.returncode == 0, linted.stdout
        audited = gateway.check("audit", "--include-writes", "--json")
        statuses = {each["tool"]: each["status"] for each in json.loads(audited.stdout)["results"]}
        assert set(statuses.values()) == {"healthy"}, statuses
        fuzzed = gateway.check("fuzz", "--runs", "30", "--seed", "42")
        assert fuzzed.returncode == 0, fuzzed.stdout
        assert "PASS discover_tools (30/30 passed)" in fuzzed.stdout


def test_what_is_defended_is_still_what_the_checker_says(tmp_path: Path) -> None:
    with served(tmp_path, "search", "stdio") as gateway:
        linted = gateway.check("lint", "--json")
    found: Any = json.loads(linted.stdout[linted.stdout.index("{") :])
    said = json.dumps(found)
    assert all(rule in said for rule in DEFENDED), said
