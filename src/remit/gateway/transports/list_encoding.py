"""Lists that are turned into JSON once, however often they are asked for."""

import json
import math
from typing import Any, cast

from remit.gateway.ports import PublishedList

# Ends of a line to Python and to some who read events, and not to JSON.
_LINE_ENDS = {char.encode(): json.dumps(char)[1:-1].encode() for char in "\x85\u2028\u2029"}
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


class EncodedList(list[Any]):
    """A list with its JSON; for everybody who does not look for that, a list like any other."""

    def __init__(self, items: list[Any]) -> None:
        super().__init__(encodable(items))
        self.json = _on_one_line(encode_json(self))


class EncodedLists:
    """The last list of each kind, prepared."""

    def __init__(self) -> None:
        self._prepared: dict[str, tuple[list[Any], EncodedList]] = {}

    def prepared(self, name: str, listing: PublishedList) -> EncodedList:
        """Give a list prepared; the same one, while the endpoint gives the same one."""
        known = self._prepared.get(name)
        if known is None or known[0] is not listing.items:
            known = self._prepared[name] = listing.items, EncodedList(listing.items)
        return known[1]


def encode_json(value: object) -> bytes:
    """Turn a value into JSON on one line, of which any reader can make sense."""
    try:
        return _ENCODER.encode(value).encode()
    except ValueError:
        return _ENCODER.encode(_mended(value)).encode()


def _on_one_line(text: bytes) -> bytes:
    for char, escaped in _LINE_ENDS.items():
        text = text.replace(char, escaped)
    return text


def encodable(value: Any) -> Any:
    """Give a value that can be turned into JSON: itself, nearly always."""
    try:
        _ENCODER.encode(value).encode()
    except ValueError:
        return _mended(value)
    return value


def result_line(identity: str | int, result: dict[str, Any]) -> bytes:
    """Write an answer as one line, taking over what is prepared of it."""
    if not any(type(value) is EncodedList for value in result.values()):
        return b'{"jsonrpc":"2.0","id":%b,"result":%b}\n' % (encode_json(identity), encode_json(result))
    parts = [
        b"%b:%b" % (encode_json(name), value.json if type(value) is EncodedList else encode_json(value))
        for name, value in result.items()
    ]
    return b'{"jsonrpc":"2.0","id":%b,"result":{%b}}\n' % (encode_json(identity), b",".join(parts))


def error_line(identity: str | int | None, code: int, message: str, data: object = None) -> bytes:
    """Write an answer that is an error as one line."""
    error = {"code": code, "message": message, **({} if data is None else {"data": data})}
    return message_line({"id": identity, "error": error})


def message_line(message: dict[str, Any]) -> bytes:
    """Write a message as one line."""
    return encode_json({"jsonrpc": "2.0", **message}) + b"\n"


def _mended(value: Any) -> Any:
    """Replace what JSON cannot say: what is no number, and half of a surrogate pair."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_mended(key): _mended(each) for key, each in cast(dict[Any, Any], value).items()}
    return [_mended(each) for each in cast(list[Any], value)] if isinstance(value, list) else value
