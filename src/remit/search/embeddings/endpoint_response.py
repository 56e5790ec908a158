"""Parses and validates the replies of embeddings endpoints."""

import json
import math
import struct
from typing import TypeGuard, cast

from remit.search.ports import Vector
from remit.text.json_values import as_list, as_object


def parse_vectors(body: bytes, count: int) -> list[Vector]:
    """Parse the vectors of a reply, normalized to length one, in the order of the texts.

    Raises:
        ValueError: the reply does not contain the requested vectors.
    """
    rows = _rows(_decoded(body), count)
    if len({len(row) for row in rows}) != 1:
        raise ValueError("they are not all of one length")
    return [_unit(row) for row in rows]


def _decoded(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):  # the parser's own message quotes the reply
        raise ValueError("it is not JSON") from None


def _rows(answer: object, count: int) -> list[list[object]]:
    entries = as_list(as_object(answer).get("data"))
    rows = dict(map(_row, entries))
    if len(entries) != count or rows.keys() != set(range(count)):
        raise ValueError(f"{count} were requested, {len(entries)} returned")
    return [rows[at] for at in range(count)]


def _row(entry: object) -> tuple[int, list[object]]:
    fields = as_object(entry)
    at, row = fields.get("index"), fields.get("embedding")
    if not isinstance(at, int) or not isinstance(row, list) or not row:
        raise ValueError("one of them has no index, or no numbers")
    return at, cast(list[object], row)


def _unit(row: list[object]) -> Vector:
    numbers = [float(value) for value in row if isinstance(value, float) or _is_small(value)]
    length = math.hypot(*numbers)
    if len(numbers) != len(row) or not math.isfinite(length) or not length:
        raise ValueError("one of them is not made of finite numbers, or only of zeros")
    return struct.pack(f"<{len(numbers)}f", *(number / length for number in numbers))


def _is_small(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and abs(value) < 2**53
