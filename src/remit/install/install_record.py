"""The record of an install: Remit's edits in a client's files, and the previous content; one file per client.

The record holds only the replaced parts of a file, so it copies no secrets. If nothing else changed the file
since, every byte can be restored from it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from remit.decision.declarations import Declaration, is_served
from remit.decision.tool_names import SERVER, normalise
from remit.errors import FileChangeError
from remit.files.safe_changes import change_file, read_exactly, remove_empty
from remit.files.splices import Splice, Step
from remit.install.install_record_path import managed_record_path, record_path
from remit.install.recorded_environment import RecordedEnvironment, parse_environment
from remit.text.json_values import as_list
from remit.text.secrets import may_be_secret

if TYPE_CHECKING:
    from remit.files.bounded_reader import Machine


VERSION = 2
DENIED = ("permissions", "deny")  # Claude Code's own deny rules
ASKED = ("permissions", "ask")  # and the rules for what it asks about
SERVED = "served by Remit"  # the comment on a switch, where the format has comments on a line


class Format(StrEnum):
    """The format of a file."""

    JSON = "json"
    JSONC = "jsonc"  # with comments and trailing commas
    TOML = "toml"


class Edit(NamedTuple):
    """A value to write at a path of a file."""

    path: tuple[str, ...]
    value: Any
    is_item: bool = False  # an item of a list that others share
    switches: str | None = None  # the server that it switches off, which Remit serves instead


class TargetFile(NamedTuple):
    """A client's file, with the edits to make."""

    path: str
    format: Format
    changes: Sequence[Edit]


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenKey:
    """A key that was written, with the previous source text."""

    path: tuple[str, ...]
    value: Any
    is_item: bool = False
    earlier: str | None = None  # source text; None: the key was absent
    known: int = 0  # how many keys of the path existed before
    switches: str | None = None  # the server that it switches off, which Remit serves instead


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedFile:
    """An edited file, and how to undo the edits."""

    path: str
    format: Format
    is_new: bool = False  # the file did not exist
    made: Sequence[str] = ()  # directories created, innermost first
    before: str  # digests of the text before and after
    after: str
    steps: Sequence[Step] = ()
    keys: Sequence[WrittenKey] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallRecord:
    """The record of an install in one client."""

    client: str
    at: int
    environment: RecordedEnvironment = field(default_factory=RecordedEnvironment)
    files: Sequence[EditedFile] = field(default_factory=tuple[EditedFile, ...])

    def with_file(self, edited: EditedFile) -> InstallRecord:
        """Return the record with one more edited file."""
        others = [file for file in self.files if file.path != edited.path]
        return replace(self, files=(*others, edited))

    def file(self, path: str) -> EditedFile | None:
        """Find the record of a file."""
        return next((file for file in self.files if file.path == path), None)

    @property
    def switched(self) -> list[str]:
        """The servers that are switched off in the client, because Remit serves them."""
        return [key.switches for file in self.files for key in file.keys if key.switches is not None]

    @property
    def settings(self) -> EditedFile | None:
        """The file with the hooks."""
        return next((file for file in self.files if any(key.path[0] == "hooks" for key in file.keys)), None)

    @property
    def gateway(self) -> Gateway | None:
        """The entry that starts our gateway."""
        return next((found for file in self.files if (found := _gateway(file)) is not None), None)


class Gateway(NamedTuple):
    """The one entry that starts our gateway: its file and its command line."""

    source: str
    words: tuple[str, ...]


def _gateway(file: EditedFile) -> Gateway | None:
    for key in file.keys:
        value: object = key.value
        if key.path[-1] == SERVER and isinstance(value, dict):
            return Gateway(file.path, tuple(entry_words(cast("dict[str, Any]", value))))
    return None


def entry_words(entry: Mapping[str, Any]) -> list[str]:
    """Return the command line of a server's entry: a program and its arguments, or one list of both."""
    command, args = entry.get("command", ""), entry.get("args", ())
    words = cast("list[object]", command) if isinstance(command, list) else [command]
    return [*map(str, words), *map(str, as_list(args))]


def denials(rules: Iterable[str]) -> list[Edit]:
    """Return the edits that add deny rules to Claude Code's settings."""
    return [Edit(DENIED, rule, is_item=True) for rule in rules]


def unserved_servers(declarations: Iterable[Declaration]) -> list[Declaration]:
    """List the servers that Remit does not serve and the client keeps loading, each once.

    A client lists only names of letters, digits, `-` and `_`.
    """
    found = {
        json.dumps(matcher(item)): item
        for item in declarations
        if not is_served(item) and (item.server or "") == normalise(item.server or "")
    }
    return sorted(found.values(), key=lambda item: item.server or "")


def matcher(declaration: Declaration) -> dict[str, Any]:
    """Write the item of a list of allowed servers that admits a server.

    Next to a command, only commands admit processes; without a URL in the list, names admit remote servers.
    """
    launch = declaration.launch
    words = () if launch is None or launch.is_remote else (launch.command, *launch.args)
    if not words or any(map(may_be_secret, words)):  # a secret is not copied: the client leaves that one out
        return {"serverName": declaration.server}
    return {"serverCommand": list(words)}


def digest(text: str) -> str:
    """Return the digest of a text."""
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def write(install: InstallRecord) -> str:
    """Write a record."""
    files = [
        {
            "path": file.path,
            "format": file.format,
            "new": file.is_new,
            "made": file.made,
            "before": file.before,
            "after": file.after,
            "steps": file.steps,
            "keys": [
                {
                    "path": key.path,
                    "value": key.value,
                    "item": key.is_item,
                    "earlier": key.earlier,
                    "known": key.known,
                    **({} if key.switches is None else {"switches": key.switches}),
                }
                for key in file.keys
            ],
        }
        for file in install.files
    ]
    content = {
        "version": VERSION,
        "client": install.client,
        "at": install.at,
        "ground": install.environment.as_json(),
        "files": files,
    }
    return json.dumps(content, indent=2) + "\n"


def read(text: str) -> InstallRecord:
    """Read a record.

    Raises:
        ValueError: the text is not a record, or a newer version of Remit wrote it.
    """
    try:
        content = json.loads(text)
        if content["version"] != VERSION:
            raise ValueError("a newer Remit wrote it")
        return InstallRecord(
            client=str(content["client"]),
            at=int(content["at"]),
            environment=parse_environment(content["ground"]),
            files=tuple(map(_file, content["files"])),
        )
    except (KeyError, TypeError, AttributeError, RecursionError, json.JSONDecodeError) as error:
        raise ValueError("not a record of an install") from error


def _file(content: Mapping[str, Any]) -> EditedFile:
    return EditedFile(
        path=str(content["path"]),
        format=Format(content["format"]),
        is_new=bool(content["new"]),
        made=tuple(map(str, content.get("made", ()))),
        before=str(content["before"]),
        after=str(content["after"]),
        steps=[[Splice(int(at), str(out), str(into)) for at, out, into in step] for step in content["steps"]],
        keys=[
            WrittenKey(
                path=tuple(map(str, key["path"])),
                value=key["value"],
                is_item=bool(key["item"]),
                earlier=None if key["earlier"] is None else str(key["earlier"]),
                known=int(key["known"]),
                switches=None if key.get("switches") is None else str(key["switches"]),
            )
            for key in content["keys"]
        ],
    )


class InstallRecords:
    """Stores a user's records in Remit's data directory, and an administrator's where all users read them."""

    def __init__(self, machine: Machine, *, is_managed: bool = False) -> None:
        self._machine = machine
        self._is_managed = is_managed
        self._path: Callable[[str, Machine], str] = managed_record_path if is_managed else record_path

    def load(self, client: str) -> InstallRecord | None:
        """Read a client's record; None without one.

        Raises:
            FileChangeError: the record cannot be read.
        """
        path = self._path(client, self._machine)
        text = read_exactly(path)
        try:
            return None if text is None else read(text)
        except ValueError as error:
            raise FileChangeError(
                f"{path}: {error}", hint="move it away; `remit uninstall` then removes what it recognizes"
            ) from None

    def save(self, install: InstallRecord) -> None:
        """Write a record; a user's own is private."""
        path = self._path(install.client, self._machine)
        change_file(path, lambda _: write(install), is_public=self._is_managed)

    def drop(self, client: str) -> None:
        """Delete a record."""
        path = self._path(client, self._machine)
        change_file(path, lambda _: None)
        folder = os.path.dirname(path)
        remove_empty([folder, os.path.dirname(folder)] if self._is_managed else [folder])
