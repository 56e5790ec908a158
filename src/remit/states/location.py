"""The user's location in a host application."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from remit.configuration.file_parser import LOCATION
from remit.errors import StateError
from remit.text.spelling import did_you_mean

if TYPE_CHECKING:
    from remit.decision.context import Context
    from remit.states.state_service import StateService

PARTS = ("page", "route", "modal", "selected", "depth", "components", "elements")
_LISTS = ("components", "elements")
_DEEPEST = 2**31


class Location:
    """Lets a host application set and clear the user's location."""

    def __init__(self, states: StateService) -> None:
        self._states = states

    def set(
        self,
        context: Context,
        *,
        page: str | None = None,
        route: str | None = None,
        modal: str | None = None,
        selected: object = None,
        depth: int | None = None,
        components: Sequence[str] | None = None,
        elements: Sequence[str] | None = None,
    ) -> None:
        """Set the user's location, which expires after a minute unless set again.

        Raises:
            StateError: a part has an invalid value.
        """
        parts: dict[str, object] = {
            "page": page,
            "route": route,
            "modal": modal,
            "selected": selected,
            "depth": depth,
            "components": None if components is None else list(components),
            "elements": None if elements is None else list(elements),
        }
        self._states.push({LOCATION: parts}, context)

    def clear(self, context: Context) -> None:
        """Withdraw the location."""
        self._states.push({LOCATION: None}, context)


def check_location(value: object) -> None:
    """Check that a value is a valid location.

    Raises:
        StateError: the value is invalid.
    """
    if value is None:
        return
    if not isinstance(value, dict):
        raise StateError("a location must be an object", hint=f"its parts are {', '.join(PARTS)}")
    for name, part in cast("dict[str, object]", value).items():
        if name not in PARTS:
            hint = did_you_mean(name, PARTS) or f"its parts are {', '.join(PARTS)}"
            raise StateError(f"a location has no `{name}`", hint=hint)
        if part is not None and not _is_good(name, part):
            raise StateError(
                f"`{name}` of a location has the wrong type",
                hint="`depth` must be a number; `components` and `elements`, lists; the rest, strings",
            )


def _is_good(name: str, part: object) -> bool:
    if name == "selected":
        return True
    if name == "depth":
        return type(part) is int and 0 <= part < _DEEPEST
    if name in _LISTS:
        return isinstance(part, list) and all(isinstance(item, str) for item in cast("list[object]", part))
    return isinstance(part, str)
