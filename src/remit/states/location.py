"""Where in an application its user is, as the application tells it."""

from typing import cast

from remit.errors import StateError
from remit.text.spelling import did_you_mean

PARTS = ("page", "route", "modal", "selected", "depth", "components", "elements")
_LISTS = ("components", "elements")
_DEEPEST = 2**31


def check_location(value: object) -> None:
    """Check that a location can be told so.

    Raises:
        StateError: it cannot.
    """
    if value is None:
        return
    if not isinstance(value, dict):
        raise StateError("a location is an object", hint=f"its parts are {', '.join(PARTS)}")
    for name, part in cast("dict[str, object]", value).items():
        if name not in PARTS:
            hint = did_you_mean(name, PARTS) or f"its parts are {', '.join(PARTS)}"
            raise StateError(f"a location has no `{name}`", hint=hint)
        if part is not None and not _is_good(name, part):
            raise StateError(
                f"`{name}` of a location is of another type",
                hint="`depth` is a number, `components` and `elements` are lists of texts, the others texts",
            )


def _is_good(name: str, part: object) -> bool:
    if name == "selected":
        return True
    if name == "depth":
        return type(part) is int and 0 <= part < _DEEPEST
    if name in _LISTS:
        return isinstance(part, list) and all(isinstance(item, str) for item in cast("list[object]", part))
    return isinstance(part, str)
