"""Finds and reads configuration files."""

import os
import re
import time
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, cast

from remit.configuration.config_model import (
    ANY_PROJECT,
    ConfigurationFile,
    ConfigurationLayer,
    TomlDocument,
)
from remit.configuration.file_paths import configuration_paths
from remit.configuration.store_place import without_address
from remit.configuration.toml_positions import positions
from remit.decision.projects import Workspace
from remit.files.bounded_reader import FileError, Machine, fingerprint, is_settled, read_text
from remit.files.formats import parse_toml

if TYPE_CHECKING:
    from remit.store.postgres.team_store import SqlTeams

_LIMIT = 2**20  # bytes per file
_PROJECT_LIMIT = 2**18  # bytes of a project's file
_PROJECT_RULES = 1_000  # tables and list items in all sections of a project's file
_UNQUOTED = re.compile(r"\s*\[([a-z]+)\.([\w.:/-]*\*[\w.:/*-]*)\]")  # a pattern as a bare key


class TomlFiles:
    """The configuration files on this machine."""

    def __init__(
        self,
        machine: Machine,
        *,
        now_ns: Callable[[], int] = time.time_ns,
        teams: "SqlTeams | None" = None,
    ) -> None:
        self._machine = machine
        self._now_ns = now_ns
        self._teams = teams  # None: the store is not shared

    def files(self, workspace: Workspace) -> list[ConfigurationFile]:
        """List the files of a workspace, weakest first."""
        return [
            ConfigurationFile(ConfigurationLayer(layer), path, dir)
            for layer, path, dir in configuration_paths(workspace, self._machine)
        ]

    def is_project(self, path: str, workspace: Workspace) -> bool:
        """Return whether a path in the user's file means the project of a workspace."""
        if path == ANY_PROJECT:
            return True
        home = self._machine.home
        named = os.path.realpath(home + path[1:] if path.startswith("~") else path)
        return named in (workspace.checkout, workspace.project.path)

    def fingerprint(self, file: ConfigurationFile, workspace: Workspace) -> str:
        """Return the fingerprint of a file's current content."""
        if file.layer is ConfigurationLayer.TEAM:
            text = self._team_text(workspace)
            return sha256(text.encode()).hexdigest() if text else ""
        return fingerprint(file.path, self._machine, now_ns=self._now_ns())

    def read(self, file: ConfigurationFile, workspace: Workspace) -> TomlDocument | None:
        """Read a file; None if it does not exist."""
        if file.path == os.devnull:  # `REMIT_CONFIG=/dev/null` means no file
            return None
        try:
            if file.layer is ConfigurationLayer.TEAM:
                text = self._team_text(workspace)
                return parse_policy(text) if text else None
            within = () if file.dir is None else (workspace.checkout,)
            is_ruling = bool(within) and file.layer is not ConfigurationLayer.LOCK
            text = read_text(file.path, limit=_PROJECT_LIMIT if is_ruling else _LIMIT, within=within)
            if text is None:
                return None
            may_grow = not text.strip() and not is_settled(file.path, now_ns=self._now_ns())
            content = without_address(_parse(text))
            if is_ruling:
                _require_few(content)
            return TomlDocument(content, positions(text), may_grow=may_grow)
        except FileError as error:
            return TomlDocument(problem=error.reason, place=error.place)

    def _team_text(self, workspace: Workspace) -> str:
        return "" if self._teams is None else self._teams.policy(workspace)


def parse_policy(text: str) -> TomlDocument:
    """Parse the rules of a team.

    Raises:
        FileError: the text is too long, or is not TOML.
    """
    if len(text.encode()) > _LIMIT:
        raise FileError(f"larger than {_LIMIT:,} bytes")
    return TomlDocument(without_address(_parse(text)), positions(text))


def _parse(text: str) -> object:
    try:
        return parse_toml(text)
    except FileError as error:
        if hint := _quoted_header(text, error.place):
            raise FileError(f"{error.reason}; {hint}", error.place) from None
        raise


def _quoted_header(text: str, place: str) -> str:
    """Say how to write the header of a table whose name needs quotes; empty if that is not the mistake."""
    line = re.match(r"line (\d+)", place)
    lines = text.splitlines()
    if line is None or int(line[1]) > len(lines):
        return ""
    header = _UNQUOTED.match(lines[int(line[1]) - 1])
    return f'quote it: `[{header[1]}."{header[2]}"]`' if header else ""


def _require_few(content: object) -> None:
    """Limit the rules of a project, because each is compared with all tools."""
    rules = 0
    for section in cast("dict[str, object]", content).values():
        for entry in _values(section):
            rules += 1 + sum(len(_values(field)) for field in _values(entry))
    if rules > _PROJECT_RULES:
        raise FileError(f"more than {_PROJECT_RULES:,} rules")


def _values(value: object) -> Sequence[object]:
    """List the values of a table, or the items of a list."""
    if isinstance(value, dict):
        return tuple(cast("dict[str, object]", value).values())
    return cast("list[object]", value) if isinstance(value, list) else ()
