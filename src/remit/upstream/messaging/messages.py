"""Reads and writes JSON messages of bounded size, and defines the connection errors."""

import json
import re
from typing import Any, cast

from remit.text.json_values import as_object

MAX_MESSAGE = 16 * 2**20  # bytes
UNREADABLE = "answers with a message that cannot be read"
TOO_LONG = f"answers with more than {MAX_MESSAGE // 2**20} MB at once"

Message = dict[str, Any]

_ENCODER = json.JSONEncoder(separators=(",", ":"))
_ID = re.compile(rb'"id"\s*:\s*(\d{1,18})\b')


class ProtocolError(Exception):
    """A server violates the protocol; the text is ours."""


class LostError(Exception):
    """The connection to a server is lost or was given up; the text is ours."""


class UnreachableError(Exception):
    """A server cannot be reached at its URL; the text is ours and does not contain it."""


class DisconnectedError(UnreachableError):
    """A server was reached, but closed the connection."""


class RefusedError(Exception):
    """A server refuses a request with an HTTP status."""

    def __init__(self, status: int, phrase: str = "", scope: str | None = None) -> None:
        wants = "" if scope is None else f": it wants the scope `{scope}`"
        super().__init__(f"answers {status} {phrase}".rstrip() + wants)
        self.status = status
        self.scope = scope  # the scope that the token lacks


class SessionExpiredError(RefusedError):
    """A server no longer knows the session of a request."""


def encode(message: Message) -> bytes:
    """Encode a message on one line."""
    return _ENCODER.encode(message).encode()


def decode(text: bytes | str) -> Any:
    """Read JSON, and replace invalid UTF-8.

    Raises:
        ValueError: the text is not JSON, or is nested too deeply.
    """
    try:
        return json.loads(text)
    except UnicodeDecodeError as error:
        return decode(error.object.decode("utf-8", "replace"))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def parse_messages(text: bytes | str) -> Message | list[Message]:
    """Read a message, or a batch as 2025-03-26 allowed.

    Raises:
        ProtocolError: the text is neither.
    """
    try:
        message = decode(text)
    except ValueError:
        raise ProtocolError(UNREADABLE) from None
    if isinstance(message, list):
        return [as_object(one) for one in cast("list[object]", message)]
    if isinstance(message, dict):
        return cast("Message", message)
    raise ProtocolError(UNREADABLE)


def unreadable_answer(line: bytes) -> tuple[bool, int | None]:
    """Check whether an invalid line is an answer, and find the number of its request."""
    if not line.lstrip().startswith(b"{") or b'"jsonrpc"' not in line or b'"result"' not in line:
        return False, None
    found = {int(number) for number in _ID.findall(line)}
    return True, found.pop() if len(found) == 1 else None
