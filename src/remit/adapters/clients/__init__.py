"""The clients whose files Remit can read, one module each, loaded when one is asked for."""

from importlib import import_module

from remit.adapters.clients.reading import Client

CLIENTS = ("claude-code", "codex", "gemini-cli", "opencode")


def load(name: str) -> Client:
    """Load a client's module."""
    return import_module(f"{__name__}.{name.replace('-', '_')}").CLIENT
