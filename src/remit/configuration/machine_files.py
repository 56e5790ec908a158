"""Reads what only the user's and the administrator's file can set, not a project or a store."""

import os
import time
from collections.abc import Callable, Iterable

from remit.configuration.config_model import (
    OF_A_PROJECT,
    ConfigurationContent,
    ConfigurationFile,
    ConfigurationLayer,
    LoadedFile,
    RetentionOptions,
)
from remit.configuration.file_parser import read
from remit.configuration.file_paths import machine_paths
from remit.configuration.layers import combine
from remit.configuration.merged_configuration import Configuration
from remit.configuration.retention import Retention, retention
from remit.errors import BadFileError
from remit.files.bounded_reader import ANYWHERE, FileError, Machine, fingerprint, is_settled, read_text
from remit.files.formats import parse_toml

_LIMIT = 2**20  # bytes of a file
_LAYERS = (ConfigurationLayer.MACHINE, ConfigurationLayer.MANAGED)
_EMPTY = ConfigurationContent()


def read_machine_file(path: str) -> ConfigurationContent:
    """Read a file; a missing one is empty.

    Raises:
        BadFileError: it cannot be read, or has mistakes.
    """
    try:
        text = None if path == os.devnull else read_text(path, limit=_LIMIT, within=ANYWHERE)
        content, mistakes = read({} if text is None else parse_toml(text))
    except FileError as error:
        raise BadFileError(f"{path}: {error.reason}", hint="run `remit policy check`") from error
    if mistakes:
        raise BadFileError(f"{path} has mistakes", hint="run `remit policy check`")
    return content


def merged_retention(loaded: Iterable[LoadedFile]) -> dict[str, int]:
    """Return how long files say that records are kept, weakest file first."""
    return _periods(each.content.retention for each in loaded if each.file.layer not in OF_A_PROJECT)


def machine_retention(machine: Machine) -> Retention:
    """Read how long this machine keeps records, without a project.

    Raises:
        BadFileError: a file cannot be read, or has mistakes.
    """
    return retention(_periods(read_machine_file(path).retention for path in machine_paths(machine)))


def _periods(options: Iterable[RetentionOptions]) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in options:
        found |= {name: value for name, value in each._asdict().items() if value is not None}
    return found


class MachineFiles:
    """The two files; an invalid one counts with the last valid version that this process has read.

    For settings that whoever can write to a shared store must not change, such as who may use a gateway.
    """

    def __init__(self, machine: Machine, *, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._machine = machine
        self._now_ns = now_ns
        self._known: dict[str, tuple[str, LoadedFile]] = {}  # by path, with the fingerprint

    def current(self) -> Configuration:
        """Return the settings of both files; changed ones are read again."""
        layers = zip(_LAYERS, machine_paths(self._machine), strict=True)
        return combine([self._loaded(ConfigurationFile(*each)) for each in layers], {})

    def _loaded(self, file: ConfigurationFile) -> LoadedFile:
        now_ns = self._now_ns()
        found = fingerprint(file.path, self._machine, now_ns=now_ns)
        known = self._known.get(file.path)
        if known is None or known[0] != found:
            before = None if known is None or known[1].is_unread else known[1]
            known = self._known[file.path] = found, self._read(file, before, now_ns)
        return known[1]

    def _read(self, file: ConfigurationFile, before: LoadedFile | None, now_ns: int) -> LoadedFile:
        try:
            content = read_machine_file(file.path)
        except BadFileError:
            return before or LoadedFile(file, _EMPTY, is_unread=True)
        # An editor may have emptied it just now, to write it.
        is_written = content == _EMPTY and os.path.exists(file.path)
        if before is not None and is_written and not is_settled(file.path, now_ns=now_ns):
            return before
        return LoadedFile(file, content)
