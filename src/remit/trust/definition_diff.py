"""Shows what changed in a definition, line by line, to the person who decides about it."""

import json
import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import cast

from remit.decision.tools import Definition
from remit.text.json_values import as_list
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
    text = "" if definition is None else _written(canonical(definition).get("description", ""))
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
            named = _sorted(cast("dict[str, object]", value))
            yield from (f"{key}.{name}: {_written(each)}" for name, each in named)
        else:
            yield from (f"{key}: {sentence}" for sentence in _SENTENCE.split(_written(value)))


def _schema_lines(word: str, schema: dict[str, object]) -> Iterator[str]:
    named, required = schema.get("properties"), as_list(schema.get("required"))
    for name, each in _sorted(named):
        fields = cast("dict[str, object]", each) if isinstance(each, dict) else {"schema": each}
        kind = fields.get("type", "any")
        needed = ", required" if name in required else ""
        more = {key: value for key, value in fields.items() if key not in ("type", "description")}
        told = f" {_written(more)}" if more else ""
        said = f": {_written(fields['description'])}" if "description" in fields else ""
        yield f"{word} {name} ({_written(kind)}{needed}){told}{said}"
    for key, value in _sorted(schema):
        if key not in ("properties", "required", "type"):
            yield f"{word}s, {key}: {_written(value)}"


def _sorted(value: object) -> list[tuple[str, object]]:
    return sorted(cast("dict[str, object]", value).items()) if isinstance(value, dict) else []


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
