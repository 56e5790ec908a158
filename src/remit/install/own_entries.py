"""What in a client's file is Remit's own, told by its look where no record says so."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, cast

from remit.decision.launch import program
from remit.install.record import SERVER, Change, Key

_CALL = 3  # words of `serve --client NAME`


def starts(entry: object, command: str) -> bool:
    """Tell whether an entry of a server, or of a hook, starts a command of Remit."""
    words = [str(_field(entry, "command") or ""), *map(str, _items(_field(entry, "args")))]
    if len(words) == 1:
        words = words[0].split()
    return any(program(word) == "remit" and following == command for word, following in pairwise(words))


def own_keys(changes: Sequence[Change], values: Sequence[Any]) -> Iterator[Key]:
    """List what is Remit's own of the values that stand at the paths of changes."""
    for change, value in zip(changes, values, strict=True):
        path = change.path
        if change.is_item:
            own = (item for item in _items(value) if _is_hook(item) or item == change.value == SERVER)
            yield from (Key(path=path, value=item, is_item=True) for item in own)
        elif wanted := _items(change.value):
            if items := _own_matchers(_items(value), wanted):
                yield Key(path=path, value=[*items, None])  # never equal to the list: others' items stay
        elif _is_entry(value, change.value):
            yield Key(path=path, value=value, known=len(path) - 1)


def _is_entry(value: object, wanted: object) -> bool:
    """Tell whether an entry is one that was put there, by this environment or another one."""
    if not starts(value, "serve"):
        return False
    args, own = _items(_field(value, "args")), _items(_field(wanted, "args"))
    return args[-_CALL:] == own[-_CALL:] and _others(value) == _others(wanted)


def _others(entry: object) -> dict[str, Any]:
    fields = cast("dict[str, Any]", entry)
    return {name: value for name, value in fields.items() if name not in ("command", "args")}


def _is_hook(group: object) -> bool:
    handlers = _items(_field(group, "hooks"))
    return bool(handlers) and all(starts(handler, "hook") for handler in handlers)


def _own_matchers(items: Sequence[object], wanted: Sequence[object]) -> list[object]:
    if {"serverName": SERVER} not in items:
        return []
    return [item for item in items if item in wanted]


def _field(value: object, name: str) -> object:
    return cast("dict[str, object]", value).get(name) if isinstance(value, dict) else None


def _items(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []
