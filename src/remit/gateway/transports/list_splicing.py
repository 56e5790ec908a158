"""Splices encoded lists into SDK responses, since the SDK would encode them again every time.

The SDK writes a placeholder, and the splicer replaces it with the list.
"""

import secrets

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Scope, Send

from remit.gateway.transports.list_encoding import EncodedList
from remit.protocol.json_rpc import Answer

_SCOPE_KEY = "remit.splicing"


class ListSplicer:
    """Sends one HTTP response, with lists in place of their placeholders."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._send = send
        self._pieces: dict[bytes, bytes] = {}
        self._start: Message | None = None
        scope[_SCOPE_KEY] = self

    def placeholder_for(self, encoded: EncodedList) -> str:
        """Create a random placeholder for a list, which cannot occur in other content."""
        placeholder = f"list:{secrets.token_hex(16)}"
        self._pieces[b'"%b"' % placeholder.encode()] = encoded.json
        return placeholder

    async def __call__(self, message: Message) -> None:
        """Send a part of the response."""
        if message["type"] == "http.response.start" and "content-length" in MutableHeaders(scope=message):
            self._start = message  # held back: the length of the body changes
            return
        if message["type"] == "http.response.body" and self._pieces:
            message = {**message, "body": self._filled(message.get("body", b""))}
        if self._start is not None:
            start, self._start = self._start, None
            MutableHeaders(scope=start)["content-length"] = str(len(message.get("body", b"")))
            await self._send(start)
        await self._send(message)

    def _filled(self, body: bytes) -> bytes:
        for placeholder in [each for each in self._pieces if each in body]:
            body = body.replace(placeholder, self._pieces.pop(placeholder), 1)
        return body


def splice_lists(answer: Answer, scope: Scope) -> Answer:
    """Replace encoded lists in an answer with placeholders, if the response has a splicer."""
    splicer: ListSplicer | None = scope.get(_SCOPE_KEY)
    if splicer is None:
        return answer
    return {
        name: splicer.placeholder_for(value) if type(value) is EncodedList else value
        for name, value in answer.items()
    }
