"""Checks the values that callers send to memory, and names the rule that a value breaks."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from enum import StrEnum
from typing import TypeVar, cast

from remit.errors import ArtifactError
from remit.memory.artifacts import moment
from remit.memory.memory_scopes import MAX_ID
from remit.text.secrets import is_secret
from remit.text.spelling import did_you_mean

MAX_TEXT = 20_000  # characters
MAX_LINE = 2_000
MAX_NAME = 300
MAX_ITEMS = 100
MAX_BATCH = 50  # decisions, or patterns, in one call
MAX_QUERY = 2_000
MAX_RELATED = 50
MAX_SURFACED = 50  # artifacts that a search returns
DEFAULT_SURFACED = 5

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_MAX_SHOWN = 40  # characters of an invalid value that an error repeats

Choice = TypeVar("Choice", bound=StrEnum)


def checked_text(value: object, field: str, most: int) -> str:
    """Check a text.

    Raises:
        ArtifactError: it is not a text, is empty or too long, or contains a secret.
    """
    if not isinstance(value, str):
        raise ArtifactError(field, "a text", shown(value))
    if not value.strip():
        raise ArtifactError(field, "non-empty text", "empty")
    if len(value) > most:
        raise ArtifactError(field, f"text of at most {most:,} characters", f"{len(value):,} characters long")
    if "\0" in value or not _is_whole(value):
        raise ArtifactError(field, "valid text", "text with a null character or half a character")
    if is_secret(value):
        raise ArtifactError(
            field,
            "a text without secrets",
            "one that holds a secret",
            hint="say where it is kept, not what it is",
        )
    return value


def checked_id(value: object) -> str:
    """Check the id of a project or the name of a focus area.

    Raises:
        ArtifactError: it is not a valid name.
    """
    rule = f"a text of 1 to {MAX_ID} printable characters, without slashes and outer spaces"
    if not isinstance(value, str):
        raise ArtifactError("", rule, shown(value))
    if not value or len(value) > MAX_ID:
        raise ArtifactError("", rule, f"{len(value):,} characters long")
    if not value.isprintable() or "/" in value or "\\" in value or value != value.strip():
        raise ArtifactError("", rule, shown(value))
    return value


def checked_choice(value: object, choices: type[Choice]) -> Choice:
    """Check the value of an enumeration member.

    Raises:
        ArtifactError: it is not one of the values.
    """
    words = [each.value for each in choices]
    if not isinstance(value, str) or value not in words:
        hint = did_you_mean(value, words) if isinstance(value, str) else None
        raise ArtifactError("", f"one of {', '.join(words)}", shown(value), hint=hint)
    return choices(value)


def checked_share(value: object) -> float:
    """Check a number from 0 to 1.

    Raises:
        ArtifactError: it is anything else.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= cast("float", value) <= 1:
        raise ArtifactError("", "a number from 0 to 1", shown(value))
    return cast("float", value)


def checked_whole(value: object, least: int, most: int) -> int:
    """Check a whole number.

    Raises:
        ArtifactError: it is anything else, too small or too large.
    """
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ArtifactError("", f"a whole number from {least} to {most}", shown(value))
    return value


def checked_flag(value: object) -> bool:
    """Check a boolean.

    Raises:
        ArtifactError: it is anything else.
    """
    if not isinstance(value, bool):
        raise ArtifactError("", "true or false", shown(value))
    return value


def checked_day(value: object) -> str:
    """Check a date.

    Raises:
        ArtifactError: it is anything else.
    """
    return _parsed(value, _day, "a date as YYYY-MM-DD")


def checked_time(value: object) -> str | None:
    """Check a time, or null if something never happened.

    Raises:
        ArtifactError: it is anything else.
    """
    return None if value is None else _parsed(value, _time, "a time in ISO 8601, or null")


def checked_list(value: object, most: int) -> list[object]:
    """Check that a value is a list and not too long.

    Raises:
        ArtifactError: it is not a list, or too long.
    """
    if not isinstance(value, list | tuple):
        raise ArtifactError("", "a list", shown(value))
    found = list(cast("Sequence[object]", value))
    if len(found) > most:
        raise ArtifactError("", f"a list of at most {most}", f"a list of {len(found):,}")
    return found


def checked_properties(given: object) -> dict[str, object]:
    """Check that properties are an object with scalar values.

    Raises:
        ArtifactError: they are anything else.
    """
    if not isinstance(given, Mapping):
        raise ArtifactError("", "an object", shown(given))
    found: dict[str, object] = {}
    for key, value in cast("Mapping[object, object]", given).items():
        name = checked_text(key, "", MAX_NAME)
        if isinstance(value, str):
            checked_text(value, f".{name}", MAX_LINE)
        elif value is not None and not isinstance(value, bool | int | float):
            raise ArtifactError(f".{name}", "a text, a number, true, false or null", shown(value))
        elif value != value or value in (float("inf"), float("-inf")):
            raise ArtifactError(f".{name}", "a number that JSON can write", shown(value))
        found[name] = value
    if len(found) > MAX_ITEMS:
        raise ArtifactError("", f"an object of at most {MAX_ITEMS} members", f"an object of {len(found):,}")
    return found


def shown(value: object, *, quoted: bool = True) -> str:
    """Describe an invalid value briefly and without secrets."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, str):
        short = value if len(value) <= _MAX_SHOWN else f"{value[:_MAX_SHOWN]}..."
        plain = "".join(char if char.isprintable() else "?" for char in short)
        if is_secret(value[:MAX_TEXT]):
            return "a secret"
        return f'"{plain}"' if quoted else plain
    return (
        "null"
        if value is None
        else str(value).lower()
        if isinstance(value, bool)
        else str(value)[:_MAX_SHOWN]
    )


def _parsed(value: object, parse: Callable[[str], object], rule: str) -> str:
    try:
        parse(cast("str", value))
    except (TypeError, ValueError, OverflowError):
        raise ArtifactError("", rule, shown(value)) from None
    return cast("str", value)


def _day(text: str) -> object:
    if not _DATE.fullmatch(text):
        raise ValueError
    return date.fromisoformat(text)


def _time(text: str) -> object:
    if len(text) > MAX_ID or moment(text) < 0:
        raise ValueError
    return moment(text)


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
