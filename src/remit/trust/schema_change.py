"""Judges a changed schema: harmless is the same text, and what leaves a reading tool with fewer choices.

Whatever else changes is held: a new word in any place, a call that carries more or must carry more, a guard,
and everything below `not`, `if`, `$defs` and other keywords, where less of one thing may allow another.
"""

import json
import math
from collections.abc import Iterator
from itertools import pairwise, repeat
from typing import NamedTuple, cast

from remit.inspection.tool_mentions import InspectedDefinition
from remit.text.untrusted_text import one_line
from remit.text.words import split
from remit.trust.same_text import same_text
from remit.trust.text_change import ChangePoint, text_point

Schema = dict[str, object]

_TEXTS = ("description", "title", "$comment")
_VALUES = ("default", "const", "enum", "examples")  # data, in which every character counts
_MOST = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_DIALECTS = frozenset(
    {
        "http://json-schema.org/draft-07/schema",
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
    }
)
_GUARDING = """
    anonymize approval approvals approve approved ask backup check checks confirm confirmation confirmed
    consent dry dryrun exclude filter hide ignore interactive mask omit preview prompt readonly redact
    rehearsal review safe safety sandbox sandboxed sanitize simulate simulation skip strict undo validate
    validation verification verify
"""
_GUARDS = frozenset(_GUARDING.split())  # words of parameters that make a call safer
_LONGEST = 60  # characters of a parameter's name
_NULL = '"null"'


class SchemaChange(NamedTuple):
    """Compares one schema with another, for the tool that has the new one."""

    place: str  # `parameter`, or `output schema`
    subject: InspectedDefinition
    may_narrow: bool  # for parameters of a tool that only reads
    may_vary: bool  # for texts of a tool that only reads

    def points(self, before: object, after: object, label: str = "") -> Iterator[ChangePoint]:
        """List the differences."""
        if is_same(before, after):
            return
        if not (isinstance(before, dict) and isinstance(after, dict)):
            yield ChangePoint(self.place, True, f"{label or self.place} has another schema")
            return
        old, new = cast("Schema", before), cast("Schema", after)
        for key in (*old, *(key for key in new if key not in old)):
            if key not in old or key not in new or not is_same(old[key], new[key]):
                yield from self._keyword(key, old, new, label)

    def _keyword(self, key: str, old: Schema, new: Schema, label: str) -> Iterator[ChangePoint]:
        before, after, name = old.get(key), new.get(key), label or self.place
        if key == "properties" and isinstance(before or {}, dict) and isinstance(after or {}, dict):
            yield from self._properties(old, new, label)
        elif key in _TEXTS and isinstance(before or "", str) and isinstance(after or "", str):
            texts = str(before or ""), str(after or "")
            what = f"the {key} of {name}"
            yield text_point(self.place, what, *texts, self.subject, may_vary=self.may_vary)
        elif key in old and key in new and self._has_same_texts(key, before, after):
            yield ChangePoint(self.place, False, f"{name} has the same words")
        else:
            is_harmless = _is_dialect(key, new) or (self.may_narrow and _is_narrower(key, old, new))
            yield ChangePoint(self.place, not is_harmless, f"{name} has another `{one_line(key, _LONGEST)}`")

    def _properties(self, old: Schema, new: Schema, label: str) -> Iterator[ChangePoint]:
        before, after = (cast("Schema", each.get("properties") or {}) for each in (old, new))
        for name, schema in after.items():
            shown = f"{label}.{one_line(name, _LONGEST)}" if label else f"`{one_line(name, _LONGEST)}`"
            if name in before:
                own = self._replace(may_narrow=self.may_narrow and not is_guard(name))
                yield from own.points(before[name], schema, shown)
            elif self.place == "parameter":
                what = f"new parameter {shown} can carry data to the server"
                yield ChangePoint("new parameter", True, what)
            else:
                yield ChangePoint(self.place, True, f"{self.place} has the new field {shown}")
        for name in (name for name in before if name not in after):  # it may have limited a call
            what = "parameter" if self.place == "parameter" else "field"
            yield ChangePoint(self.place, True, f"{what} `{one_line(name, _LONGEST)}` is gone")

    def _has_same_texts(self, key: str, before: object, after: object) -> bool:
        """Return whether two values differ only in descriptions and titles that say the same."""
        if key in _VALUES:
            return is_same(before, after)
        if key in _TEXTS and isinstance(before, str) and isinstance(after, str):
            return same_text(before, after, may_vary=self.may_vary)
        if isinstance(before, dict) and isinstance(after, dict):
            old, new = cast("Schema", before), cast("Schema", after)
            same = (self._has_same_texts(each, old[each], new.get(each)) for each in old)
            return old.keys() == new.keys() and all(same)
        if isinstance(before, list) and isinstance(after, list):
            olds, news = cast("list[object]", before), cast("list[object]", after)
            return len(olds) == len(news) and all(map(self._has_same_texts, repeat(""), olds, news))
        return is_same(cast("object", before), after)


def is_same(before: object, after: object) -> bool:
    """Return whether two JSON values are equal; unlike in Python, `true` is not 1."""
    return _written(before) == _written(after)


def is_guard(name: str) -> bool:
    """Return whether a parameter's name or choice says that it makes a call safer, such as `dryRun`."""
    words = split(name).lower().split()
    return not _GUARDS.isdisjoint({*words, *map("".join, pairwise(words))})


def _is_narrower(key: str, old: Schema, new: Schema) -> bool:
    """Return whether a keyword allows less than before, and still something; what forces more is not less."""
    before, after = old.get(key), new.get(key)
    if key in _MOST:
        limit, most = _number(after), math.inf if before is None else _number(before)
        return 0 < limit < most
    if key == "enum":
        gone, stays = _listed(before) - _listed(after), _listed(old.get("default")) & _listed(after)
        # Without a default, the choice that is gone may be the one that people relied on.
        return stays != set() and _listed(after) < _listed(before) and not any(map(is_guard, gone))
    if key == "type":
        return set() < _listed(after) - {_NULL} and _listed(after) < _listed(before)
    return key == "additionalProperties" and after is False


def _is_dialect(key: str, new: Schema) -> bool:
    """Return whether a schema only names its dialect; dialects differ in what applies beside a `$ref`."""
    return key == "$schema" and str(new.get(key)) in _DIALECTS and '"$ref"' not in _written(new)


def _number(value: object) -> float:
    """Return a limit as a number; what is none, such as `true`, compares with nothing."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else math.nan


def _listed(value: object) -> set[str]:
    """Return the values of a list, or of a single value, as JSON."""
    if value is None:
        return set()
    return {_written(each) for each in (cast("list[object]", value) if isinstance(value, list) else [value])}


def _written(value: object) -> str:
    return json.dumps(value, sort_keys=True)
