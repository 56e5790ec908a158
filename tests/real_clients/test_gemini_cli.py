"""Remit's reading of Gemini CLI's files against the real client: the same servers, commands and statuses.

Run by `make test-clients`, which installs the client. Left out of the layouts: extensions that are switched
off, whose servers `gemini mcp list` lists and a session does not start.
"""

import os
import random
import re
from pathlib import Path

import pytest

from remit.clients.gemini_cli import CLIENT
from support.client_layouts import LAYOUTS, Layout, endpoint, statuses

GEMINI = os.environ.get("REMIT_TEST_GEMINI", "")

pytestmark = pytest.mark.skipif(not GEMINI, reason="`make test-clients` installs the client and runs this")

LISTED = re.compile(r"\S+ (.*?)(?: \(from \w+\))?: (.*) \((stdio|http|sse)\) - (\w+)")
STATUSES = {"Disconnected": "enabled", "Blocked": "denied", "Disabled": "disabled"}
UNTRUSTED = "this folder is untrusted"


class GeminiLayout(Layout):
    def __post_init__(self) -> None:
        super().__post_init__()
        folder = self.home / ".gemini"
        if self.happens(0.2):
            folder = self.root / "elsewhere" / ".gemini"
            self.variables["GEMINI_CLI_HOME"] = str(folder.parent)
        user = self._settings()
        if self.happens(0.2):
            user["security"] = {"folderTrust": {"enabled": self.happens(0.3)}}
        self.write(folder / "settings.json", user)
        for directory in self.directories:
            if self.happens(0.7):
                self.write(directory / ".gemini/settings.json", self._settings())
        if self.happens(0.9):
            self.write(folder / "trustedFolders.json", self._answers())
        if self.happens(0.4):
            switched = {name.lower(): {"enabled": self.happens(0.3)} for name in self.some()}
            self.write(folder / "mcp-server-enablement.json", switched)
        if self.happens(0.2):  # which is left out: anybody could have written it
            path = self.write(self.root / "system/settings.json", self._settings())
            self.variables["GEMINI_CLI_SYSTEM_SETTINGS_PATH"] = str(path)
        if self.happens(0.4):
            manifest = {"name": "quill", "version": "1.0.0", "mcpServers": self._servers()}
            self.write(folder / "extensions/quill/gemini-extension.json", manifest)

    def _settings(self) -> dict[str, object]:
        made: dict[str, object] = {"mcpServers": self._servers()}
        lists = {
            name: [self.chance.choice((str.upper, str))(server) for server in self.some(0.3 + wide)]
            for name, wide in (("excluded", 0.0), ("allowed", 0.5))
            if self.happens(0.2)
        }
        return {**made, "mcp": lists} if lists else made

    def _servers(self) -> dict[str, object]:
        return {name: self._entry() for name in self.some(0.5)}

    def _entry(self) -> dict[str, object]:
        if self.happens(0.1):
            kind = self.chance.choice(("url", "httpUrl"))
            return {kind: f"http://127.0.0.1:9/{self.command()}"}
        return {"command": self.command(), "args": [self.command() for _ in range(self.chance.randrange(3))]}

    def _answers(self) -> dict[str, object]:
        levels = ("TRUST_FOLDER", "TRUST_FOLDER", "TRUST_FOLDER", "TRUST_PARENT", "DO_NOT_TRUST")
        paths = (self.root, self.key, *self.directories)
        return {str(path): self.chance.choice(levels) for path in paths if self.happens(0.5)}


@pytest.mark.parametrize("seed", range(LAYOUTS))
def test_the_client_lists_the_same_servers_with_the_same_commands(seed: int, tmp_path: Path) -> None:
    layout = GeminiLayout(tmp_path.resolve(), random.Random(seed))  # noqa: S311 - no secrets
    directory = layout.chance.choice(layout.directories)
    found, _ = layout.read(CLIENT, directory)
    result = layout.run([GEMINI, "mcp", "list"], directory, GEMINI_CLI_NO_RELAUNCH="true")
    output = re.sub(r"\x1b\[[0-9;]*m", "", result.stdout + result.stderr)
    assert result.returncode == 0, output
    expected = {
        line[1]: (status(line[4], output), reached(line))
        for line in map(LISTED.fullmatch, output.splitlines())
        if line
    }
    assert len(expected) == output.count(" - ")
    assert statuses(found) == expected


def status(word: str, output: str) -> str:
    # The client has one word for what is switched off and for all servers of a folder that is not trusted.
    return "pending" if word == "Disabled" and UNTRUSTED in output else STATUSES[word]


def reached(line: re.Match[str]) -> str:
    return endpoint(line[2].split() if line[3] == "stdio" else line[2])
