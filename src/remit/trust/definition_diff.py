"""Shows what changed in a definition, line by line, to the person who decides about it."""

import json
import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import cast

from remit.decision.tools import Definition
from remit.text.json_values import as_list, as_object
from remit.trust.definition_pin import canonical

_SENTENCE = re.compile(r"(?<=[.!?:;])\s+")
_SCHEMAS = {"inputSchema": "parameter", "outputSchema": "result"}
_ORDER = {"name": 0, "title": 1, "description": 2}
_WRITTEN = ("title", "description", "input_schema", "output_schema", "annotations")


def diff_lines(
    accepted: Definition | None, current: Definition | None, *, is_instructions: bool = False
) -> list[str]:
    """List removed lines with `-` and added ones with `+`, all of them: what is cut cannot be judged."""
    write = instruction_lines if is_instructions else definition_lines
    return line_diff(write(accepted), write(current)) or list(_as_written(accepted, current))


def line_diff(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """List removed lines with `-` and added ones with `+`."""
    found: list[str] = []
    for tag, old_from, old_to, new_from, new_to in SequenceMatcher(None, old, new, False).get_opcodes():
        if tag != "equal":
            found += [f"- {line}" for line in old[old_from:old_to]]
            found += [f"+ {line}" for line in new[new_from:new_to]]
    return found


def instruction_lines(definition: Definition | None) -> list[str]:
    """Write the instructions of a server: one line for each sentence."""
    text = "" if definition is None else str(canonical(definition).get("description", ""))
    return [f"instructions: {sentence}" for sentence in _SENTENCE.split(text) if sentence]


def definition_lines(definition: Definition | None) -> list[str]:
    """Write a definition: one line for each sentence, parameter and annotation."""
    return list(_lines(definition))


def _as_written(accepted: Definition | None, current: Definition | None) -> Iterator[str]:
    """Show definitions that differ only in what a pin leaves out, such as line breaks and dates."""
    for field in _WRITTEN:
        old, new = getattr(accepted, field, None), getattr(current, field, None)
        if old != new:
            yield f"- {field}: {json.dumps(old, ensure_ascii=False)}"
            yield f"+ {field}: {json.dumps(new, ensure_ascii=False)}"


def _lines(definition: Definition | None) -> Iterator[str]:
    content = {} if definition is None else canonical(definition)
    for key in sorted(content, key=lambda key: (_ORDER.get(key, len(_ORDER)), key)):
        value = content[key]
        if key in _SCHEMAS and isinstance(value, dict):
            yield from _schema_lines(_SCHEMAS[key], cast("dict[str, object]", value))
        elif isinstance(value, dict):
            fields = sorted(cast("dict[str, object]", value).items())
            yield from (f"{key}.{name}: {_json(each)}" for name, each in fields)
        elif key in _ORDER and isinstance(value, str):
            yield from (f"{key}: {sentence}" for sentence in _SENTENCE.split(value))
        else:
            yield f"{key}: {_json(value)}"


def _schema_lines(word: str, schema: dict[str, object]) -> Iterator[str]:
    rest = dict(schema)
    names, required = as_object(rest.get("properties")), as_list(rest.get("required"))
    for name, each in sorted(names.items()):
        yield _parameter_line(word, name, each, is_required=name in required)
    if rest.get("properties") == names:
        del rest["properties"]
    if rest.get("required") == required and all(isinstance(each, str) and each in names for each in required):
        del rest["required"]
    if rest.get("type") == "object":
        del rest["type"]
    yield from (f"{word}s, {key}: {_json(value)}" for key, value in sorted(rest.items()))


def _parameter_line(word: str, name: str, schema: object, *, is_required: bool) -> str:
    rest = dict(cast("dict[str, object]", schema)) if isinstance(schema, dict) else {"schema": schema}
    kind = rest.pop("type") if isinstance(rest.get("type"), str) else "any"
    said = f": {rest.pop('description')}" if isinstance(rest.get("description"), str) else ""
    needed = ", required" if is_required else ""
    more = f" {_json(rest)}" if rest else ""
    return f"{word} {name} ({kind}{needed}){more}{said}"


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
