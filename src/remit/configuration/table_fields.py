"""Reads tables of a configuration file with type checks, and collects all mistakes.

Mistakes never contain values, because a misplaced value may be a secret.
"""

import re
from collections.abc import Callable, Collection, Iterable
from math import isfinite
from typing import TypeVar, cast

from remit.configuration.config_model import ConfigurationMistake, KeyPath
from remit.configuration.detector_kinds import Scalar
from remit.text.json_values import as_object
from remit.text.spelling import did_you_mean

Read = TypeVar("Read")

_MOST_KEYS = 2000  # per table
_MOST_ITEMS = 500  # per list
_MOST_CHARACTERS = 4096  # per text


class TableFields:
    """One table of a file; invalid values are reported as mistakes and read as missing."""

    def __init__(self, table: object, path: KeyPath, mistakes: list[ConfigurationMistake]) -> None:
        self.path = path
        self._mistakes = mistakes
        self._table = as_object(table)
        if not isinstance(table, dict):
            self.note("", f"expected a table, found {kind(table)}")
        elif len(self._table) > _MOST_KEYS:
            self.note("", f"{len(self._table):,} keys; at most {_MOST_KEYS:,} are read")
            self._table = {}

    def __contains__(self, name: str) -> bool:
        return name in self._table

    def note(self, name: str, message: str, hint: str | None = None) -> None:
        """Report a mistake at a key, or for the whole table."""
        path = (*self.path, name) if name else self.path
        self._mistakes.append(ConfigurationMistake(path, message, hint))

    def only(self, known: Collection[str]) -> None:
        """Report every unknown key."""
        for name in self._table:
            if name not in known:
                hint = did_you_mean(name, known) or f"expected one of {listed(sorted(known))}"
                self.note(name, f"`{name}` is not a known key", hint)

    def given(self, names: Iterable[str]) -> list[str]:
        """List the given keys that are present."""
        return [name for name in names if name in self._table]

    def tables(self, name: str) -> "list[tuple[str, TableFields]]":
        """Read a table of tables; empty if missing."""
        return self.table(name).own_tables()

    def own_tables(self) -> "list[tuple[str, TableFields]]":
        """Read each value of this table as a table."""
        return [(key, self.table(key)) for key in self._table]

    def rows(self, name: str) -> "list[TableFields]":
        """Read a list of tables, numbered from 1; empty if missing."""
        value = self._table.get(name, [])
        if not isinstance(value, list):
            self.note(name, f"expected tables, each as `[[{name}]]`, found {kind(value)}")
            return []
        items = cast("list[object]", value)
        if len(items) > _MOST_ITEMS:
            self.note(name, f"{len(items):,} items; at most {_MOST_ITEMS:,} are read")
            return []
        return [
            TableFields(item, (*self.path, name, str(at)), self._mistakes)
            for at, item in enumerate(items, start=1)
        ]

    def names(self) -> list[str]:
        """List all keys."""
        return list(self._table)

    def table(self, name: str) -> "TableFields":
        """Read a table; empty if missing."""
        return TableFields(self._table.get(name, {}), (*self.path, name), self._mistakes)

    def is_table(self, name: str) -> bool:
        """Return whether a key is present and holds a table."""
        return isinstance(self._table.get(name), dict)

    def is_list(self, name: str) -> bool:
        """Return whether a key is present and holds a list."""
        return isinstance(self._table.get(name), list)

    def says(self, name: str, word: str) -> bool:
        """Return whether a key holds exactly this word."""
        return self._table.get(name) == word

    def text(self, name: str) -> str | None:
        """Read a non-empty text; None if missing."""
        value = self._table.get(name)
        if value is None:
            return None
        problem = _text_problem(value)
        if problem is None:
            return cast(str, value)
        self.note(name, problem)
        return None

    def texts(self, name: str) -> tuple[str, ...] | None:
        """Read a list of texts; None if missing."""
        value = self._table.get(name)
        if value is None:
            return None
        if not isinstance(value, list):
            hint = f'write `{name} = ["…"]`' if isinstance(value, str) else None
            self.note(name, f"expected a list of texts, found {kind(value)}", hint)
            return ()
        items = cast("list[object]", value)
        if len(items) > _MOST_ITEMS:
            self.note(name, f"{len(items):,} items; at most {_MOST_ITEMS:,} are read")
            return ()
        for at, item in enumerate(items, start=1):
            if problem := _text_problem(item):
                self.note(name, f"item {at}: {problem}")
                return ()
        return tuple(cast("list[str]", items))

    def text_or_texts(self, name: str) -> tuple[str, ...]:
        """Read one text or a list of texts; empty if missing."""
        if name in self._table and not isinstance(self._table[name], list):
            one = self.text(name)
            return () if one is None else (one,)
        return self.texts(name) or ()

    def flag(self, name: str) -> bool | None:
        """Read a boolean; None if missing."""
        return self._checked(name, lambda value: isinstance(value, bool), "true or false")

    def whole(self, name: str, least: int, most: int) -> int | None:
        """Read an integer within bounds; None if missing."""
        words = f"a whole number from {least:,} to {most:,}"
        return self._checked(name, lambda value: type(value) is int and least <= value <= most, words)

    def wholes(self, name: str, least: int, most: int) -> tuple[int, ...]:
        """Read one integer or a list of them within bounds; empty if missing."""
        value = self._table.get(name, [])
        numbers = cast("list[object]", value) if isinstance(value, list) else [value]
        if all(type(each) is int and least <= each <= most for each in numbers) and len(numbers) <= 20:
            return tuple(cast("list[int]", numbers))
        self.note(name, f"expected whole numbers from {least:,} to {most:,}, at most 20 of them")
        return ()

    def seconds(self, name: str, default: float, most: float) -> float:
        """Read a time in seconds, above 0 and at most `most`."""
        words = f"a number of seconds above 0 and up to {most:g}"
        value: int | float | None = self._checked(name, lambda each: _is_number(each, most), words)
        return default if value is None else float(value)

    def days(self, name: str) -> int | None:
        """Read a number of days such as `400d` as milliseconds; None if missing."""
        value: str | None = self._checked(name, _is_days, "a number of days such as `400d`, up to `9999d`")
        return None if value is None else int(value[:-1]) * 86_400_000

    def scalar(self, name: str) -> Scalar | None:
        """Read a text, a finite number or a boolean; None if missing."""
        return self._checked(name, _is_scalar, "a single value")

    def one_of(self, name: str, words: Collection[str]) -> str | None:
        """Read one of the given words; None if missing."""
        value = self._table.get(name)
        if value is None or value in words:
            return cast("str | None", value)
        hint = did_you_mean(value, words) if isinstance(value, str) else None
        self.note(name, f"expected one of {listed(words)}", hint)
        return None

    def _checked(self, name: str, is_good: Callable[[object], bool], words: str) -> "Read | None":  # pyright: ignore[reportInvalidTypeVarUse] - the caller's check determines the type
        value = self._table.get(name)
        if value is None or is_good(value):
            return cast("Read | None", value)
        self.note(name, f"expected {words}, found {kind(value)}")
        return None


def listed(words: Iterable[str]) -> str:
    """Format words as code, separated by commas."""
    return ", ".join(f"`{word}`" for word in words)


def kind(value: object) -> str:
    """Return the name of a value's type, without showing the value."""
    match value:
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case dict():
            return "a table"
        case _:
            return "a date or time"


def _text_problem(value: object) -> str | None:
    if not isinstance(value, str):
        return f"expected text, found {kind(value)}"
    if not value:
        return "the text is empty"
    if len(value) > _MOST_CHARACTERS:
        return f"{len(value):,} characters; at most {_MOST_CHARACTERS:,} are read"
    return "the text has a null character" if "\0" in value else None


def _is_days(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[1-9]\d{0,3}d", value) is not None


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | int) or (isinstance(value, float) and isfinite(value))


def _is_number(value: object, most: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= most
