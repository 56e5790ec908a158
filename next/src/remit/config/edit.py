"""Edits one key of a configuration file; everything else in it stays.

Commands write the user's own files and a project's shared one, never a `remit.local.toml`.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from remit.errors import PolicyError
from remit.files import (
    FileError,
    change_file,
    checkout_of,
    link_in_checkout,
    parse_toml,
    read_exactly,
    remove_value,
    set_value,
)

Path = Sequence[str]


def set_key(path: str, keys: Path, value: object) -> None:
    """Set a key of a file, which is created if it does not exist.

    Raises:
        PolicyError: the file is invalid, or cannot be edited in place.
        FileChangeError: the file cannot be written.
    """
    _change(path, lambda text: set_value(text, tuple(keys), value))


def remove_key(path: str, keys: Path) -> None:
    """Remove a key of a file, with a table that says nothing else; a file without text is deleted.

    Raises:
        PolicyError: the file is invalid, or cannot be edited in place.
        FileChangeError: the file cannot be written.
    """

    def edit(text: str) -> str:
        text = remove_value(text, tuple(keys))
        for length in range(len(keys) - 1, 0, -1):  # the tables that say nothing any more
            table: Any = parse_toml(text)
            for key in keys[:length]:
                table = table.get(key, {})
            if table:
                return text
            text = remove_value(text, tuple(keys[:length]))
        return text

    _change(path, edit)


def read_table(path: str) -> Mapping[str, Any]:
    """Return the content of a file to edit, unchecked; empty if it does not exist.

    Raises:
        PolicyError: it is not TOML.
    """
    try:
        return parse_toml(read_exactly(path) or "")
    except FileError as error:
        raise _invalid(path, error) from None


def _change(path: str, edit: Callable[[str], str]) -> None:
    checkout = checkout_of(os.path.dirname(os.path.abspath(path)))
    link = None if checkout is None else link_in_checkout(path, checkout)
    if link is not None:
        message = f"`{link}` is a link to `{os.readlink(link)}`; no link in a project is written through"
        raise PolicyError(message, hint="replace the link with a file or directory of your own")

    def change(before: str | None) -> str | None:
        try:
            text = edit(before or "")
            return text if text.strip() else None
        except FileError as error:
            raise _invalid(path, error) from None

    change_file(path, change, is_public=checkout is not None)


def _invalid(path: str, error: FileError) -> PolicyError:
    place = f" {error.place}" if error.place else ""
    hint = error.hint or "run `remit doctor`, which lists what is wrong with it"
    return PolicyError(f"{path}{place}: {error.reason}", hint=hint)
