"""Remit's own files: the user's and the administrator's rules and filters, and Remit's data.

Only a person changes them.

An agent that could write them would decide what it may do. A project's files are left out: they only narrow.

Hook processes import this module, so it imports little.
"""

import os
from collections.abc import Iterator
from typing import cast

from remit.configuration.file_paths import machine_path, machine_paths, managed_directory
from remit.files.bounded_reader import ANYWHERE, FileError, Machine, read_text
from remit.settings import data_directory
from remit.text.json_values import as_list, as_object

_TRIMMED = " \t\n\v\f\r\u00a0\u2028\u2029\ufeff"  # around a path, which the client cuts off
_FILTERS = "filters"  # the table that names filter files
_LIMIT = 2**20  # bytes of a file of rules
_MARKED = str.maketrans({"[": "\\[", "]": "\\]"})  # in a path of a permission rule


def is_own_file(path: str, cwd: str, machine: Machine) -> bool:
    """Tell whether a path leads to one of Remit's own files, through links, `..` and `~` too.

    Files that exist are compared by identity, so it does not matter how a file system spells their names.
    """
    places = (*_directories(machine), machine_path(machine), *_filter_files(machine))
    own = [os.path.realpath(each) for each in places]
    names, identities = set(map(str.casefold, own)), set(filter(None, map(_identity, own)))
    return any(
        place.casefold() in names or _identity(place) in identities
        for target in _targets(path, cwd)
        for place in _upwards(target)
    )


def denied_edits(machine: Machine, *, is_managed: bool = False) -> list[str]:
    """Write deny rules of Claude Code for Remit's own files; `Edit` covers all tools that change files.

    The rules of an administrator apply to the home of each user.
    """
    if is_managed:
        machine = machine._replace(home="~", variables={})
    folders = (os.path.join(each, "**") for each in _directories(machine))
    files = [machine_path(machine), *folders, *_filter_files(machine)]
    return list(dict.fromkeys(rule for path in files for rule in edits_of(path)))


def edits_of(path: str) -> list[str]:
    """Write the permission rules of Claude Code for edits of a file: as it is given, and where it lies."""
    return list(dict.fromkeys(f"Edit({form})" for form in _forms(path)))


def _directories(machine: Machine) -> tuple[str, str]:
    return managed_directory(machine), data_directory(machine)


def _filter_files(machine: Machine) -> Iterator[str]:
    """Yield the filter files that these rules name, whether the rules are valid or not."""
    for path in machine_paths(machine):
        try:
            text = read_text(path, limit=_LIMIT, within=ANYWHERE) or ""
            if _FILTERS not in text:
                continue
            from remit.files.formats import parse_toml  # few have filters

            table = cast("dict[str, object]", parse_toml(text)).get(_FILTERS)
        except FileError:
            continue
        named = as_list(as_object(table).get("files"))
        yield from (each for each in named if isinstance(each, str) and os.path.isabs(each))


def _targets(path: str, cwd: str) -> Iterator[str]:
    """Yield the files that a client may open: some remove `..` before they follow links, some after."""
    for name in dict.fromkeys((path, path.strip(_TRIMMED))):
        named = os.path.join(cwd, os.path.expanduser(name))
        yield os.path.realpath(named)
        yield os.path.realpath(os.path.normpath(named))


def _upwards(path: str) -> Iterator[str]:
    yield path
    while (above := os.path.dirname(path)) != path:
        yield (path := above)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _forms(path: str) -> Iterator[str]:
    """Write a path as permission rules do: as it is given, and where its links lead."""
    if path.startswith("~"):
        yield path.replace(os.sep, "/").translate(_MARKED)
        return
    for each in (os.path.abspath(path), os.path.realpath(path)):
        drive, rest = os.path.splitdrive(each)
        place = f"/{drive.rstrip(':').lower()}" if drive else ""
        yield f"/{place}{rest.replace(os.sep, '/')}".translate(_MARKED)
