"""Reads the fields of objects that the caller passes in, whether they are mappings or objects."""

from collections.abc import Mapping
from typing import TypeGuard


def field_of(given: object, name: str) -> object:
    """Return a field of a mapping or an object, or None."""
    return given.get(name) if is_mapping(given) else getattr(given, name, None)


def text_of(given: object, name: str) -> str | None:
    """Return a field that holds text, or None."""
    value = field_of(given, name)
    return value if isinstance(value, str) else None


def is_mapping(value: object) -> TypeGuard[Mapping[str, object]]:
    """Tell whether a value is a mapping."""
    return isinstance(value, Mapping)


def type_name(value: object) -> str:
    """Return the name of a value's type with its module, for errors."""
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
