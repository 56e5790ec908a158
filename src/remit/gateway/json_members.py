"""Raw messages: what came over the wire may be anything."""

from collections.abc import Mapping
from typing import Any, cast


def members(value: object) -> Mapping[str, Any]:
    """Give the members of an object; none, where it is no object."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
