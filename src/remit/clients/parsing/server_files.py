"""Files with a map of servers, as most clients have them for the user and a project."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from remit.clients.parsing.client_reader import (
    ClientReader,
    ConfigFile,
    EntryOrigin,
    ParsedFile,
    declare_servers,
)
from remit.clients.parsing.entry_fields import EntryFields
from remit.clients.parsing.server_entries import ServerEntry
from remit.decision.projects import Workspace
from remit.decision.scopes import Scope, ancestors
from remit.files.formats import parse_json


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFiles:
    """How one client writes servers into a file."""

    client: str
    read_entry: Callable[[str, EntryFields], ServerEntry | None]
    keys: tuple[str, ...] = ("mcpServers",)  # that lead to the map
    is_settings: bool = False  # a settings file, valid without the map
    format: Callable[[str], object] = parse_json

    def read(self, reader: ClientReader, path: str, scope: Scope, dir: str | None = None) -> None:
        """Read one file; at one scope, a file read later wins."""
        reader.read(self.file(path, scope, dir))

    def read_in_project(self, reader: ClientReader, *names: str) -> None:
        """Read a project's files from the launch directory up to the root of the checkout."""
        for dir in checkout_dirs(reader.workspace):
            path = os.path.join(dir, *names)
            if path not in reader.inputs:  # already read if the checkout is the home directory
                self.read(reader, path, Scope.PROJECT, dir)

    def file(self, path: str, scope: Scope, dir: str | None = None) -> ConfigFile:
        """Describe a file with these servers."""
        return ConfigFile(path=path, parse=partial(self._parse, scope=scope, dir=dir), format=self.format)

    def _parse(
        self, top: EntryFields, into: ParsedFile, workspace: Workspace, *, scope: Scope, dir: str | None
    ) -> None:
        place = origin(self.client, into.source, workspace, scope, dir, place=".".join(self.keys))
        declare_servers(self._servers(top), place, into, read_entry=self.read_entry)

    def _servers(self, top: EntryFields) -> EntryFields:
        found = top
        for key in self.keys:
            if not self.is_settings:
                found.require_servers(key)
            found = found.fields(key)
        return found


def origin(
    client: str, path: str, workspace: Workspace, scope: Scope, dir: str | None = None, *, place: str
) -> EntryOrigin:
    """Return the origin of a file's entries."""
    project_hash = None if scope is Scope.GLOBAL else workspace.project.hash
    return EntryOrigin(
        client=client, source=path, scope=scope, place=place, project_hash=project_hash, dir=dir
    )


def checkout_dirs(workspace: Workspace) -> tuple[str, ...]:
    """List the directories from the launch directory up to the root of the checkout."""
    return ancestors(workspace.dir, up_to=workspace.checkout)
