"""Requests that only another gateway can answer: status 503, so a load balancer repeats them there.

Only those whose load balancer says with a header that it does: any other client gets the reason in the
answer to its request. Nothing has happened yet when a request is sent elsewhere.
"""

import json

from starlette.types import Message, Scope, Send

from remit.gateway.transports.http_refusal import refusal_body

HEADER = b"remit-retry"
_STATUS = b"503"
_SCOPE_KEY = "remit.movable"
_BODY = json.dumps(refusal_body(503, "another gateway runs the server of this tool")).encode()
_HEADERS = [
    (b"content-type", b"application/json"),
    (b"content-length", str(len(_BODY)).encode()),
    (b"retry-after", b"1"),
]


def movable(scope: Scope, send: Send) -> Send:
    """Hold the response to a request back until it is known whether it is answered here, if it can move."""
    if scope["method"] != "POST" or (HEADER, _STATUS) not in scope["headers"]:
        return send
    scope[_SCOPE_KEY] = found = _HeldResponse(send)
    return found


def can_move(scope: Scope) -> bool:
    """Return whether a request can still be sent elsewhere."""
    found: _HeldResponse | None = scope.get(_SCOPE_KEY)
    return found is not None and not found.is_started


def send_elsewhere(scope: Scope) -> None:
    """Answer a request with 503, whatever its answer here would be."""
    scope[_SCOPE_KEY].is_elsewhere = True


class _HeldResponse:
    """Sends one response, whose status follows when its body does."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        self.is_started = False
        self.is_elsewhere = False

    async def __call__(self, message: Message) -> None:
        """Send a part of the response."""
        if message["type"] == "http.response.start":
            self._start = message
            return
        if not self.is_started:
            self.is_started = True
            if self.is_elsewhere:
                await self._send({"type": "http.response.start", "status": 503, "headers": _HEADERS})
                await self._send({"type": "http.response.body", "body": _BODY})
                return
            if self._start is not None:
                await self._send(self._start)
        if not self.is_elsewhere:
            await self._send(message)
