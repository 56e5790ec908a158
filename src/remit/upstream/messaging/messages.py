"""Messages of the protocol as they travel: plain JSON, bounded in size, and what can go wrong on the way."""

import json
import re
from typing import Any, cast

MAX_MESSAGE = 16 * 2**20  # bytes
UNREADABLE = "answers with a message that cannot be read"
TOO_LONG = f"answers with more than {MAX_MESSAGE // 2**20} MB at once"

Message = dict[str, Any]

_ID = re.compile(rb'"id"\s*:\s*(\d{1,18})\b')


class ProtocolError(Exception):
    """A server answers, but not what the protocol asks for; the words are ours."""


class LostError(Exception):
    """The connection to a server is gone, or was given up for a reason in our words."""


class UnreachableError(Exception):
    """A server cannot be reached at its URL; the words are ours, and do not hold it."""


class BrokenOffError(UnreachableError):
    """A server was reached, and hung up."""


class RefusedError(Exception):
    """A server refuses a request of HTTP with a status."""

    def __init__(self, status: int, phrase: str = "", scope: str | None = None) -> None:
        wants = "" if scope is None else f": it wants the scope `{scope}`"
        super().__init__(f"answers {status} {phrase}".rstrip() + wants)
        self.status = status
        self.scope = scope  # what who signed in may not do yet


class ForgottenError(RefusedError):
    """A server no longer knows the session that a request belongs to."""


def encode(message: Message) -> bytes:
    """Write a message on one line."""
    return json.dumps(message, separators=(",", ":")).encode()


def decode(text: bytes | str) -> Any:
    """Read a message; bytes that are no UTF-8 cost no more than the letters that they stood for.

    Raises:
        ValueError: it is no JSON, or cannot be held.
    """
    try:
        return json.loads(text)
    except UnicodeDecodeError as error:
        return decode(error.object.decode("utf-8", "replace"))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def parse_messages(text: bytes | str) -> Message | list[Message]:
    """Read one message, or several at once as the protocol had them for a while.

    Raises:
        ProtocolError: it is none.
    """
    try:
        message = decode(text)
    except ValueError:
        raise ProtocolError(UNREADABLE) from None
    if isinstance(message, list):
        return [fields(one) for one in cast("list[object]", message)]
    if isinstance(message, dict):
        return fields(message)  # pyright: ignore[reportUnknownArgumentType] - it is JSON
    raise ProtocolError(UNREADABLE)


def fields(value: object) -> Message:
    """Take a value for an object of JSON; what is none has no fields."""
    return cast("Message", value) if isinstance(value, dict) else {}


def unreadable_answer(line: bytes) -> tuple[bool, int | None]:
    """Tell an answer that cannot be read from mere noise, and find out whose it was."""
    if not line.lstrip().startswith(b"{") or b'"jsonrpc"' not in line or b'"result"' not in line:
        return False, None
    found = {int(number) for number in _ID.findall(line)}
    return True, found.pop() if len(found) == 1 else None
