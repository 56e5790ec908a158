"""Judges a changed schema: what can be passed that could not be, and which texts changed."""

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple, cast

from remit.decision.danger import Danger, word_danger
from remit.inspection.tool_mentions import InspectedDefinition
from remit.text.untrusted_text import one_line
from remit.text.words import split
from remit.trust.text_change import ChangePoint, addressing_points, name_points, text_points

Schema = dict[str, object]

_NAMING = ("properties", "$defs", "definitions", "patternProperties")
_TEXTS = ("description", "title", "$comment")
_MOST = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_LEAST = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_FLAGS = ("deprecated", "readOnly", "writeOnly")  # allow nothing and forbid nothing
_SCHEMA = re.compile(r"https?://json-schema\.org/(?:draft/)?[\w-]+/schema#?")
_KNOWN_FORMATS = """
    date-time date time duration email idn-email hostname idn-hostname ipv4 ipv6 uri uri-reference iri
    iri-reference uri-template uuid json-pointer relative-json-pointer regex int32 int64 float double
    byte binary
"""
_FORMATS = frozenset(_KNOWN_FORMATS.split())
_LIMITS = frozenset({*_MOST, *_LEAST, *_FLAGS, "multipleOf", "uniqueItems", "format", "$schema"})
_CLOSED = frozenset(map(json.dumps, ("boolean", "integer", "number", "null")))  # types that carry no text
_PLAIN = _LIMITS.union(_TEXTS, ("type", "enum", "default"))  # keywords of a schema that is closed
_GUARDING = """
    approval approvals approve approved ask backup check checks confirm confirmation confirmed
    consent dry dryrun interactive preview prompt readonly rehearsal review safe safety sandbox
    sandboxed simulate simulation undo validate validation verification verify
"""
_GUARDS = frozenset(_GUARDING.split())  # words of parameters that make a call safer
_SHORT = 3  # words of a name
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
            yield from self._required(_listed(before), _listed(after), old, new)
        elif key == "enum" and before is not None and after is not None:
            yield from self._enum(_listed(after) - _listed(before), name)
        elif key == "additionalProperties" and after is False:
            yield ChangePoint(self.place, False, f"{name} takes no other keys")
        elif key in _LIMITS:
            matters = (after is not None and _is_text(key, after)) or (
                self.is_input and _is_looser(key, before, after)
            )
            yield ChangePoint(self.place, matters, f"{name} has another `{key}`")
        elif key == "type" and _listed(after) and _listed(after) <= _listed(before):
            yield ChangePoint(self.place, False, f"{name} takes fewer types")
        elif isinstance(before, dict) and isinstance(after, dict):
            yield from self.points(cast("Schema", before), cast("Schema", after), name)
        else:
            shown = one_line(key, _LONGEST)
            matters = self.is_input or (key == "$id" and after is not None)
            yield ChangePoint(self.place, matters, f"{name} has another `{shown}`")

    def _named(self, old: Schema, new: Schema, parent: Schema, label: str) -> Iterator[ChangePoint]:
        required = _listed(parent.get("required"))
        for name, schema in new.items():
            shown = f"{label}.{one_line(name, _LONGEST)}" if label else f"`{one_line(name, _LONGEST)}`"
            if name in old:
                yield from self.points(old[name], schema, shown)
                continue
            yield from self._says(f"the name {shown}", name)
            for value in _choices(schema):
                yield from self._says(f"a choice of {shown}", value)
            if not self.is_input:
                text = " ".join(map(str, _texts_of(schema).values()))
                yield from addressing_points(self.place, f"the text of {shown}", "", text, self.subject)
                yield ChangePoint(self.place, False, f"new result {shown}")
            elif json.dumps(name) in required or not _is_closed(schema) or _is_dangerous(name):
                yield ChangePoint(
                    "new parameter", True, f"new parameter {shown} can carry data to the server"
                )
            else:
                for key, text in _texts_of(schema).items():
                    what = f"the {key} of {shown}"
                    yield from addressing_points("new parameter", what, "", str(text), self.subject)
                yield ChangePoint("new parameter", False, f"new optional parameter {shown}")
        for name in (name for name in old if name not in new):
            matters = self.is_input and _is_guard(name)
            yield ChangePoint(self.place, matters, f"parameter `{one_line(name, _LONGEST)}` is gone")

    def _required(self, before: set[str], after: set[str], old: Schema, new: Schema) -> Iterator[ChangePoint]:
        known = old.get("properties")
        for name in sorted(after - before):
            own = json.loads(name)
            schema = cast("Schema", new.get("properties") or {}).get(str(own))
            if isinstance(known, dict) and own in known:  # else it is reported as new
                matters = self.is_input and not _is_closed(schema)
                yield ChangePoint(
                    self.place, matters, f"parameter `{one_line(str(own), _LONGEST)}` is required"
                )
        if gone := before - after:
            matters = self.is_input and any(_is_guard(str(json.loads(name))) for name in gone)
            yield ChangePoint(self.place, matters, "fewer parameters are required")

    def _enum(self, values: set[str], name: str) -> Iterator[ChangePoint]:
        told = [str(json.loads(value)) for value in sorted(values)]
        for value in told:
            yield from self._says(f"a choice of {name}", value)
        what = f"{name} takes {one_line(', '.join(told), _LONGEST)}" if told else f"{name} takes fewer values"
        yield ChangePoint(self.place, self.is_input and bool(told), what)

    def _says(self, label: str, name: str) -> Iterator[ChangePoint]:
        """Judge a new name or choice; a short one in a result, such as `next_token`, only names a value."""
        if self.is_input or split(name).count(" ") >= _SHORT:
            yield from name_points(self.place, label, name, self.subject)


def _listed(value: object) -> set[str]:
    """Return the values of a list, or of a single value, as JSON."""
    if value is None:
        return set()
    return {
        json.dumps(each, sort_keys=True)
        for each in (cast("list[object]", value) if isinstance(value, list) else [value])
    }


def _is_text(key: str, value: object) -> bool:
    """Return whether a keyword's value is something else than the keyword is for, such as a text."""
    if key == "format":
        return not (isinstance(value, str) and value in _FORMATS)
    if key == "$schema":
        return not (isinstance(value, str) and _SCHEMA.fullmatch(value))
    return not isinstance(value, bool | int | float)


def _is_looser(key: str, before: object, after: object) -> bool:
    """Return whether a keyword allows values that it did not allow before; new limits allow fewer."""
    if before is None or key in _FLAGS or key == "$schema":
        return False
    if isinstance(before, bool) or isinstance(after, bool):
        return bool(before) and not after
    if isinstance(before, int | float) and isinstance(after, int | float):
        return (key not in _LEAST and after > before) or (key not in _MOST and after < before)
    return True


def _is_closed(schema: object) -> bool:
    """Return whether neither a schema nor its values can carry a text, besides its description."""
    fields = cast("Schema", schema) if isinstance(schema, dict) else {}
    if not isinstance(fields.get("default"), bool | int | float | None):
        return False
    if not _PLAIN.issuperset(fields) or any(
        _is_text(key, fields[key]) for key in _LIMITS.intersection(fields)
    ):
        return False
    types = _listed(fields.get("type"))
    return "enum" in fields or (bool(types) and types <= _CLOSED)


def _choices(schema: object) -> list[str]:
    fields = cast("Schema", schema) if isinstance(schema, dict) else {}
    return [str(json.loads(value)) for value in sorted(_listed(fields.get("enum")))]


def _is_dangerous(name: str) -> bool:
    """Return whether a name is a verb that changes something, or has a word for destroying something."""
    rated = map(word_danger, split(name).lower().split())
    destroys = any(each is not None and each.level >= Danger.DESTRUCTIVE for each in rated)
    return destroys or word_danger(name.lower()) is not None


def _is_guard(name: str) -> bool:
    """Return whether a parameter's name says that it makes a call safer, such as `dryRun`."""
    words = split(name).lower().split()
    return not _GUARDS.isdisjoint({*words, *map("".join, pairwise(words))})


def _texts_of(schema: object) -> Schema:
    fields = cast("Schema", schema) if isinstance(schema, dict) else {}
    return {key: value for key, value in fields.items() if key in _TEXTS}
