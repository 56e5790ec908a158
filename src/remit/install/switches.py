"""Reads a client's file as its user wrote it: without the switches that an install put there.

A server that an install switched off is not disabled by its user: Remit serves it in the client's place.
"""

import copy
import json
from collections.abc import Iterator
from typing import Any, cast

from remit.install.install_record import EditedFile, WrittenKey


def without_switches(content: object, file: EditedFile) -> object:
    """Return the content of a file without its recorded switches; those that others changed stay."""
    standing = list(standing_switches(content, file))
    if not standing:
        return content
    content = copy.deepcopy(content)
    for key in standing:
        _restore(cast("dict[str, Any]", content), key)
    return content


def standing_switches(content: object, file: EditedFile) -> Iterator[WrittenKey]:
    """Yield the recorded switches that are still in the content of a file."""
    for key in file.keys:
        if key.switches is not None and _stands(_value(content, key.path), key):
            yield key


def _stands(found: object, key: WrittenKey) -> bool:
    return isinstance(found, list) and key.value in found if key.is_item else found == key.value


def _value(content: object, path: tuple[str, ...]) -> object:
    for name in path:
        content = cast("dict[str, object]", content).get(name) if isinstance(content, dict) else None
    return content


def _restore(content: dict[str, Any], key: WrittenKey) -> None:
    *parents, last = key.path
    holder = cast("dict[str, Any]", _value(content, tuple(parents)))
    if key.is_item:
        holder[last].remove(key.value)
    elif key.earlier is not None:
        holder[last] = json.loads(key.earlier)
    else:
        del holder[last]
    for length in range(len(parents), key.known, -1):  # parents that exist only for the switch
        outer = cast("dict[str, Any]", _value(content, key.path[: length - 1]))
        if outer[key.path[length - 1]] == {}:
            del outer[key.path[length - 1]]
