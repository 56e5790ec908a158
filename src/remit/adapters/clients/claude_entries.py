"""Claude Code's server entries: which are valid, as the real client has it."""

from remit.adapters.clients.entries import Entry, process, remote
from remit.adapters.clients.wire import EntryError, Fields
from remit.core.launch import Transport

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


def read_entry(name: str, entry: Fields) -> Entry:
    """Read one entry.

    Raises:
        EntryError: the client would skip it.
    """
    if name in _RESERVED:
        raise EntryError("the name is reserved by the client")
    transport = entry.text("type") if "type" in entry else "stdio"
    if transport in _REMOTE:
        return Entry(remote(entry, _REMOTE[transport], helper="headersHelper"))
    if transport != "stdio":
        raise EntryError("type: not one of stdio, http, streamable-http, sse, ws")
    if "command" not in entry and "url" in entry:
        raise EntryError('`url` without a remote `type`; add "type": "http"')
    return Entry(process(entry, cwd=None))
