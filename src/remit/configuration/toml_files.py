"""Finds and reads configuration files."""

import os
import time
from collections.abc import Callable

from remit.configuration.config_model import ConfigurationFile, ConfigurationLayer, TomlDocument
from remit.configuration.file_paths import configuration_paths
from remit.configuration.toml_positions import positions
from remit.decision.projects import Workspace
from remit.decision.scopes import is_at_or_below
from remit.files.bounded_reader import FileError, Machine, fingerprint, is_settled, read_text
from remit.files.formats import parse_toml

_LIMIT = 2**20  # bytes per file


class TomlFiles:
    """The configuration files on this machine."""

    def __init__(self, machine: Machine, *, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._machine = machine
        self._now_ns = now_ns

    def files(self, workspace: Workspace) -> list[ConfigurationFile]:
        """List the files of a workspace, weakest first."""
        return [
            ConfigurationFile(ConfigurationLayer(layer), path, dir)
            for layer, path, dir in configuration_paths(workspace, self._machine)
        ]

    def fingerprint(self, file: ConfigurationFile) -> str:
        """Return the fingerprint of a file's current content."""
        return fingerprint(file.path, self._machine, now_ns=self._now_ns())

    def read(self, file: ConfigurationFile, workspace: Workspace) -> TomlDocument | None:
        """Read a file; None if it does not exist."""
        if file.path == os.devnull:  # `REMIT_CONFIG=/dev/null` means no file
            return None
        try:
            if file.dir is not None and not _is_inside(file.path, workspace):
                raise FileError("a symbolic link leads out of the project")
            text = read_text(file.path, limit=_LIMIT)
            if text is None:
                return None
            may_grow = not text.strip() and not is_settled(file.path, now_ns=self._now_ns())
            return TomlDocument(parse_toml(text), positions(text), may_grow=may_grow)
        except FileError as error:
            return TomlDocument(problem=error.reason, place=error.place)


def _is_inside(path: str, workspace: Workspace) -> bool:
    return not os.path.islink(path) or is_at_or_below(os.path.realpath(path), workspace.checkout)
