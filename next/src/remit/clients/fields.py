"""Type-checked access to the fields of configuration files that others write.

Written by hand: a client rewrites its files in every run, so most commands parse them, and importing a
validation library would take longer than the command itself. No error shows a field's value.
"""

from typing import Any, cast

from remit.store import storable

_SERVER_MAPS = ("servers", "mcpservers")  # however they are spelled


class EntryError(Exception):
    """An entry of a configuration file is invalid."""


class EntryFields:
    """The fields of one JSON object, with their types checked on access."""

    def __init__(self, value: object) -> None:
        if not isinstance(value, dict):
            raise EntryError(f"expected an object, found {_kind(value)}")
        self.content = cast("dict[str, Any]", value)

    def __contains__(self, name: str) -> bool:
        return name in self.content

    def items(self) -> list[tuple[str, object]]:
        """List the fields in the order of the file."""
        return list(self.content.items())

    def value(self, name: str) -> object:
        """Return a field as it is; None if missing."""
        return self.content.get(name)

    def require_servers(self, name: str) -> None:
        """Refuse an object without a map of servers; say so if it is there under a similar name.

        Raises:
            EntryError: it is missing.
        """
        if name not in self.content:
            similar = (key for key in self.content if _plain(key) in _SERVER_MAPS and self.is_object(key))
            found = next(similar, None)
            rename = "" if found is None else f"; rename `{found}` to `{name}`"
            raise EntryError(f"`{name}` is missing{rename}")

    def fields(self, name: str) -> "EntryFields":
        """Read an object; a missing one is empty."""
        try:
            return EntryFields(self.content.get(name, {}))
        except EntryError as error:
            raise EntryError(f"{name}: {error}") from None

    def text(self, name: str) -> str:
        """Read a required string."""
        if name not in self.content:
            raise EntryError(f"`{name}` is missing")
        return _text(self.content[name], name)

    def optional_text(self, name: str) -> str | None:
        """Read a string; None if missing."""
        return self.text(name) if name in self.content else None

    def texts(self, name: str) -> list[str]:
        """Read a list of strings; a missing one is empty."""
        return [_text(item, f"{name}[{at}]") for at, item in enumerate(self.items_of(name))]

    def items_of(self, name: str) -> list[object]:
        """Read a list of anything; a missing one is empty."""
        value = self.content.get(name, [])
        if not isinstance(value, list):
            raise EntryError(f"{name}: expected a list, found {_kind(value)}")
        return cast("list[object]", value)

    def item_or_items(self, name: str) -> list[object]:
        """Read a list of anything, which may be written as one item; a missing one is empty."""
        value = self.content.get(name, [])
        return cast("list[object]", value) if isinstance(value, list) else [value]

    def text_or_texts(self, name: str) -> list[str]:
        """Read a list of strings, which may be written as one string; a missing one is empty."""
        value = self.content.get(name, [])
        return [value] if isinstance(value, str) else self.texts(name)

    def flag(self, name: str) -> bool | None:
        """Read true or false; None if missing."""
        value = self.content.get(name)
        if value is not None and not isinstance(value, bool):
            raise EntryError(f"{name}: expected true or false, found {_kind(value)}")
        return value

    def pairs(self, name: str) -> dict[str, str]:
        """Read an object of strings; a missing one is empty."""
        # Numbered, not named: a key next to a value of the wrong type may itself be a secret.
        pairs = enumerate(self.fields(name).items(), start=1)
        return {key: _text(value, f"{name}, item {at}") for at, (key, value) in pairs}

    def scalars(self, name: str) -> dict[str, str]:
        """Read an object of strings and numbers, skipping nulls; a missing one is empty."""
        return {
            key: str(value) if _is_number(value) else _text(value, f"{name}.{key}")
            for key, value in self.fields(name).items()
            if value is not None
        }

    def is_object(self, name: str) -> bool:
        """Return whether a field exists and is an object."""
        return isinstance(self.content.get(name), dict)


def storable_text(text: str) -> str:
    """Replace the characters of a text that databases cannot store."""
    return str(storable(text))


def _plain(key: str) -> str:
    return key.lower().replace("_", "").replace("-", "")


def _text(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise EntryError(f"{place}: expected text, found {_kind(value)}")
    return value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "an object"
