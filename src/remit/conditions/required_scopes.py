"""The states and the location that a tool requires, without the syntax of conditions.

Named tuples, because every command loads these and dataclasses are ten times slower to create.
"""

from typing import NamedTuple


class StateScope(NamedTuple):
    """The states that a tool requires; a plain list means `all`."""

    all: tuple[str, ...] = ()
    any: tuple[str, ...] | None = None
    none: tuple[str, ...] = ()


class LocationScope(NamedTuple):
    """The location that a tool requires; None means any."""

    pages: tuple[str, ...] | None = None  # any of these
    routes: tuple[str, ...] | None = None  # any of these
    components: tuple[str, ...] | None = None  # all of these are shown
    elements: tuple[str, ...] | None = None  # all of these are shown
