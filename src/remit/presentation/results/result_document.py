"""A result as a document: the text that a model would read, and the JSON value in it."""

import json
import re
from typing import Any, NamedTuple

from remit.protocol.json_rpc import Answer
from remit.text.json_values import as_list, as_object

STRUCTURED = "structuredContent"
_MEDIA = ("image", "audio")
_LONG_LINE = 2_000  # characters
_STRING_OR_GAP = re.compile(r'"(?:[^"\\]|\\.)*"|[}\]],(?!\n)')


class ResultDocument(NamedTuple):
    """The text of a result, and its JSON value if it has one."""

    text: str
    value: Any = None  # None: the text is not JSON

    @property
    def lines(self) -> int:
        """How many lines the text has."""
        return self.text.count("\n") + (not self.text.endswith("\n"))


def is_media(block: object) -> bool:
    """Check whether a content block is not text, so its size says nothing about tokens."""
    said = as_object(block)
    return said.get("type") in _MEDIA or "blob" in as_object(said.get("resource"))


def blocks_of(answer: Answer) -> list[Any]:
    """Return the content blocks of an answer."""
    return as_list(answer.get("content"))


def block_text(block: object) -> str:
    """Return the text of a content block; a link or an unknown block is written as JSON."""
    said = as_object(block)
    text = said.get("text") if said.get("type") == "text" else as_object(said.get("resource")).get("text")
    return text if isinstance(text, str) else json.dumps(block, ensure_ascii=False)


def document_of(answer: Answer) -> ResultDocument:
    """Return the document of an answer: its text blocks one after the other, without media."""
    texts = [block_text(each) for each in blocks_of(answer) if not is_media(each)]
    text = "\n".join(texts)
    structured = answer.get(STRUCTURED)
    if structured is not None:
        written = "" if _repeats(structured, text) else json.dumps(structured, ensure_ascii=False, indent=1)
        spread = text if parse_json(text) is None else _spread(text)
        return ResultDocument("\n".join(filter(None, (spread, written))), structured)
    values = [parse_json(each) for each in texts]
    value = values if len(values) > 1 and None not in values else parse_json(text)
    return ResultDocument(text if value is None else _spread(text), value)


def parse_json(text: str) -> Any:
    """Parse JSON or JSON lines; return None unless it is an object or a list."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except RecursionError:
        return None
    except ValueError:
        return _json_lines(text)


def _spread(text: str) -> str:
    """Put the items of JSON on lines of their own if a line is long, so lines can be read and searched."""
    if max(map(len, text.split("\n"))) <= _LONG_LINE:
        return text
    return _STRING_OR_GAP.sub(lambda found: found[0] if found[0][0] == '"' else f"{found[0]}\n", text)


def _repeats(structured: object, text: str) -> bool:
    """Check whether a text says the same as structured content, or as one of its members."""
    parsed = parse_json(text)
    members = as_object(structured).values()
    return any(each == text or (parsed is not None and each == parsed) for each in (structured, *members))


def _json_lines(text: str) -> list[Any] | None:
    lines = [line for line in text.splitlines() if line.strip()]
    if not all(line.lstrip()[0] in "{[" for line in lines[:100]):
        return None
    try:
        return [json.loads(line) for line in lines]
    except (RecursionError, ValueError):
        return None
