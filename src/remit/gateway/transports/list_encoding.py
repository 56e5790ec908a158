"""Encodes answers as JSON, and each list only once."""

import json
import math
from typing import Any, cast

from remit.gateway.ports import PublishedList
from remit.protocol.json_rpc import JsonRpcError

# Line separators for Python and some event-stream parsers, but not for JSON.
_LINE_ENDS = {char.encode(): json.dumps(char)[1:-1].encode() for char in "\x85\u2028\u2029"}
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


class EncodedList(list[Any]):
    """A list that carries its own JSON."""

    def __init__(self, items: list[Any]) -> None:
        super().__init__(encodable(items))
        self.json = _on_one_line(encode_json(self))


class EncodedLists:
    """The latest encoded list for each name."""

    def __init__(self) -> None:
        self._encoded: dict[str, tuple[list[Any], EncodedList]] = {}

    def encode(self, name: str, listing: PublishedList) -> EncodedList:
        """Encode a list, or return the earlier result for the same list."""
        known = self._encoded.get(name)
        if known is None or known[0] is not listing.items:
            known = self._encoded[name] = listing.items, EncodedList(listing.items)
        return known[1]


def encode_json(value: object) -> bytes:
    """Encode a value as valid JSON on one line."""
    try:
        return _ENCODER.encode(value).encode()
    except ValueError:
        return _ENCODER.encode(_repaired(value)).encode()


def _on_one_line(text: bytes) -> bytes:
    for char, escaped in _LINE_ENDS.items():
        text = text.replace(char, escaped)
    return text


def encodable(value: Any) -> Any:
    """Return a value that JSON can represent: almost always the value itself."""
    try:
        _ENCODER.encode(value).encode()
    except ValueError:
        return _repaired(value)
    return value


def result_line(identity: str | int, result: dict[str, Any]) -> bytes:
    """Encode an answer as one line, reusing the JSON of encoded lists."""
    number = b"%d" % identity if isinstance(identity, int) else encode_json(identity)
    if EncodedList not in map(type, result.values()):
        return b'{"jsonrpc":"2.0","id":%b,"result":%b}\n' % (number, encode_json(result))
    parts = [
        b"%b:%b" % (encode_json(name), value.json if type(value) is EncodedList else encode_json(value))
        for name, value in result.items()
    ]
    return b'{"jsonrpc":"2.0","id":%b,"result":{%b}}\n' % (number, b",".join(parts))


def error_line(identity: str | int | None, error: JsonRpcError) -> bytes:
    """Encode an error as one line."""
    return message_line({"id": identity, "error": error.as_object()})


def message_line(message: dict[str, Any]) -> bytes:
    """Encode a message as one line."""
    return encode_json({"jsonrpc": "2.0", **message}) + b"\n"


def _repaired(value: Any) -> Any:
    """Replace values that JSON cannot represent: NaN, infinity and lone surrogates."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_repaired(key): _repaired(each) for key, each in cast(dict[Any, Any], value).items()}
    return [_repaired(each) for each in cast(list[Any], value)] if isinstance(value, list) else value
