"""Adds digests of the files that steer the runner of a project's server to its declaration."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from remit.decision.declared_launch import steers_code
from remit.decision.kinds import Kind
from remit.files.bounded_reader import FileError, read_bytes
from remit.files.formats import parse_json, parse_toml
from remit.text.json_values import as_object
from remit.trust.runner_files import CountedPart, launch_words, runner_directories, runner_files
from remit.trust.trust_rule import declaration_needs_trust

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from remit.clients.parsing.client_reader import ClientReader
    from remit.decision.declarations import Declaration
    from remit.trust.runner_files import KeyPath, RunnerFile

_LIMIT = 2**20  # bytes of a file
_MOST_FILES = 2_000  # that are looked for, for all servers: each costs a `stat` in every command and hook
_VARIABLE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*[=:]")


class RunnerFileDigests:
    """Finds the files that steer the runners of one client's servers, and records them as inputs."""

    def __init__(self, reader: ClientReader) -> None:
        self._reader = reader
        self._root = reader.workspace.checkout
        self._known: dict[tuple[str, RunnerFile], str | None] = {}

    def added_to(self, declaration: Declaration) -> Declaration:
        """Add the digests to a project's server; the user's own servers stay as they are."""
        launch, workspace = declaration.launch, self._reader.workspace
        if launch is None or declaration.kind is not Kind.MCP_SERVER or declaration.is_remit:
            return declaration
        if not declaration_needs_trust(declaration, workspace):
            return declaration
        words = launch_words(launch)
        files = runner_files(words)
        directories = runner_directories(launch, words, workspace.dir, self._root) if files else []
        looked = [(each, file) for each in directories for file in files]
        if len({*self._known, *looked}) > _MOST_FILES:
            self._reader.note(
                declaration.source,
                f"`{declaration.server}` cannot be trusted: more than {_MOST_FILES:,} files could steer the "
                "servers of this project",
            )
            return replace(declaration, launch=None, digest=None)
        found = {path: digest for path, digest in map(self._look, looked) if digest is not None}
        if not found:
            return declaration
        launch = replace(launch, runner_files=found)
        return replace(declaration, launch=launch, digest=launch.digest)

    def _look(self, looked: tuple[str, RunnerFile]) -> tuple[str, str | None]:
        directory, file = looked
        path = os.path.join(directory, *file.name.split("/"))
        if looked not in self._known:
            self._known[looked] = self._digest(path, file) if self._reader.look_at(path) else None
        return os.path.relpath(path, self._root).replace(os.sep, "/"), self._known[looked]

    def _digest(self, path: str, file: RunnerFile) -> str | None:
        """Return a digest of what counts in an existing file; None if nothing in it does."""
        if file.part is CountedPart.EXISTENCE:
            return "exists"
        try:
            data = read_bytes(path, limit=_LIMIT, within=self._reader.within(path)) or b""
        except FileError as error:  # too large, or a link out of the project: at least a change is noticed
            return sha256(f"{error.reason} {_changed_at(path)}".encode()).hexdigest()
        counted = _counted(data, file)
        return sha256(counted).hexdigest() if counted else None


def _counted(data: bytes, file: RunnerFile) -> bytes:
    """Return the part of a file that steers a runner; all of it if it is not valid."""
    if file.part is CountedPart.WHOLE:
        return data
    text = data.decode("utf-8-sig", "backslashreplace")
    if file.part is CountedPart.VARIABLES:
        return "\n".join(_steering_lines(text.splitlines())).encode()
    try:
        content = parse_json(text) if file.name.endswith(".json") else parse_toml(text)
        found = {"/".join(keys): value for keys in file.keys if (value := _at(content, keys)) is not None}
        return json.dumps(found, sort_keys=True, default=str).encode() if found else b""
    except (FileError, ValueError, RecursionError):
        return data


def _at(content: Any, keys: KeyPath) -> Any:
    for key in keys:
        content = as_object(content).get(key)
    return content


def _steering_lines(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if (found := _VARIABLE.match(line)) is not None and steers_code(found[1]):
            yield line


def _changed_at(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
