"""Files that hold a map of servers: how most clients keep them, the user's and a project's."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from remit.clients.parsing.client_reader import ConfigFile, Origin, Parsed, Reader, declare_servers
from remit.clients.parsing.entry_fields import EntryError, Fields
from remit.clients.parsing.server_entries import Entry
from remit.decision.projects import Workspace
from remit.decision.scopes import Scope, ancestors
from remit.files.formats import parse_json


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFiles:
    """One client's way of writing servers into a file."""

    client: str
    read_entry: Callable[[str, Fields], Entry | None]
    keys: tuple[str, ...] = ("mcpServers",)  # those that lead to the map
    is_settings: bool = False  # a file about other things, too: without the map it says nothing, rightly
    format: Callable[[str], object] = parse_json

    def read(self, reader: Reader, path: str, scope: Scope, dir: str | None = None) -> None:
        """Read one file; of two that declare the same at one scope, the one that is read later counts."""
        reader.read(self.file(path, scope, dir))

    def read_in_project(self, reader: Reader, *names: str) -> None:
        """Read a project's file in the launch directory and above it, up to the root of the checkout."""
        for dir in checkout_dirs(reader.workspace):
            path = os.path.join(dir, *names)
            if path not in reader.inputs:  # the user's own file, where the checkout is the home directory
                self.read(reader, path, Scope.PROJECT, dir)

    def file(self, path: str, scope: Scope, dir: str | None = None) -> ConfigFile:
        """Name a file that is written in this way."""
        return ConfigFile(path=path, parse=partial(self._parse, scope=scope, dir=dir), format=self.format)

    def _parse(
        self, top: Fields, into: Parsed, workspace: Workspace, *, scope: Scope, dir: str | None
    ) -> None:
        place = origin(self.client, into.source, workspace, scope, dir, place=".".join(self.keys))
        declare_servers(self._servers(top), place, into, read_entry=self.read_entry)

    def _servers(self, top: Fields) -> Fields:
        found = top
        for key in self.keys:
            if key not in found and not self.is_settings:
                raise EntryError(f"`{key}` is missing")
            found = found.fields(key)
        return found


def origin(
    client: str, path: str, workspace: Workspace, scope: Scope, dir: str | None = None, *, place: str
) -> Origin:
    """Say where a file's entries stand."""
    project_hash = None if scope is Scope.GLOBAL else workspace.project.hash
    return Origin(client=client, source=path, scope=scope, place=place, project_hash=project_hash, dir=dir)


def checkout_dirs(workspace: Workspace) -> tuple[str, ...]:
    """List the launch directory and those above it, up to the root of the checkout."""
    return ancestors(workspace.dir, up_to=workspace.checkout)
