"""MCP on the wire: one JSON-RPC peer for both roles, its transports, and what the eras spell differently.

In a client's role, `connect` gives a `ServerConnection`. In a server's role, a session is a `Handler`:

    async with Tasks() as tasks:
        peer = Peer(transport, tasks, session, CLIENT_LIMITS)   # LineTransport(read_fd, write_fd)
        await peer.run()                                        # until the client closes its stream
    await transport.close()

- `session.answer(request)` returns an answer at once (`initialize`, `ping`), or a coroutine that the peer
  runs as a task; it may raise `JsonRpcError`. A coroutine may also raise a `RemitError`.
- `request.at_end` is what a stream (`subscriptions/listen`) is answered when the connection ends.
- `session.take(method, params, pending)` hears notifications; the peer itself cancels requests.
- `await peer.request(method, params)` asks the client, `peer.notify(method, params)` tells it; who tells it
  much waits for `transport.room()`.
- `ClientEra` determines the era of each request, `RULES[era]` shapes the answer, and `RawJson` is a list that
  is written as JSON only once.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.protocol.broadcast import Broadcaster, CoalescingQueue
    from remit.protocol.caller import RELAYED, Caller, require_capability
    from remit.protocol.eras import RULES, ClientEra, Era, Handshake, Rules, era_of, without_envelope
    from remit.protocol.header_parameters import header_map, schema_fault
    from remit.protocol.http_client import open_http, open_sse
    from remit.protocol.lines import LineTransport
    from remit.protocol.messages import (
        ELICITATION_COMPLETE,
        LIST_METHODS,
        LOG_LEVELS,
        SUBSCRIPTION_KEY,
        Answer,
        DisconnectedError,
        ErrorCode,
        Id,
        JsonRpcError,
        LostError,
        Params,
        PeerError,
        ProtocolError,
        RawJson,
        RefusedError,
        SessionExpiredError,
        UnreachableError,
        decode,
        encode,
        is_at_least,
    )
    from remit.protocol.peer import (
        CLIENT_LIMITS,
        SERVER_LIMITS,
        Handler,
        Incoming,
        Limits,
        Peer,
        Pending,
        Tasks,
        Transport,
    )
    from remit.protocol.server_connection import (
        PARTS,
        OnChange,
        RawLists,
        ServerConnection,
        ServerTransport,
        connect,
    )

__all__ = [
    "CLIENT_LIMITS",
    "ELICITATION_COMPLETE",
    "LIST_METHODS",
    "LOG_LEVELS",
    "PARTS",
    "RELAYED",
    "RULES",
    "SERVER_LIMITS",
    "SUBSCRIPTION_KEY",
    "Answer",
    "Broadcaster",
    "Caller",
    "ClientEra",
    "CoalescingQueue",
    "DisconnectedError",
    "Era",
    "ErrorCode",
    "Handler",
    "Handshake",
    "Id",
    "Incoming",
    "JsonRpcError",
    "Limits",
    "LineTransport",
    "LostError",
    "OnChange",
    "Params",
    "Peer",
    "PeerError",
    "Pending",
    "ProtocolError",
    "RawJson",
    "RawLists",
    "RefusedError",
    "Rules",
    "ServerConnection",
    "ServerTransport",
    "SessionExpiredError",
    "Tasks",
    "Transport",
    "UnreachableError",
    "connect",
    "decode",
    "encode",
    "era_of",
    "header_map",
    "is_at_least",
    "open_http",
    "open_sse",
    "require_capability",
    "schema_fault",
    "without_envelope",
]

_HOMES = {
    "broadcast": "Broadcaster CoalescingQueue",
    "caller": "Caller RELAYED require_capability",
    "eras": "ClientEra Era Handshake RULES Rules era_of without_envelope",
    "header_parameters": "header_map schema_fault",
    "http_client": "open_http open_sse",
    "lines": "LineTransport",
    "messages": (
        "Answer DisconnectedError ELICITATION_COMPLETE ErrorCode Id JsonRpcError LIST_METHODS LOG_LEVELS "
        "LostError Params PeerError ProtocolError RawJson RefusedError "
        "SUBSCRIPTION_KEY SessionExpiredError UnreachableError decode encode is_at_least"
    ),
    "peer": "CLIENT_LIMITS Handler Incoming Limits Peer Pending SERVER_LIMITS Tasks Transport",
    "server_connection": "OnChange PARTS RawLists ServerConnection ServerTransport connect",
}


def __getattr__(name: str) -> object:
    """Load the module of a name on first use: a gateway needs few of them before it has answered."""
    from importlib import import_module

    for module, names in _HOMES.items():
        if name in names.split():
            value = getattr(import_module(f"remit.protocol.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(name)
