"""Refuses HTTP requests with a JSON-RPC error."""

from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse, Response

from remit.protocol.json_rpc import ErrorCode


def refusal(status: int, words: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return the response that refuses a request."""
    return JSONResponse(refusal_body(status, words), status_code=status, headers=headers)


def refusal_body(status: int, words: str) -> dict[str, Any]:
    """Return the body of such a response."""
    code = ErrorCode.INVALID_REQUEST if status < 500 else ErrorCode.INTERNAL_ERROR
    return {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": words}}
