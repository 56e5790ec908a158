"""Types of configuration values: each checks a value, and has the words for messages and the reference page.

Messages never show values, because a misplaced value may be a secret.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias, cast

from remit.text import did_you_mean

KeyPath = tuple[str, ...]

_MOST_KEYS = 2000  # of a table
_MOST_ITEMS = 500  # of a list
_MOST_CHARACTERS = 4096  # of a text
_KINDS: dict[type, str] = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "a table",
}
_Problem = str | tuple[str, str] | None  # a message, perhaps with a hint


class Mistake(NamedTuple):
    """A mistake in a file, with the keys that lead to it."""

    path: KeyPath
    message: str
    hint: str | None = None
    line: int = 0  # within the value, from 1; 0: the whole value
    column: int = 0
    is_ignored: bool = False  # the file may not set this: the rest of it counts


class Value(NamedTuple):
    """A single value or a list of texts."""

    words: str
    kinds: tuple[type, ...]
    test: Callable[[Any], _Problem] = lambda _: None
    example: str | None = None  # a hint if the value is of another type
    order: Sequence[str] = ()  # the words it may be, lowest first

    def check(self, value: object, path: KeyPath, *, is_projects: bool = False) -> Iterator[Mistake]:
        """List the mistakes in a value."""
        del is_projects
        if type(value) not in self.kinds:
            yield Mistake(path, f"expected {self.words}, found {kind(value)}", self.example)
        elif problem := self.test(value):
            yield Mistake(path, *_parts(problem))


class Either(NamedTuple):
    """A value of one of several types, which TOML tells apart."""

    types: "Sequence[Type]"

    @property
    def words(self) -> str:
        """What a value must be."""
        return ", or ".join(option.words for option in self.types)

    @property
    def kinds(self) -> tuple[type, ...]:
        """The types that TOML gives such a value."""
        return tuple(kind for option in self.types for kind in option.kinds)

    def check(self, value: object, path: KeyPath, *, is_projects: bool = False) -> Iterable[Mistake]:
        """List the mistakes in a value."""
        for option in self.types:
            if type(value) in option.kinds:
                return option.check(value, path, is_projects=is_projects)
        return [Mistake(path, f"expected {self.words}, found {kind(value)}")]


class ProjectRight(StrEnum):
    """What a project's file may do with a key."""

    SET = "yes"
    NARROW = "only to narrow"
    ASK = "after `remit trust`"
    NOTHING = "no"


class Merge(StrEnum):
    """How the values of several files combine."""

    NEAREST = "the strongest file"
    ADD = "all files"
    LEAST = "the lowest value"


class ConfigKey(NamedTuple):
    """A key of a configuration file."""

    name: str
    type: "Type"
    meaning: str
    default: str = ""
    project: ProjectRight = ProjectRight.SET
    merge: Merge = Merge.NEAREST
    refused: tuple[object, ...] = ()  # values that a project's file may not set
    aliases: tuple[str, ...] = ()  # words that mean this key elsewhere


class Table(NamedTuple):
    """A table with known keys."""

    keys: Sequence[ConfigKey]
    words: str = "a table"
    rules: Callable[[Mapping[str, Any]], Iterable[Mistake]] = lambda _: ()  # about several keys
    gone: Mapping[str, str] = {}  # keys that do not exist (any more), and what to write instead
    kinds: tuple[type, ...] = (dict,)

    def check(self, value: object, path: KeyPath = (), *, is_projects: bool = False) -> Iterator[Mistake]:
        """List the mistakes in a table, and in the values in it."""
        if not isinstance(value, dict):
            yield Mistake(path, f"expected {self.words}, found {kind(value)}")
            return
        table = cast("dict[str, Any]", value)
        keys = {key.name: key for key in self.keys}
        is_sound = True
        for name, inner in table.items():
            key = keys.get(name)
            if key is None:
                yield self._unknown(name, (*path, name), keys)
            elif is_projects and (key.project is ProjectRight.NOTHING or _is_refused(inner, key)):
                is_all = key.project is ProjectRight.NOTHING
                message = "this" if is_all else f"this to {' or '.join(map(_written, key.refused))}"
                yield Mistake((*path, name), f"a project's file cannot set {message}", is_ignored=True)
            else:
                mistakes = [*key.type.check(inner, (*path, name), is_projects=is_projects)]
                is_sound = is_sound and not mistakes
                yield from mistakes
        if is_sound:
            for mistake in self.rules(table):
                yield mistake._replace(path=(*path, *mistake.path))

    def _unknown(self, name: str, path: KeyPath, keys: Mapping[str, ConfigKey]) -> Mistake:
        if name in self.gone:
            return Mistake(path, f"`{name}` is not supported", self.gone[name])
        meant = next((key.name for key in self.keys if name in key.aliases), None)
        hint = did_you_mean(name, keys) if meant is None else f"did you mean `{meant}`?"
        return Mistake(path, f"unknown key `{name}`", hint or f"expected one of {listed(sorted(keys))}")


class Tables(NamedTuple):
    """A table of tables with names of their own."""

    table: Table
    words: str = "a table for each"
    name_problem: Callable[[str], _Problem] = lambda _: None
    kinds: tuple[type, ...] = (dict,)

    def check(self, value: object, path: KeyPath, *, is_projects: bool = False) -> Iterator[Mistake]:
        """List the mistakes in each table."""
        if not isinstance(value, dict):
            yield Mistake(path, f"expected a table, found {kind(value)}")
            return
        tables = cast("dict[str, object]", value)
        if len(tables) > _MOST_KEYS:
            yield Mistake(path, f"{len(tables):,} keys; at most {_MOST_KEYS:,} are allowed")
            return
        for name, inner in tables.items():
            if problem := self.name_problem(name):
                yield Mistake((*path, name), *_parts(problem))
            yield from self.table.check(inner, (*path, name), is_projects=is_projects)


Type: TypeAlias = Value | Either | Table | Tables


def _parts(problem: str | tuple[str, str]) -> tuple[str, str | None]:
    return (problem, None) if isinstance(problem, str) else problem


def _is_refused(value: object, key: ConfigKey) -> bool:
    return any(value == refused and type(value) is type(refused) for refused in key.refused)


def _written(value: object) -> str:
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def listed(words: Iterable[str]) -> str:
    """Format words as code, separated by commas."""
    return ", ".join(f"`{word}`" for word in words)


def kind(value: object) -> str:
    """Return the name of a value's type, without showing the value."""
    return _KINDS.get(type(value), "a date or time")


FLAG = Value("true or false", (bool,))


def text(words: str = "text", test: Callable[[str], _Problem] = lambda _: None) -> Value:
    """Return the type of a text that passes a test."""

    def problem(value: str) -> _Problem:
        return _text_problem(value) or test(value)

    return Value(words, (str,), problem)


def texts(
    words: str = "a list of texts",
    test: Callable[[str], _Problem] = lambda _: None,
    *,
    least: int = 0,
    most: int = _MOST_ITEMS,
    example: str | None = None,
) -> Value:
    """Return the type of a list of texts that pass a test."""

    def problem(items: list[object]) -> _Problem:
        if not least <= len(items) <= most:
            return f"expected {least} to {most:,} items, found {len(items):,}"
        for at, item in enumerate(items, start=1):
            if not isinstance(item, str):
                return f"item {at}: expected text, found {kind(item)}"
            if wrong := _text_problem(item) or test(item):
                message, hint = _parts(wrong)
                return f"item {at}: {message}" if hint is None else (f"item {at}: {message}", hint)
        return None

    return Value(words, (list,), problem, example)


def whole(least: int, most: int) -> Value:
    """Return the type of a whole number within bounds."""
    words = f"a whole number from {least:,} to {most:,}"

    def problem(value: int) -> _Problem:
        return None if least <= value <= most else f"expected {words}"

    return Value(words, (int,), problem)


def seconds(most: float) -> Value:
    """Return the type of a time in seconds."""
    words = f"a number of seconds above 0 and up to {most:,g}"

    def problem(value: float) -> _Problem:
        return None if 0 < value <= most else f"expected {words}"

    return Value(words, (int, float), problem)


def choice(words: Iterable[str]) -> Value:
    """Return the type of a word out of several."""
    known = tuple(words)

    def problem(value: str) -> _Problem:
        expected = f"expected one of {listed(known)}"
        hint = None if value in known else did_you_mean(value, known)
        return None if value in known else (expected, hint) if hint else expected

    return Value(f"one of {listed(known)}", (str,), problem, order=known)


def _text_problem(value: str) -> _Problem:
    if not value:
        return "the text is empty"
    if len(value) > _MOST_CHARACTERS:
        return f"{len(value):,} characters; at most {_MOST_CHARACTERS:,} are allowed"
    return "the text has a null character" if "\0" in value else None
