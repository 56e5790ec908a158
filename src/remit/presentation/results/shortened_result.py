"""The answer that a model gets instead of a result that is too large: its shape, its beginning and its id."""

from collections.abc import Callable
from typing import Any, NamedTuple

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
from remit.presentation.results.structured_excerpt import structured_excerpt
from remit.protocol.json_rpc import Answer
from remit.text.json_values import as_object
from remit.text.token_estimate import estimate

META = "remit/result"
_FOR_SHAPE = 0.2  # share of the limit


class OutputSchema(NamedTuple):
    """Checks structured content against the output schema of its tool."""

    is_valid: Callable[[Any], bool]


def shortened(
    answer: Answer, document: ResultDocument, result: str, limit: ResultLimit, schema: OutputSchema | None
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
    if schema is None:
        return {name: each for name, each in made.items() if name != STRUCTURED}
    left_out = f"cut by Remit: {size}; read on with {how}"
    part = structured_excerpt(answer[STRUCTURED], left_out, limit, schema.is_valid)
    return made if part is None else {**made, STRUCTURED: part}


def excerpt_answer(part: Excerpt, tool: str, result: str) -> Answer:
    """Return an excerpt of a kept result as an answer."""
    note = f"From the result `{result}` of `{tool}`. {part.note}"
    return {"content": [_text(note), _text(part.text)] if part.text else [_text(note)]}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
