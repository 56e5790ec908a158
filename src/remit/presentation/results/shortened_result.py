"""The answer that a model gets instead of a result that is too large: its shape, its beginning and its id.

Structured content is shortened so that it still satisfies its tool's output schema: clients check it and
reject what does not match, and some show a model nothing else.
"""

import json
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, cast

from remit.presentation.remit_tools import OwnTool
from remit.presentation.results.excerpts import Excerpt, head
from remit.presentation.results.result_document import (
    STRUCTURED,
    ResultDocument,
    blocks_of,
    is_media,
)
from remit.presentation.results.result_limit import ResultLimit
from remit.presentation.results.result_shape import shape, size_of
from remit.protocol.json_rpc import Answer
from remit.text.json_values import as_object
from remit.text.token_estimate import estimate

META = "remit/result"
_FOR_SHAPE = 0.2  # share of the limit
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


IsValid = Callable[[Any], bool]  # checks structured content against the output schema of its tool


def shortened(
    answer: Answer, document: ResultDocument, result: str, limit: ResultLimit, is_valid: IsValid | None
) -> Answer:
    """Replace a result that was kept: media stay, its text becomes a note and a beginning.

    Structured content is left out, unless the tool has an output schema: then clients require it. If no
    excerpt satisfies the schema, it stays whole.
    """
    lines = "1 line" if document.lines == 1 else f"{document.lines:,} lines"
    size = f"{size_of(document.text)}, {lines}, about {estimate(document.text):,} tokens"
    how = f'`{OwnTool.READ}` (through `{OwnTool.CALL}` if it is not listed): `result` = "{result}"'
    opening = f"Remit kept this result, which is over the limit of {limit}: {size}."
    reading = f"Read on with {how} and `line`, `search` or `path`."
    structure = shape(document, limit.share(_FOR_SHAPE))
    told = [opening, *(["Structure:", *structure] if structure else []), reading]
    beginning = head(document.text, limit.without("\n".join(told)).share(0.9))
    note = "\n".join([*told, f"The beginning follows. {beginning.note}"])
    media = [each for each in blocks_of(answer) if is_media(each)]
    kept = {
        "result": result,
        "bytes": len(document.text.encode(errors="replace")),
        "lines": document.lines,
        "tokens": estimate(document.text),
    }
    made = {
        **answer,
        "content": [_text(note), _text(beginning.text), *media],
        "_meta": {**as_object(answer.get("_meta")), META: kept},
    }
    if STRUCTURED not in answer:
        return made
    if is_valid is None:
        return {name: each for name, each in made.items() if name != STRUCTURED}
    left_out = f"cut by Remit: {size}; read on with {how}"
    part = structured_excerpt(answer[STRUCTURED], left_out, limit, is_valid)
    return made if part is None else {**made, STRUCTURED: part}


def excerpt_answer(part: Excerpt, tool: str, result: str) -> Answer:
    """Return an excerpt of a kept result as an answer."""
    note = f"From the result `{result}` of `{tool}`. {part.note}"
    return {"content": [_text(note), _text(part.text)] if part.text else [_text(note)]}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


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


def structured_excerpt(value: Any, note: str, limit: ResultLimit, is_valid: IsValid) -> object | None:
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
