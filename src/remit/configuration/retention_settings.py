"""Reads how long the store keeps records: from a user's or an administrator's file, never a project's."""

import os
from collections.abc import Iterable

from remit.configuration.config_model import (
    OF_A_PROJECT,
    LoadedFile,
    RetentionOptions,
)
from remit.configuration.file_parser import read
from remit.configuration.file_paths import machine_paths
from remit.configuration.retention import Retention, retention
from remit.errors import BadFileError
from remit.files.bounded_reader import FileError, Machine, read_text
from remit.files.formats import parse_toml

_LIMIT = 2**20  # bytes of a file


def merged(loaded: Iterable[LoadedFile]) -> dict[str, int]:
    """Return the periods that files set, weakest file first."""
    return _periods(each.content.retention for each in loaded if each.file.layer not in OF_A_PROJECT)


def machine_retention(machine: Machine) -> Retention:
    """Read the periods of this machine, without a project.

    Raises:
        BadFileError: a file cannot be read, or has mistakes.
    """
    return retention(_periods(_in_file(path) for path in machine_paths(machine)))


def _periods(options: Iterable[RetentionOptions]) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in options:
        found |= {name: value for name, value in each._asdict().items() if value is not None}
    return found


def _in_file(path: str) -> RetentionOptions:
    try:
        text = None if path == os.devnull else read_text(path, limit=_LIMIT)
        content, mistakes = read({} if text is None else parse_toml(text))
    except FileError as error:
        raise BadFileError(f"{path}: {error.reason}", hint="run `remit policy check`") from error
    if mistakes:
        raise BadFileError(f"{path} has mistakes", hint="run `remit policy check`")
    return content.retention
