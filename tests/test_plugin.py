"""The plugin for Claude Code brings words, and starts nothing."""

import json
from pathlib import Path

from remit import __version__

PLUGIN = Path(__file__).parent.parent / "plugin"
STARTING = ("hooks", ".mcp.json", ".lsp.json", "bin", "monitors", "settings.json")


def test_the_plugin_has_the_version_of_the_package() -> None:
    manifest = json.loads((PLUGIN / ".claude-plugin/plugin.json").read_text(encoding="utf-8"))
    assert manifest["version"] == __version__
    assert not {"hooks", "mcpServers", "lspServers"} & manifest.keys()


def test_the_plugin_starts_no_program() -> None:
    assert [name for name in STARTING if (PLUGIN / name).exists()] == []
    assert not [path for path in PLUGIN.rglob("*.md") if "allowed-tools" in path.read_text(encoding="utf-8")]
