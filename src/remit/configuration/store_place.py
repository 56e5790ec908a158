"""Finds the store: an SQLite file, unless a user or an administrator names a PostgreSQL database.

A project's file never does. Hook processes import this module, so it imports little.
"""

import os
import re
from collections.abc import Mapping
from typing import NamedTuple, cast

from remit.configuration.file_paths import machine_paths
from remit.errors import BadFileError, BadVariableError
from remit.files.bounded_reader import ANYWHERE, FileError, Machine, read_text
from remit.settings import DATABASE, STORE, STORE_ADMIN, STORE_KEY_FILE, data_directory

KEY = "store"
ADMIN = "store_admin"
ADDRESSES = {KEY: STORE, ADMIN: STORE_ADMIN}  # settings, and the variables that replace them
KEY_FILE = "store_key_file"
_LIMIT = 2**20  # bytes of a file
_MENTIONED = re.compile(r"""^[ \t]*["']?store""", re.MULTILINE)
_LINE = re.compile(
    r"""^[ \t]*(store(?:_admin)?(?:_password_file)?|store_key_file)[ \t]*=[ \t]*["']([^"'\\\n]+)["']""",
    re.MULTILINE,
)
_SOME_ADDRESS, _NO_ADDRESS = "postgresql://", "-"
_ADDRESS = "postgresql://USER@HOST/DATABASE"
_SCHEMES = ("postgresql://", "postgres://")


class StorePlace(NamedTuple):
    """Where the store is, and what says so."""

    place: str  # the path of an SQLite file, or the address of a PostgreSQL database
    source: str = ""  # a file or a variable; empty: the default

    def __repr__(self) -> str:
        return f"StorePlace(source={self.source!r})"  # an address may have a password


def is_address(place: str) -> bool:
    """Tell whether a place is the address of a PostgreSQL database."""
    return place.startswith(_SCHEMES)


def store_place(machine: Machine) -> StorePlace:
    """Find the store: the administrator's file wins, then `REMIT_STORE`, then the user's file.

    Raises:
        BadFileError: a file names something else than a PostgreSQL database.
        BadVariableError: `REMIT_STORE` does.
    """
    found = _address(KEY, machine)
    if found is not None:
        return found
    folder = data_directory(machine)
    return StorePlace(os.path.join(folder, DATABASE))


def admin_place(machine: Machine) -> StorePlace:
    """Find the store as administrators open it: `store_admin` or `REMIT_STORE_ADMIN`, else as all do.

    Raises:
        BadFileError: a file names something else than a PostgreSQL database.
        BadVariableError: a variable does.
    """
    place = store_place(machine)
    return (_address(ADMIN, machine) or place) if is_address(place.place) else place


def password_file_of(key: str) -> str:
    """Return the setting that names the password file of an address."""
    return f"{key}_password_file"


def address_problem(address: object) -> str:
    """Say why a value cannot be the address of a store, without the value; empty if it can."""
    is_text = isinstance(address, str)
    return "" if is_text and is_address(address) else "expected the address of a PostgreSQL database"


def path_problem(path: object) -> str:
    """Say why a value cannot be the path of a file with a password or a key; empty if it can."""
    is_path = isinstance(path, str) and (os.path.isabs(path) or path.startswith("~/"))
    return "" if is_path else "expected an absolute path"


def without_address(content: object) -> object:
    """Replace the address in a file, which may have a password, so that it is stored and shown nowhere."""
    if not isinstance(content, dict):
        return content
    known = cast("dict[str, object]", content)
    hidden = {
        key: _NO_ADDRESS if address_problem(known[key]) else _SOME_ADDRESS
        for key in ADDRESSES
        if isinstance(known.get(key), str)
    }
    return {**known, **hidden}


def key_file(machine: Machine) -> str | None:
    """Find the file of the keys that encrypt credentials: as for the store, the administrator's file wins.

    Raises:
        BadFileError: a file names something else than an absolute path.
    """
    own, managed = machine_paths(machine)
    in_variable = machine.variables.get(STORE_KEY_FILE) or None
    return _key_in_file(managed, machine) or in_variable or _key_in_file(own, machine)


def _key_in_file(path: str, machine: Machine) -> str | None:
    given = _content(path).get(KEY_FILE)
    if given is None:
        return None
    if problem := path_problem(given):
        raise BadFileError(f"`{KEY_FILE}` in {path}: {problem}")
    return _full_path(str(given), machine)


def _full_path(path: str, machine: Machine) -> str:
    return machine.home + path[1:] if path.startswith("~") else path


def _address(key: str, machine: Machine) -> StorePlace | None:
    own, managed = machine_paths(machine)
    return (
        _in_file(key, managed, machine)
        or _in_variable(ADDRESSES[key], machine.variables)
        or _in_file(key, own, machine)
    )


def _in_variable(name: str, variables: Mapping[str, str]) -> StorePlace | None:
    given = variables.get(name)
    if not given:
        return None
    if problem := address_problem(given):
        raise BadVariableError(f"`{name}`: {problem}", hint=f"set {name} to `{_ADDRESS}`")
    return StorePlace(given, name)


def _in_file(key: str, path: str, machine: Machine) -> StorePlace | None:
    """Read an address from a file; one that cannot be read counts as any invalid file does."""
    content = _content(path)
    if key not in content:
        return None
    address, password = content[key], content.get(password_file_of(key))
    if problem := address_problem(address):
        raise BadFileError(f"`{key}` in {path}: {problem}", hint=f'write it as `{key} = "{_ADDRESS}"`')
    if password is not None and (problem := path_problem(password)):
        raise BadFileError(f"`{password_file_of(key)}` in {path}: {problem}")
    given = str(address)
    if password is not None:
        from urllib.parse import quote  # few stores need it

        full = _full_path(str(password), machine)
        given += f"{'&' if '?' in given else '?'}password_file={quote(full)}"
    return StorePlace(given, path)


def _content(path: str) -> dict[str, object]:
    """Read the settings of the store from a file; empty if it has none."""
    try:
        text = None if path == os.devnull else read_text(path, limit=_LIMIT, within=ANYWHERE)
    except FileError:
        return {}
    return _settings(text) if text is not None and _MENTIONED.search(text) else {}


def _settings(text: str) -> dict[str, object]:
    """Read the top level of a file; of one with a syntax error, the plain lines above all tables."""
    from remit.files.formats import parse_toml  # few files name a store

    try:
        return cast("dict[str, object]", parse_toml(text))
    except FileError:
        top = re.split(r"^[ \t]*\[", text, maxsplit=1, flags=re.MULTILINE)[0]
        return dict(_LINE.findall(top))
