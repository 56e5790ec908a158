"""Checking: reads what callers send, and names the field and the rule where it breaks one."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from enum import StrEnum
from typing import TypeVar, cast

from remit.errors import ArtifactError
from remit.memory.artifacts import Artifact, Kind, Related, Relation, artifact, moment
from remit.memory.scope_gate import MAX_ID, MemoryScope
from remit.text.secrets import is_secret
from remit.text.spelling import did_you_mean

MAX_TEXT = 20_000  # characters
MAX_LINE = 2_000
MAX_NAME = 300
MAX_ITEMS = 100
MAX_BATCH = 50  # decisions, or patterns, in one call
MAX_QUERY = 2_000
MAX_RELATED = 50

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_MOST_GOT = 40  # characters of a wrong value that are repeated

Choice = TypeVar("Choice", bound=StrEnum)
_NOTHING = object()


class Fields:
    """The members of an object, taken one by one; those that nobody takes are not known."""

    def __init__(self, given: object, path: str, known: Collection[str]) -> None:
        if not isinstance(given, Mapping):
            raise ArtifactError(path or "arguments", "an object", _shown(given))
        self._given = cast("Mapping[object, object]", given)
        self._path = path
        for key in self._given:
            if key not in known:
                hint = did_you_mean(str(key), known)
                raise ArtifactError(
                    self._at(_shown(key, quoted=False)),
                    f"one of the fields {', '.join(known)}",
                    "unknown",
                    hint=hint,
                )

    def text(self, key: str, most: int, *, is_required: bool = True) -> str | None:
        """Take a text with something in it."""
        value = self._given.get(key)
        if value is None and not is_required:
            return None
        return checked_text(self._required(key), self._at(key), most)

    def required_text(self, key: str, most: int) -> str:
        """Take a text that has to be there."""
        return checked_text(self._required(key), self._at(key), most)

    def texts(self, key: str, default: Sequence[str] | None = None) -> list[str]:
        """Take a list of texts."""
        value = self._given.get(key, _NOTHING) if default is not None else self._required(key)
        if value is _NOTHING:
            return list(default or ())
        items = self.items_of(value, key, MAX_ITEMS)
        return [checked_text(each, f"{self._at(key)}[{at}]", MAX_LINE) for at, each in enumerate(items)]

    def items(self, key: str, most: int) -> list[object] | None:
        """Take a list of anything, where there is one."""
        value = self._given.get(key)
        return None if value is None else self.items_of(value, key, most)

    def items_of(self, value: object, key: str, most: int) -> list[object]:
        """See that a value is a list that is not too long."""
        if not isinstance(value, list | tuple):
            raise ArtifactError(self._at(key), "a list", _shown(value))
        found = list(cast("Sequence[object]", value))
        if len(found) > most:
            raise ArtifactError(self._at(key), f"a list of at most {most}", f"one of {len(found):,}")
        return found

    def share(self, key: str) -> float:
        """Take a number from 0 to 1; 1 where none is given."""
        value = self._given.get(key, 1.0)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 <= cast("float", value) <= 1:
            raise ArtifactError(self._at(key), "a number from 0 to 1", _shown(value))
        return cast("float", value)

    def whole(self, key: str, least: int, most: int, default: int) -> int:
        """Take a whole number."""
        value = self._given.get(key)
        if value is None:
            return default
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise ArtifactError(self._at(key), f"a whole number from {least} to {most}", _shown(value))
        return value

    def flag(self, key: str) -> bool:
        """Take true or false; false where nothing is given."""
        value = self._given.get(key)
        if value is not None and not isinstance(value, bool):
            raise ArtifactError(self._at(key), "true or false", _shown(value))
        return bool(value)

    def day(self, key: str) -> str:
        """Take a date."""
        return self._read(key, _day, "a date as YYYY-MM-DD")

    def time(self, key: str) -> str | None:
        """Take a time, or null where something never was."""
        if self._required(key) is None:
            return None
        return self._read(key, _time, "a time in ISO 8601, or null")

    def choice(self, key: str, choices: type[Choice]) -> Choice:
        """Take one of some words."""
        value = self._required(key)
        words = [each.value for each in choices]
        if not isinstance(value, str) or value not in words:
            raise ArtifactError(
                self._at(key),
                f"one of {', '.join(words)}",
                _shown(value),
                hint=did_you_mean(value, words) if isinstance(value, str) else None,
            )
        return choices(value)

    def raw(self, key: str) -> object:
        """Take a value as it is."""
        return self._required(key)

    def identifier(self, key: str) -> str | None:
        """Take the id of a project, or a focus area's name, where there is one."""
        value = self._given.get(key)
        return None if value is None else checked_id(value, self._at(key))

    def _read(self, key: str, read: Callable[[str], object], rule: str) -> str:
        value = self._required(key)
        try:
            read(cast("str", value))
        except (TypeError, ValueError, OverflowError):
            raise ArtifactError(self._at(key), rule, _shown(value)) from None
        return cast("str", value)

    def _required(self, key: str) -> object:
        if key not in self._given:
            raise ArtifactError(self._at(key), "given", "missing")
        return self._given[key]

    def _at(self, key: str) -> str:
        return f"{self._path}.{key}" if self._path else key


def checked_text(value: object, field: str, most: int) -> str:
    """See that a value is a text that can be kept.

    Raises:
        ArtifactError: it is not, is empty or too long, or holds a secret.
    """
    if not isinstance(value, str):
        raise ArtifactError(field, "a text", _shown(value))
    if not value.strip():
        raise ArtifactError(field, "a text with something in it", "empty")
    if len(value) > most:
        raise ArtifactError(field, f"a text of at most {most:,} characters", f"one of {len(value):,}")
    if "\0" in value or not _is_whole(value):
        raise ArtifactError(field, "a text of whole characters", "one with a null or half a character")
    if is_secret(value):
        raise ArtifactError(
            field,
            "a text without secrets",
            "one that holds a secret",
            hint="say where it is kept, not what it is",
        )
    return value


def checked_id(value: object, field: str) -> str:
    """See that a value can name a project or a focus area.

    Raises:
        ArtifactError: it cannot.
    """
    rule = f"a text of 1 to {MAX_ID} printable characters, without slashes and outer spaces"
    if not isinstance(value, str):
        raise ArtifactError(field, rule, _shown(value))
    if not value or len(value) > MAX_ID:
        raise ArtifactError(field, rule, f"one of {len(value):,} characters")
    if not value.isprintable() or "/" in value or "\\" in value or value != value.strip():
        raise ArtifactError(field, rule, _shown(value))
    return value


def read_session(given: object) -> Artifact:
    """Read a session."""
    lists = ("actions_taken", "decisions_made", "open_items", "next_actions")
    fields = Fields(given, "session", ("objective", *lists, "save_scope"))
    content: dict[str, object] = {"objective": fields.required_text("objective", MAX_LINE)}
    content |= {key: fields.texts(key) for key in lists}
    return artifact(Kind.SESSION, fields.choice("save_scope", MemoryScope), content)


def read_decision(given: object, path: str = "decision") -> Artifact:
    """Read a decision."""
    fields = Fields(given, path, ("title", "rationale", "owner", "date", "scope", "confidence"))
    content: dict[str, object] = {
        "title": fields.required_text("title", MAX_NAME),
        "rationale": fields.required_text("rationale", MAX_TEXT),
        "owner": fields.required_text("owner", MAX_NAME),
        "date": fields.day("date"),
        "confidence": fields.share("confidence"),
    }
    return artifact(Kind.DECISION, fields.choice("scope", MemoryScope), content)


def read_pattern(given: object, path: str = "pattern") -> Artifact:
    """Read a pattern."""
    fields = Fields(given, path, ("trigger", "repeatable_steps", "exclusions", "scope", "last_validated_at"))
    content: dict[str, object] = {
        "trigger": fields.required_text("trigger", MAX_LINE),
        "repeatable_steps": fields.texts("repeatable_steps"),
        "exclusions": fields.texts("exclusions", default=()),
        "last_validated_at": fields.time("last_validated_at"),
    }
    return artifact(Kind.PATTERN, fields.choice("scope", MemoryScope), content)


def read_context(given: object) -> Artifact:
    """Read a context."""
    fields = Fields(given, "context", ("content", "topic", "scope", "relevance_score"))
    content: dict[str, object] = {
        "content": fields.required_text("content", MAX_TEXT),
        "topic": fields.required_text("topic", MAX_NAME),
        "relevance_score": fields.share("relevance_score"),
    }
    return artifact(Kind.CONTEXT, fields.choice("scope", MemoryScope), content)


def read_entity(given: object) -> Artifact:
    """Read an entity and a fact about it."""
    fields = Fields(given, "entity", ("entity_name", "fact", "scope"))
    content: dict[str, object] = {
        "entity_name": fields.required_text("entity_name", MAX_NAME),
        "fact": fields.required_text("fact", MAX_TEXT),
    }
    return artifact(Kind.ENTITY, fields.choice("scope", MemoryScope), content)


def read_related(given: Sequence[object]) -> list[Related]:
    """Read what an entity is related to."""
    return [_related(each, f"related_entities[{at}]") for at, each in enumerate(given)]


def _related(given: object, path: str) -> Related:
    fields = Fields(given, path, ("entity_id", "relationship_type", "properties"))
    relation = fields.choice("relationship_type", Relation)
    if relation is Relation.SUPERSEDES:
        raise ArtifactError(
            f"{path}.relationship_type", "another relation", "SUPERSEDES, which is for decisions"
        )
    properties = cast("Mapping[object, object]", given).get("properties", {})
    return Related(
        target=fields.required_text("entity_id", MAX_NAME),
        relation=relation,
        properties=checked_properties(properties, f"{path}.properties"),
    )


def checked_properties(given: object, path: str) -> dict[str, object]:
    """See that properties are an object of plain values."""
    if not isinstance(given, Mapping):
        raise ArtifactError(path, "an object", _shown(given))
    found: dict[str, object] = {}
    for key, value in cast("Mapping[object, object]", given).items():
        name = checked_text(key, path, MAX_NAME)
        if isinstance(value, str):
            checked_text(value, f"{path}.{name}", MAX_LINE)
        elif value is not None and not isinstance(value, bool | int | float):
            raise ArtifactError(f"{path}.{name}", "a text, a number, true, false or null", _shown(value))
        elif value != value or value in (float("inf"), float("-inf")):
            raise ArtifactError(f"{path}.{name}", "a number that JSON can write", _shown(value))
        found[name] = value
    if len(found) > MAX_ITEMS:
        raise ArtifactError(path, f"an object of at most {MAX_ITEMS} members", f"one of {len(found):,}")
    return found


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


def _shown(value: object, *, quoted: bool = True) -> str:
    """Say what a wrong value is, without repeating much of it, and no secret."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, str):
        short = value if len(value) <= _MOST_GOT else f"{value[:_MOST_GOT]}..."
        plain = "".join(char if char.isprintable() else "?" for char in short)
        if is_secret(value[:MAX_TEXT]):
            return "a secret"
        return f'"{plain}"' if quoted else plain
    return (
        "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)[:_MOST_GOT]
    )
