"""JSON-RPC values shared by both sides of the gateway: error codes and errors."""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from remit.errors import RemitError

Params = Mapping[str, Any]
Answer = dict[str, Any]


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
    """A JSON-RPC error, from an upstream or from Remit itself."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data

    @classmethod
    def from_remit(cls, error: RemitError) -> "JsonRpcError":
        """Convert a Remit error, with its hint in parentheses."""
        hint = f" ({error.hint})" if error.hint else ""
        return cls(ErrorCode.INTERNAL_ERROR, f"{error}{hint}")

    def as_object(self) -> dict[str, Any]:
        """Return the `error` member of a response."""
        data = {} if self.data is None else {"data": self.data}
        return {"code": self.code, "message": str(self), **data}


class ElsewhereError(JsonRpcError):
    """Only another gateway can answer; whoever balances the load may repeat the request there."""
