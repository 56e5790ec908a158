"""The HTTP client of remote servers: a dropped request costs itself alone, and refusals are remembered."""

import os
from collections.abc import Mapping
from typing import Any

import httpx2

CONNECT_SECONDS = 30.0
READ_SECONDS = 300.0  # a server may hold a stream open


class PatientClient(httpx2.AsyncClient):
    """Answers for a server that cannot be reached.

    The SDK lets one dropped request end its whole session, and every other call on it; an answer that says
    `503` ends only the call.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.refusal: str | None = None  # why the server did not do what was asked last

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request."""
        try:
            response = await super().send(request, **options)
        except httpx2.TransportError as error:
            self.refusal = f"cannot be reached: {_cause(error)}"
            body = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "connection lost"}}
            return httpx2.Response(503, json=body, request=request)
        if response.status_code < 400:
            self.refusal = None
        elif response.status_code != 405:  # a server need not have a stream of its own
            self.refusal = f"answers {response.status_code} {response.reason_phrase}".rstrip()
        return response


def open_client(
    headers: Mapping[str, str] | None = None,
    timeout: httpx2.Timeout | None = None,
    auth: httpx2.Auth | None = None,
) -> PatientClient:
    """Make the client for one server."""
    patience = timeout or httpx2.Timeout(CONNECT_SECONDS, read=READ_SECONDS)
    return PatientClient(headers=headers, timeout=patience, auth=auth)


def _cause(error: BaseException) -> str:
    """Find the plain cause: the library's own words may hold the URL."""
    while error.__cause__ is not None or error.__context__ is not None:
        error = error.__cause__ or error.__context__ or error
    if isinstance(error, OSError) and error.errno is not None and error.errno > 0:
        return os.strerror(error.errno).lower()
    return type(error).__name__
