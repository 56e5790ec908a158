"""Lists that are JSON already, in answers of the SDK, which would write each of them anew every time.

The SDK writes a sign in the place of a list, and what the sign stands for goes out instead of it.
"""

import secrets

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Scope, Send

from remit.gateway.transports.list_encoding import EncodedList
from remit.protocol.json_rpc import Answer

_PLACE = "remit.splicing"  # ours, in the scope of a request


class ListSplicer:
    """The way out of one HTTP response."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._send = send
        self._pieces: dict[bytes, bytes] = {}
        self._start: Message | None = None
        scope[_PLACE] = self

    def sign_for(self, prepared: EncodedList) -> str:
        """Promise to put a list where a sign is: one that nobody can guess, and write elsewhere."""
        sign = f"list:{secrets.token_hex(16)}"
        self._pieces[b'"%b"' % sign.encode()] = prepared.json
        return sign

    async def __call__(self, message: Message) -> None:
        """Send a part of the response on."""
        if message["type"] == "http.response.start" and "content-length" in MutableHeaders(scope=message):
            self._start = message  # waits for its body, which may become longer
            return
        if message["type"] == "http.response.body" and self._pieces:
            message = {**message, "body": self._filled(message.get("body", b""))}
        if self._start is not None:
            start, self._start = self._start, None
            MutableHeaders(scope=start)["content-length"] = str(len(message.get("body", b"")))
            await self._send(start)
        await self._send(message)

    def _filled(self, body: bytes) -> bytes:
        for sign in [sign for sign in self._pieces if sign in body]:
            body = body.replace(sign, self._pieces.pop(sign), 1)
        return body


def splice_lists(answer: Answer, scope: Scope) -> Answer:
    """Have what is prepared of an answer go out as it is, where the response can be reached."""
    splicing: ListSplicer | None = scope.get(_PLACE)
    if splicing is None:
        return answer
    return {
        name: splicing.sign_for(value) if type(value) is EncodedList else value
        for name, value in answer.items()
    }
