"""Claude Code's server entries, validated as the client validates them."""

from dataclasses import replace

from remit.clients.parsing.entry_fields import EntryError, EntryFields
from remit.clients.parsing.server_entries import ServerEntry, process, remote
from remit.decision.declared_launch import OAuthClient, Transport

NAME = "claude-code"

_REMOTE = {
    "http": Transport.HTTP,
    "streamable-http": Transport.HTTP,
    "sse": Transport.SSE,
    "ws": Transport.WEBSOCKET,
}
_RESERVED = frozenset(
    {"__proto__", "workspace", "claude-in-chrome", "computer-use", "Claude Preview", "Claude Browser"}
)


def read_entry(name: str, entry: EntryFields) -> ServerEntry:
    """Read one entry.

    Raises:
        EntryError: the client would skip it.
    """
    if name in _RESERVED:
        raise EntryError("the name is reserved by the client")
    transport = entry.text("type") if "type" in entry else "stdio"
    if transport in _REMOTE:
        launch = remote(entry, _REMOTE[transport], helper="headersHelper")
        return ServerEntry(replace(launch, registered=_registered(entry)))
    if transport != "stdio":
        raise EntryError("type: not one of stdio, http, streamable-http, sse, ws")
    if "command" not in entry and "url" in entry:
        raise EntryError('`url` without a remote `type`; add "type": "http"')
    return ServerEntry(process(entry, cwd=None))


def _registered(entry: EntryFields) -> OAuthClient | None:
    """Read the OAuth client of an entry; ignore an invalid one, which only matters at sign-in."""
    try:
        said = dict(entry.fields("oauth").items())
    except EntryError:
        return None
    client_id, port = said.get("clientId"), said.get("callbackPort")
    if not isinstance(client_id, str) or not client_id:
        return None
    return OAuthClient(client_id, port if isinstance(port, int) and 0 < port < 65_536 else 0)
