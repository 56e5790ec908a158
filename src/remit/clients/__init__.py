"""The clients whose files Remit reads: one module each, imported on demand."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remit.clients.parsing.client_reader import Client

CLIENTS = {  # client to module
    "claude-code": "claude_code",
    "klaude": "klaude",
    "cursor": "cursor",
    "vscode": "vscode",
    "claude-desktop": "claude_desktop",
    "windsurf": "windsurf",
    "codex": "codex",
    "gemini-cli": "gemini_cli",
    "opencode": "opencode",
    "zed": "zed",
    "goose": "goose",
    "continue": "continue_dev",
    "cline": "cline",
    "roo": "roo",
    "kiro": "kiro",
    "copilot-cli": "copilot_cli",
}


def load(name: str) -> Client:
    """Load a client's module."""
    return import_module(f"{__name__}.{CLIENTS[name]}").CLIENT
