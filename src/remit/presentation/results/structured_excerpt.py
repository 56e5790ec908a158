"""Shortens structured content so that it still satisfies its tool's output schema.

Clients check structured content against the schema and reject what does not match, and some show a model
nothing else. So an excerpt must be valid and must say that it is one.
"""

import json
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, cast

from remit.presentation.results.result_limit import ResultLimit
from remit.text.json_values import as_object

NOTE_KEY = "remit_note"
_STEPS = (
    (1_000, 20_000),
    (300, 8_000),
    (100, 4_000),
    (30, 1_000),
    (10, 300),
    (3, 100),
    (1, 40),
)  # most items, most characters of a text
_LEAST_MEMBERS = 30  # of an object, which usually needs all of them
_DEEPEST = 50


class _Cut:
    """Shortens one value, and notes where."""

    def __init__(self, items: int, characters: int, note: str) -> None:
        self._items = items
        self._characters = characters
        self._note = note
        self.is_noted = False  # a text inside says that something is left out

    def of(self, value: Any, depth: int = 0) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if depth > _DEEPEST:
            return value
        if isinstance(value, list):
            return self._array(cast("list[Any]", value), depth)
        if not isinstance(value, Mapping):
            return value
        members = cast("Mapping[str, Any]", value)
        most = max(self._items, _LEAST_MEMBERS)
        return {name: self.of(each, depth + 1) for name, each in islice(members.items(), most)}

    def _text(self, value: str) -> str:
        if len(value) <= self._characters + len(self._note):
            return value
        self.is_noted = True
        return f"{value[: self._characters]}… [{self._note}]"

    def _array(self, value: list[Any], depth: int) -> list[Any]:
        kept = [self.of(each, depth + 1) for each in value[: self._items]]
        if len(value) > self._items and all(isinstance(each, str) for each in kept):
            self.is_noted = True
            kept.append(f"[{self._note}]")
        return kept


def structured_excerpt(
    value: Any, note: str, limit: ResultLimit, is_valid: Callable[[Any], bool]
) -> object | None:
    """Return a shortened copy that is valid and contains the note; None if there is none."""
    for items, characters in _STEPS:
        cut = _Cut(items, characters, note)
        made: object = cut.of(value)
        if not limit.fits(json.dumps(made, ensure_ascii=False)):
            continue
        noted = {NOTE_KEY: note, **as_object(made)}
        if len(noted) > 1 and is_valid(noted):
            return noted
        if cut.is_noted and is_valid(made):
            return made
    return None
