"""What the eras of MCP spell differently, for both roles: one row of `RULES` for each.

An era is a group of revisions that share one handshake and one envelope. A new revision that changes either
is one more row.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, NamedTuple

from remit.protocol.caller import RELAYED, Caller
from remit.protocol.messages import (
    CAPABILITIES_KEY,
    CLIENT_KEY,
    ENVELOPE_KEYS,
    LIST_METHODS,
    LOG_LEVEL_KEY,
    SERVER_KEY,
    VERSION_KEY,
    Answer,
    ErrorCode,
    JsonRpcError,
    Params,
)
from remit.text import as_object

SUBSCRIBE, UNSUBSCRIBE, SET_LEVEL = "resources/subscribe", "resources/unsubscribe", "logging/setLevel"
LISTEN, DISCOVER, INITIALIZE = "subscriptions/listen", "server/discover", "initialize"

_STATELESS_MEMBERS = frozenset({"resultType", "ttlMs", "cacheScope"})
_CACHEABLE = LIST_METHODS | {"resources/read", DISCOVER}
_NO_CACHE = {"ttlMs": 0, "cacheScope": "private"}  # states can change a list at any time, per client


class Era(Enum):
    """An era, by how requests belong together."""

    SESSION = "session"  # `initialize` opens a session
    STATELESS = "stateless"  # each request is self-contained


class Rules(NamedTuple):
    """What one era spells in its own way."""

    versions: tuple[str, ...]  # from oldest to latest
    opening: str  # the first method
    missing: frozenset[str]  # methods that only other eras have
    extensions: str  # the member of the capabilities that holds extensions
    keeps_state: bool  # between two requests of a connection
    binds_capabilities: bool  # the handshake declares the client's for the whole session
    cancels_by_closing: bool  # closing the response stream of a request cancels it
    envelope: Callable[[str, Params, Caller | None], Answer]  # `_meta` of a request: version, client, caller
    shape_answer: Callable[[Answer, str, Params], Answer]  # the answer to a method; our `serverInfo`
    error_code: Callable[[int], int]

    @property
    def latest(self) -> str:
        """The version to offer first."""
        return self.versions[-1]

    def common(self, versions: object) -> str | None:
        """Return the latest version that the list of the other side also includes."""
        if not isinstance(versions, list):
            return None
        return next((version for version in reversed(self.versions) if version in versions), None)


def _no_envelope(_version: str, _client: Params, _caller: Caller | None) -> Answer:
    return {}


def _stateless_envelope(version: str, client: Params, caller: Caller | None) -> Answer:
    """Return the version, the client, and the caller's capabilities and log level.

    Lists are asked for without a caller: they are for all clients, whatever each can answer.
    """
    capabilities = RELAYED if caller is None else caller.capabilities
    envelope: Answer = {VERSION_KEY: version, CLIENT_KEY: client, CAPABILITIES_KEY: dict(capabilities)}
    if caller is not None and caller.log_level is not None:
        envelope[LOG_LEVEL_KEY] = caller.log_level
    return envelope


def _session_answer(answer: Answer, _method: str, _server: Params) -> Answer:
    """Remove members that this era does not know."""
    if _STATELESS_MEMBERS.isdisjoint(answer):
        return answer
    return {name: value for name, value in answer.items() if name not in _STATELESS_MEMBERS}


def _stateless_answer(answer: Answer, method: str, server: Params) -> Answer:
    """Add the members that this era requires."""
    shaped = {"resultType": "complete", **answer}
    if method in _CACHEABLE and shaped["resultType"] == "complete":
        shaped = {**_NO_CACHE, **shaped}
    shaped["_meta"] = {**as_object(shaped.get("_meta")), SERVER_KEY: server}
    return shaped


def _same_code(code: int) -> int:
    return code


def _stateless_code(code: int) -> int:
    """Replace the code for a missing resource, which this era does not have."""
    return ErrorCode.INVALID_PARAMS if code == ErrorCode.RESOURCE_NOT_FOUND else code


RULES: Mapping[Era, Rules] = {
    Era.SESSION: Rules(
        versions=("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"),
        opening=INITIALIZE,
        missing=frozenset({LISTEN, DISCOVER}),
        extensions="experimental",
        keeps_state=True,
        binds_capabilities=True,
        cancels_by_closing=False,
        envelope=_no_envelope,
        shape_answer=_session_answer,
        error_code=_same_code,
    ),
    Era.STATELESS: Rules(
        versions=("2026-07-28",),
        opening=DISCOVER,
        missing=frozenset({SUBSCRIBE, UNSUBSCRIBE, SET_LEVEL, "ping"}),
        extensions="extensions",
        keeps_state=False,
        binds_capabilities=False,
        cancels_by_closing=True,
        envelope=_stateless_envelope,
        shape_answer=_stateless_answer,
        error_code=_stateless_code,
    ),
}


def era_of(version: object) -> Era | None:
    """Find the era of a protocol version; None if it is unknown."""
    return next((era for era, rules in RULES.items() if version in rules.versions), None)


class Handshake(NamedTuple):
    """A server's answer to the handshake."""

    era: Era
    version: str
    capabilities: Mapping[str, Any] = MappingProxyType({})
    server: Mapping[str, Any] = MappingProxyType({})  # its `serverInfo`
    instructions: str | None = None


class ClientEra:
    """The era that one client's connection has settled on."""

    def __init__(self) -> None:
        self.settled: Era | None = None  # None: it may still choose

    def initialize(self, params: Params) -> str:
        """Settle on sessions, and return the version to answer; a client may do this again.

        Raises:
            JsonRpcError: the connection is of another era, or the request is invalid.
        """
        version = params.get("protocolVersion")
        if self.settled is Era.STATELESS:
            raise _unsupported("this connection speaks the protocol of 2026", version)
        if not isinstance(version, str):
            raise JsonRpcError(ErrorCode.INVALID_PARAMS, "`protocolVersion` is missing or invalid")
        self.settled = Era.SESSION
        rules = RULES[Era.SESSION]
        return version if version in rules.versions else rules.latest

    def of(self, method: str, params: Params) -> Era:
        """Determine the era of a request from its envelope.

        `server/discover` does not settle it: a client may fall back to `initialize`.

        Raises:
            JsonRpcError: the request does not belong to this connection's era, or its era lacks the method.
        """
        meta = as_object(params.get("_meta"))
        era = Era.SESSION if VERSION_KEY not in meta else self._stateless(meta)
        if era is Era.SESSION and self.settled is Era.STATELESS:
            raise JsonRpcError(ErrorCode.INVALID_PARAMS, f"`_meta` has no `{VERSION_KEY}`")
        if era is Era.SESSION and self.settled is None:
            raise JsonRpcError(ErrorCode.INVALID_REQUEST, f"send `initialize` before `{method}`")
        if method in RULES[era].missing:
            raise JsonRpcError(ErrorCode.METHOD_NOT_FOUND, "Method not found", method)
        if method != DISCOVER:
            self.settled = era
        return era

    def _stateless(self, meta: Params) -> Era:
        if self.settled is Era.SESSION:
            raise JsonRpcError(ErrorCode.INVALID_REQUEST, "this connection was opened by `initialize`")
        version = meta[VERSION_KEY]
        if era_of(version) is not Era.STATELESS:
            raise _unsupported("Unsupported protocol version", version)
        if not isinstance(meta.get(CAPABILITIES_KEY), Mapping):
            raise JsonRpcError(ErrorCode.INVALID_PARAMS, f"`_meta` has no `{CAPABILITIES_KEY}`")
        return Era.STATELESS


def without_envelope(params: Params) -> Params:
    """Remove the `_meta` members that are meant for Remit."""
    meta = as_object(params.get("_meta"))
    if ENVELOPE_KEYS.isdisjoint(meta):
        return params
    kept = {name: value for name, value in meta.items() if name not in ENVELOPE_KEYS}
    rest = {name: value for name, value in params.items() if name != "_meta"}
    return {**rest, "_meta": kept} if kept else rest


def _unsupported(message: str, version: object) -> JsonRpcError:
    data = {"supported": list(RULES[Era.STATELESS].versions), "requested": str(version)}
    return JsonRpcError(ErrorCode.UNSUPPORTED_PROTOCOL_VERSION, message, data)
