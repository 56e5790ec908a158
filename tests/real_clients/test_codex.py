"""Remit's reading of Codex's files against the real client: the same servers, commands and switches.

Run by `make test-clients`, which installs the client.
"""

import json
import os
import random
from pathlib import Path

import pytest

from remit.clients.codex import CLIENT
from remit.decision.kinds import ConfigStatus
from support.client_layouts import LAYOUTS, NAMES, Layout, endpoint, statuses

CODEX = os.environ.get("REMIT_TEST_CODEX", "")

pytestmark = pytest.mark.skipif(not CODEX, reason="`make test-clients` installs the client and runs this")


def toml(value: object) -> str:
    """Write a value as TOML, with tables in one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(key)} = {toml(item)}" for key, item in value.items()) + "}"  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - any key
    return json.dumps(value, ensure_ascii=False)


def document(content: dict[str, object]) -> str:
    return "".join(f"{name} = {toml(value)}\n" for name, value in content.items())


class CodexLayout(Layout):
    def __post_init__(self) -> None:
        super().__post_init__()
        folder = self.home / ".codex"
        if self.happens(0.2):
            folder = self.root / "elsewhere"
            self.variables["CODEX_HOME"] = str(folder)
        user: dict[str, object] = {"mcp_servers": self._servers(whole=True), "projects": self._trust()}
        if self.happens(0.1):
            user["project_root_markers"] = self.chance.choice(([], ["packages"], [".git", "nothing"]))
        if self.happens(0.5):
            user["plugins"] = self._write_plugins(folder)
        self.write(folder / "config.toml", document(user))
        for directory in self.directories:
            if self.happens(0.6):
                servers = self._servers(whole=False)
                self.write(directory / ".codex/config.toml", document({"mcp_servers": servers}))

    def _servers(self, *, whole: bool) -> dict[str, object]:
        return {name: self._entry(whole=whole) for name in self.some(0.5)}

    def _entry(self, *, whole: bool) -> dict[str, object]:
        made: dict[str, object] = {"command": self.command()} if whole or self.happens(0.8) else {}
        if self.happens(0.05):
            made = {"url": f"https://mcp.test/{self.command()}"}  # over a command of a weaker file: an error
        if self.happens(0.3) and "command" in made:
            made["args"] = [self.command() for _ in range(self.chance.randrange(3))]
        if self.happens(0.3):
            made["enabled"] = self.happens(0.5)
        return made

    def _trust(self) -> dict[str, object]:
        paths = (*self.directories, self.key, self.root, self.root / "main" / "packages")
        return {
            str(path): {"trust_level": "trusted" if self.happens(0.75) else "untrusted"}
            for path in paths
            if self.happens(0.5)
        }

    def _write_plugins(self, folder: Path) -> dict[str, object]:
        for plugin in ("quill", "kite"):
            for version in ("1.0.0", "9.0.0", "10.0.0", "local"):
                if self.happens(0.4):
                    copy = folder / "plugins/cache/orchard" / plugin / version
                    self.write(copy / ".codex-plugin/plugin.json", {"name": plugin})
                    servers = {name: {"command": self.command()} for name in ("spell", *NAMES[:2])}
                    self.write(copy / ".mcp.json", {"mcpServers": servers} if self.happens(0.5) else servers)
        switches = {"mcp_servers": {"spell": {"enabled": self.happens(0.5)}}}
        return {
            f"{plugin}@orchard": {"enabled": self.happens(0.8), **(switches if self.happens(0.3) else {})}
            for plugin in ("quill", "kite")
            if self.happens(0.8)
        }


@pytest.mark.parametrize("seed", range(LAYOUTS))
def test_the_client_lists_the_same_servers_with_the_same_commands(seed: int, tmp_path: Path) -> None:
    layout = CodexLayout(tmp_path.resolve(), random.Random(seed))  # noqa: S311 - no secrets
    for directory in layout.directories:
        found, problems = layout.read(CLIENT, directory)
        result = layout.run([CODEX, "mcp", "list", "--json"], directory)
        assert (result.returncode != 0) == bool(problems), (result.stderr, problems)
        if result.returncode == 0:
            listed = {item["name"]: item for item in json.loads(result.stdout)}
            expected = {name: (status(item), reached(item["transport"])) for name, item in listed.items()}
            assert statuses(found, ConfigStatus.PENDING) == expected


def status(item: dict[str, object]) -> str:
    return "enabled" if item["enabled"] else "disabled"


def reached(transport: dict[str, object]) -> str:
    args = transport.get("args")
    if isinstance(args, list):
        return endpoint([str(transport["command"]), *map(str, args)])  # pyright: ignore[reportUnknownArgumentType] - any list
    return endpoint(str(transport["url"]))
