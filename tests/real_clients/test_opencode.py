"""Remit's reading of opencode's files against the real client: the same servers, commands and switches.

Run by `make test-clients`, which installs the client.
"""

import json
import os
import random
import re
from pathlib import Path

import pytest

from remit.clients.opencode import CLIENT
from support.client_layouts import LAYOUTS, Layout, endpoint, statuses

OPENCODE = os.environ.get("REMIT_TEST_OPENCODE", "")

pytestmark = pytest.mark.skipif(not OPENCODE, reason="`make test-clients` installs the client and runs this")

LISTED = re.compile(r"●  (\S) (.*) (failed|disabled)")
QUIET = {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}


class OpencodeLayout(Layout):
    def __post_init__(self) -> None:
        super().__post_init__()
        config = self.home / ".config"
        if self.happens(0.2):
            config = self.root / "xdg"
            self.variables["XDG_CONFIG_HOME"] = str(config)
        for name in ("config.json", "opencode.json", "opencode.jsonc"):
            self._maybe(config / "opencode" / name, 0.5)
        for directory in self.directories:
            for name in ("opencode.json", "opencode.jsonc", ".opencode/opencode.json"):
                self._maybe(directory / name, 0.3)
        self._maybe(self.home / ".opencode/opencode.jsonc", 0.2)
        if self.happens(0.2):
            self.variables["OPENCODE_CONFIG"] = str(self.write(self.root / "own.json", self._config()))
        if self.happens(0.1):
            self.write(self.root / "folder/opencode.json", self._config())
            self.variables["OPENCODE_CONFIG_DIR"] = str(self.root / "folder")
        if self.happens(0.1):
            self.variables["OPENCODE_CONFIG_CONTENT"] = self._config()
        if self.happens(0.1):
            self.variables["OPENCODE_DISABLE_PROJECT_CONFIG"] = self.chance.choice(("1", "true", "0", "yes"))

    def _maybe(self, path: Path, probability: float) -> None:
        if self.happens(probability):
            self.write(path, self._config())

    def _config(self) -> str:
        servers = {name: self._entry() for name in self.some(0.4)}
        if self.happens(0.05):
            servers["bad"] = {"command": ["x"]}  # without a type: the client does not start
        newer = self.happens(0.2) and "bad" not in servers
        return f"// servers\n{json.dumps({'mcp': {'servers': servers} if newer else servers})[:-1]},}}"

    def _entry(self) -> dict[str, object]:
        if self.happens(0.2):
            return {"enabled": self.happens(0.5)}
        made: dict[str, object] = {
            "type": "local",
            "command": [self.command() for _ in range(self.chance.randrange(1, 3))],
        }
        if self.happens(0.1):
            made = {"type": "remote", "url": f"http://127.0.0.1:9/{self.command()}"}
        return {**made, "enabled": self.happens(0.5)} if self.happens(0.3) else made


@pytest.mark.parametrize("seed", range(LAYOUTS))
def test_the_client_lists_the_same_servers_with_the_same_commands(seed: int, tmp_path: Path) -> None:
    layout = OpencodeLayout(tmp_path.resolve(), random.Random(seed))  # noqa: S311 - no secrets
    directory = layout.chance.choice(layout.directories)
    found, problems = layout.read(CLIENT, directory)
    result = layout.run([OPENCODE, "mcp", "list"], directory, **QUIET)
    lines = [line for line in re.sub(r"\x1b\[[0-9;]*m", "", result.stdout).splitlines() if line.strip("│ ")]
    if "MCP Servers" not in result.stdout:
        assert [problem.place for problem in problems if problem.place == "mcp.bad"], result.stderr
        return
    assert [problem.place for problem in problems if problem.place == "mcp.bad"] == []
    expected: dict[str, tuple[str, str]] = {}
    for at, line in enumerate(lines):
        if match := LISTED.fullmatch(line):
            ends = [after for after in range(at + 1, len(lines)) if not lines[after].startswith("│")]
            words = lines[ends[0] - 1].strip("│ ")
            reached = endpoint(words if words.startswith("http") else words.split())
            expected[match[2]] = ("disabled" if match[3] == "disabled" else "enabled", reached)
    assert statuses(found) == expected
