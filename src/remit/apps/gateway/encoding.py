"""Lists that are turned into JSON once, however often they are asked for."""

import json
from typing import Any

import pydantic_core

from remit.exchange import Listing


class Prepared(list[Any]):
    """A list with its JSON; for everybody who does not look for that, a list like any other."""

    def __init__(self, items: list[Any]) -> None:
        super().__init__(items)
        self.json = encoded(items)


class Lists:
    """The last list of each kind, prepared."""

    def __init__(self) -> None:
        self._prepared: dict[str, tuple[list[Any], Prepared]] = {}

    def prepared(self, name: str, listing: Listing) -> Prepared:
        """Give a list prepared; the same one, while the endpoint gives the same one."""
        known = self._prepared.get(name)
        if known is None or known[0] is not listing.items:
            known = self._prepared[name] = listing.items, Prepared(listing.items)
        return known[1]


def encoded(value: object) -> bytes:
    """Turn a value into JSON on one line."""
    try:
        return pydantic_core.to_json(value, inf_nan_mode="null")
    except (ValueError, pydantic_core.PydanticSerializationError):  # half of a surrogate pair, for one
        return json.dumps(value, separators=(",", ":")).encode("ascii")


def answer_line(identity: str | int, result: dict[str, Any]) -> bytes:
    """Write an answer as one line, taking over what is prepared of it."""
    prepared = [name for name, value in result.items() if type(value) is Prepared]
    if not prepared:
        return b'{"jsonrpc":"2.0","id":%b,"result":%b}\n' % (encoded(identity), encoded(result))
    parts = [
        b"%b:%b" % (encoded(name), value.json if type(value) is Prepared else encoded(value))
        for name, value in result.items()
    ]
    return b'{"jsonrpc":"2.0","id":%b,"result":{%b}}\n' % (encoded(identity), b",".join(parts))
