"""The plugin for Claude Code says what `remit install` writes."""

import json
from pathlib import Path
from typing import Any

from remit import __version__
from remit.clients.install_targets import HOOKS
from remit.install.remit_entries import starts

PLUGIN = Path(__file__).parent.parent / "plugin"


def read(name: str) -> Any:
    return json.loads((PLUGIN / name).read_text(encoding="utf-8"))


def test_the_plugin_has_the_version_of_the_package() -> None:
    assert read(".claude-plugin/plugin.json")["version"] == __version__


def test_the_plugin_registers_the_hooks_that_an_install_does() -> None:
    handlers = {event: groups[0]["hooks"][0] for event, groups in read("hooks/hooks.json")["hooks"].items()}
    assert handlers == {
        event: {"type": "command", "command": "remit", "args": ["hook"], **details}
        for event, details in HOOKS.items()
    }


def test_the_plugins_server_is_remit_itself() -> None:
    entry = read(".mcp.json")["mcpServers"]["remit"]
    assert starts(entry, "serve")
    assert entry["alwaysLoad"] is True
