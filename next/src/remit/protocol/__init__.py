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
  much waits for `peer.transport.flush()`.
- `ClientEra` determines the era of each request, `RULES[era]` shapes the answer, and `RawJson` is a list that
  is written as JSON only once.
"""

# pyright: reportUnusedImport=false
TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.protocol.broadcast import Broadcaster, CoalescingQueue
    from remit.protocol.caller import RELAYED, Caller, require_capability
    from remit.protocol.eras import RULES, ClientEra, Era, Handshake, Rules, era_of, without_envelope
    from remit.protocol.header_parameters import header_map, schema_fault
    from remit.protocol.http_client import open_client, open_http, open_sse, parse_url, send_within_origin
    from remit.protocol.lines import LineTransport
    from remit.protocol.messages import (
        ELICITATION_COMPLETE,
        LIST_METHODS,
        LOG_LEVELS,
        SUBSCRIPTION_KEY,
        VERSION_KEY,
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

_MODULES = {
    "broadcast": "Broadcaster CoalescingQueue",
    "caller": "RELAYED Caller require_capability",
    "eras": "RULES ClientEra Era Handshake Rules era_of without_envelope",
    "header_parameters": "header_map schema_fault",
    "http_client": "open_client open_http open_sse parse_url send_within_origin",
    "lines": "LineTransport",
    "messages": "ELICITATION_COMPLETE LIST_METHODS LOG_LEVELS SUBSCRIPTION_KEY VERSION_KEY Answer"
    " DisconnectedError ErrorCode Id JsonRpcError LostError Params PeerError ProtocolError RawJson"
    " RefusedError SessionExpiredError UnreachableError decode encode is_at_least",
    "peer": "CLIENT_LIMITS SERVER_LIMITS Handler Incoming Limits Peer Pending Tasks Transport",
    "server_connection": "PARTS OnChange RawLists ServerConnection ServerTransport connect",
}
_HOMES = {name: f"remit.protocol.{module}" for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module `remit.protocol` has no attribute `{name}`")
