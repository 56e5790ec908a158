"""Values and faults of JSON-RPC, JSON on one line, and the names that both sides of MCP use."""

import json
import math
import re
from collections.abc import Mapping
from enum import IntEnum
from typing import Any, cast

from remit.errors import RemitError
from remit.text import as_object

Params = Mapping[str, Any]
Answer = dict[str, Any]
Message = dict[str, Any]
Id = str | int

MAX_MESSAGE = 16 * 2**20  # bytes
UNREADABLE = "answers with a message that cannot be read"
TOO_LONG = f"answers with more than {MAX_MESSAGE // 2**20} MB at once"

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL_KEY = "io.modelcontextprotocol/logLevel"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"
ENVELOPE_KEYS = frozenset({VERSION_KEY, CLIENT_KEY, CAPABILITIES_KEY, LOG_LEVEL_KEY})

LIST_METHODS = frozenset({"tools/list", "resources/list", "resources/templates/list", "prompts/list"})
ELICITATION_COMPLETE = "notifications/elicitation/complete"  # 2025-11-25 only
LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

# Line separators for Python and some event-stream parsers, but not for JSON.
_LINE_ENDS = {char.encode(): json.dumps(char)[1:-1].encode() for char in "\x85\u2028\u2029"}
_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_DECODE = json.JSONDecoder().decode
_ID = rb'"id"\s*:\s*"?(\d{1,18})\b'


class ErrorCode(IntEnum):
    """The error codes of JSON-RPC and MCP."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    CONNECTION_CLOSED = -32000
    RESOURCE_NOT_FOUND = -32002  # before 2026-07-28, which uses INVALID_PARAMS
    HEADER_MISMATCH = -32020
    UNSUPPORTED_PROTOCOL_VERSION = -32022
    URL_ELICITATION_REQUIRED = -32042  # 2025-11-25 only


class JsonRpcError(Exception):
    """A JSON-RPC error, from the other side or from Remit itself."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data

    @classmethod
    def from_remit(cls, error: RemitError) -> "JsonRpcError":
        """Convert a Remit error, with its hint in parentheses."""
        hint = f" ({error.hint})" if error.hint else ""
        return cls(ErrorCode.INTERNAL_ERROR, f"{error}{hint}")

    @classmethod
    def from_object(cls, error: object) -> "JsonRpcError":
        """Read the `error` member of a response."""
        members = as_object(error)
        code, text = members.get("code"), members.get("message")
        return cls(
            code if isinstance(code, int) else ErrorCode.INTERNAL_ERROR,
            text if isinstance(text, str) else "unknown error",
            members.get("data"),
        )

    def as_object(self) -> dict[str, Any]:
        """Return the `error` member of a response."""
        data = {} if self.data is None else {"data": self.data}
        return {"code": self.code, "message": str(self), **data}


class PeerError(Exception):
    """The other side of a connection cannot be used; the text is ours, and says so after its name."""


class ProtocolError(PeerError):
    """It violates the protocol."""


class LostError(PeerError):
    """The connection is lost or was given up."""


class UnreachableError(PeerError):
    """It cannot be reached at its URL; the text does not contain the URL."""


class DisconnectedError(UnreachableError):
    """It was reached, but closed the connection."""


class RefusedError(PeerError):
    """It refuses a request with an HTTP status."""

    def __init__(self, status: int, phrase: str = "", scope: str | None = None) -> None:
        wants = "" if scope is None else f": it wants the scope `{scope}`"
        super().__init__(f"answers {status} {phrase}".rstrip() + wants)
        self.status = status
        self.scope = scope  # the scope that the token lacks


class SessionExpiredError(RefusedError):
    """It no longer knows the session of a request."""


class RawJson:
    """A value that is written as JSON once; `encode` copies that into each result that has it as a member."""

    __slots__ = ("json", "value")

    def __init__(self, value: object) -> None:
        try:
            text = _ENCODE(value).encode()
        except ValueError:
            value = _repaired(value)
            text = _ENCODE(value).encode()
        for char, escaped in _LINE_ENDS.items():
            text = text.replace(char, escaped)
        self.value = value
        self.json = text


def encode(message: Message) -> bytes:
    """Write a message on one line; what JSON cannot represent is replaced."""
    result = message.get("result")
    if type(result) is dict and RawJson in map(type, cast("Answer", result).values()):
        parts = b",".join(
            b"%b:%b" % (_json(name), value.json if type(value) is RawJson else _json(value))
            for name, value in cast("Answer", result).items()
        )
        return b'{"jsonrpc":"2.0","id":%b,"result":{%b}}' % (_json(message["id"]), parts)
    return _json(message)


def decode(text: bytes) -> Any:
    """Read JSON, and replace invalid UTF-8.

    Raises:
        ValueError: the text is not JSON, or is nested too deeply.
    """
    try:
        return _DECODE(text.decode())
    except UnicodeDecodeError:
        return decode(text.decode("utf-8", "replace").encode())
    except RecursionError:
        raise ValueError("nested too deeply") from None


def parse_messages(text: bytes) -> Message | list[Message]:
    """Read a message, or a batch as 2025-03-26 allowed.

    Raises:
        ProtocolError: the text is neither.
    """
    try:
        message = decode(text)
    except ValueError:
        raise ProtocolError(UNREADABLE) from None
    if isinstance(message, list):
        return [as_object(item) for item in cast("list[object]", message)]
    if isinstance(message, dict):
        return cast("Message", message)
    raise ProtocolError(UNREADABLE)


def unreadable_answer(line: bytes) -> tuple[bool, int | None]:
    """Check whether an invalid line is an answer, and find the number of its request."""
    if not line.lstrip().startswith(b"{") or b'"jsonrpc"' not in line or b'"result"' not in line:
        return False, None
    numbers = {int(number) for number in re.findall(_ID, line)}
    return True, numbers.pop() if len(numbers) == 1 else None


def is_at_least(level: object, minimum: str | None) -> bool:
    """Check whether a log level reaches a minimum; unknown levels never do."""
    if minimum not in LOG_LEVELS or level not in LOG_LEVELS:
        return False
    return LOG_LEVELS.index(level) >= LOG_LEVELS.index(minimum)


def _json(value: object) -> bytes:
    try:
        return _ENCODE(value).encode()
    except ValueError:
        return _ENCODE(_repaired(value)).encode()


def _repaired(value: Any) -> Any:
    """Replace values that JSON cannot represent: NaN, infinity and lone surrogates."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_repaired(key): _repaired(item) for key, item in cast("dict[Any, Any]", value).items()}
    return [_repaired(item) for item in cast("list[Any]", value)] if isinstance(value, list) else value
