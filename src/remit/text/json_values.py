"""Reads raw JSON values whose shape nobody has checked."""

from collections.abc import Mapping
from typing import Any, cast


def as_object(value: object) -> dict[str, Any]:
    """Return a raw JSON object as a dict; any other value becomes an empty one."""
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    if value is None:  # the usual other value, and the check below takes longer
        return {}
    return dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else {}


def as_list(value: object) -> list[Any]:
    """Return a raw JSON array as a list; any other value becomes an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []
