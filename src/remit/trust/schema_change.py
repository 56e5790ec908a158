"""Judges a changed schema: what can be passed that could not be, and which texts changed."""

import json
from collections.abc import Iterator
from typing import NamedTuple, cast

from remit.decision.danger import word_danger
from remit.inspection.tool_mentions import InspectedDefinition
from remit.text.foreign import one_line
from remit.text.words import split
from remit.trust.text_change import ChangePoint, addressing_points, text_points

Schema = dict[str, object]

_NAMING = ("properties", "$defs", "definitions", "patternProperties")
_TEXTS = ("description", "title", "$comment")
_CLOSED = frozenset({"boolean", "integer", "number", "null"})  # types that cannot carry a text
_KEYWORDS = """
    minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems maxItems
    uniqueItems minProperties maxProperties format $schema $id deprecated readOnly writeOnly
"""
_LIMITS = frozenset(_KEYWORDS.split())  # neither carry a text nor open a schema
_GUARDS = frozenset({"confirm", "confirmed", "confirmation", "dry_run", "dryrun", "preview"})
_LONGEST = 60  # characters of a parameter's name


class SchemaChange(NamedTuple):
    """Compares one schema with another, for the tool that has the new one."""

    place: str  # `parameter`, or `output schema`
    subject: InspectedDefinition
    is_input: bool = True  # what is passed matters; of an output, only its texts do

    def points(self, before: object, after: object, label: str = "") -> Iterator[ChangePoint]:
        """List the differences."""
        if before == after:
            return
        if not (isinstance(before, dict) and isinstance(after, dict)):
            yield ChangePoint(self.place, self.is_input, f"{label or self.place} has another schema")
            return
        old, new = cast("Schema", before), cast("Schema", after)
        for key in (*old, *(key for key in new if key not in old)):
            if old.get(key) != new.get(key):
                yield from self._keyword(key, old, new, label)

    def _keyword(self, key: str, old: Schema, new: Schema, label: str) -> Iterator[ChangePoint]:
        before, after, name = old.get(key), new.get(key), label or self.place
        if key in _NAMING and isinstance(before or {}, dict) and isinstance(after or {}, dict):
            yield from self._named(cast("Schema", before or {}), cast("Schema", after or {}), new, label)
        elif key in _TEXTS and isinstance(before or "", str) and isinstance(after or "", str):
            texts = str(before or ""), str(after or "")
            yield from text_points(self.place, f"the {key} of {name}", *texts, self.subject)
        elif key == "required":
            yield from self._required(_listed(after) - _listed(before), old, new)
        elif key == "enum" and before is not None and after is not None:
            yield from self._enum(_listed(after) - _listed(before), name)
        elif key == "additionalProperties" and after is False:
            yield ChangePoint(self.place, False, f"{name} takes no other keys")
        elif key in _LIMITS and not (isinstance(after, str) and " " in after):
            yield ChangePoint(self.place, False, f"{name} has another `{key}`")
        elif key == "type" and _listed(after) and _listed(after) <= _listed(before):
            yield ChangePoint(self.place, False, f"{name} takes fewer types")
        elif isinstance(before, dict) and isinstance(after, dict):
            yield from self.points(cast("Schema", before), cast("Schema", after), name)
        else:
            shown = one_line(key, _LONGEST)
            yield ChangePoint(self.place, self.is_input, f"{name} has another `{shown}`")

    def _named(self, old: Schema, new: Schema, parent: Schema, label: str) -> Iterator[ChangePoint]:
        required = _listed(parent.get("required"))
        for name, schema in new.items():
            shown = f"{label}.{one_line(name, _LONGEST)}" if label else f"`{one_line(name, _LONGEST)}`"
            if name in old:
                yield from self.points(old[name], schema, shown)
            elif not self.is_input:
                text = " ".join(map(str, _texts_of(schema).values()))
                yield from addressing_points(self.place, f"the text of {shown}", "", text, self.subject)
                yield ChangePoint(self.place, False, f"new result {shown}")
            elif json.dumps(name) in required or not _is_closed(schema) or word_danger(name.lower()):
                yield ChangePoint(
                    "new parameter", True, f"new parameter {shown} can carry data to the server"
                )
            else:
                for key, text in _texts_of(schema).items():
                    label = f"the {key} of {shown}"
                    yield from addressing_points("new parameter", label, "", str(text), self.subject)
                yield ChangePoint("new parameter", False, f"new optional parameter {shown}")
        for name in (name for name in old if name not in new):
            is_guard = self.is_input and name.lower().replace("-", "_") in _GUARDS
            yield ChangePoint(self.place, is_guard, f"parameter `{one_line(name, _LONGEST)}` is gone")

    def _required(self, names: set[str], old: Schema, new: Schema) -> Iterator[ChangePoint]:
        known = old.get("properties")
        for name in sorted(names):
            own = json.loads(name)
            schema = cast("Schema", new.get("properties") or {}).get(str(own))
            if isinstance(known, dict) and own in known:  # else it is reported as new
                matters = self.is_input and not _is_closed(schema)
                yield ChangePoint(
                    self.place, matters, f"parameter `{one_line(str(own), _LONGEST)}` is required"
                )
        if not names:
            yield ChangePoint(self.place, False, "fewer parameters are required")

    def _enum(self, values: set[str], name: str) -> Iterator[ChangePoint]:
        told = [str(json.loads(value)) for value in sorted(values)]
        dangerous = any(word_danger(word) for value in told for word in split(value).lower().split())
        is_text = any(value.count(" ") > 2 for value in told)
        what = f"{name} takes {one_line(', '.join(told), _LONGEST)}" if told else f"{name} takes fewer values"
        yield ChangePoint(self.place, self.is_input and (dangerous or is_text), what)


def _listed(value: object) -> set[str]:
    """Return the values of a list, or of a single value, as JSON."""
    if value is None:
        return set()
    return {
        json.dumps(each, sort_keys=True)
        for each in (cast("list[object]", value) if isinstance(value, list) else [value])
    }


def _is_closed(schema: object) -> bool:
    """Return whether values of a schema cannot carry a text."""
    fields = cast("Schema", schema) if isinstance(schema, dict) else {}
    if fields.get("default") is not None and isinstance(fields["default"], str):
        return False
    types = {json.loads(each) for each in _listed(fields.get("type"))}
    return "enum" in fields or (bool(types) and types <= _CLOSED)


def _texts_of(schema: object) -> Schema:
    fields = cast("Schema", schema) if isinstance(schema, dict) else {}
    return {key: value for key, value in fields.items() if key in _TEXTS}
