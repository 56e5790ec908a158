"""An install: what Remit put into a client's files, and what stood there before.

The record of it holds no more of a file than what was replaced, so that no secret is copied; and of a text
that nobody else wrote to since, every byte can be restored from it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import Any, NamedTuple

from remit.decision.declarations import Declaration
from remit.decision.launch import Transport
from remit.decision.tool_names import normalise
from remit.files.splices import Splice, Step

SERVER = "remit"  # what Remit is called among a client's servers
VERSION = 1


class Format(StrEnum):
    """How a file is written."""

    JSON = "json"
    JSONC = "jsonc"  # with comments and trailing commas
    TOML = "toml"


class Change(NamedTuple):
    """Something that is to stand in a file."""

    path: tuple[str, ...]
    value: Any
    is_item: bool = False  # of a list in which others have items, too


class Target(NamedTuple):
    """A client's file, and what is to stand in it."""

    path: str
    format: Format
    changes: Sequence[Change]


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """Something that was put into a file, with what stood there before."""

    path: tuple[str, ...]
    value: Any
    is_item: bool = False
    earlier: str | None = None  # as it was written; None: nothing stood there
    known: int = 0  # how much of the path was there before


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedFile:
    """A file that was edited, and how that is taken back."""

    path: str
    format: Format
    is_new: bool = False  # there was none
    made: Sequence[str] = ()  # the directories that there were none of, the innermost first
    before: str  # the digest of the text, and of what became of it
    after: str
    steps: Sequence[Step] = ()
    keys: Sequence[Key] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Install:
    """The record of an install in one client."""

    client: str
    at: int
    files: Sequence[EditedFile] = field(default_factory=tuple[EditedFile, ...])

    def with_file(self, edited: EditedFile) -> "Install":
        """The record with what was done to one more file, or to one anew."""
        others = [file for file in self.files if file.path != edited.path]
        return Install(client=self.client, at=self.at, files=(*others, edited))

    def file(self, path: str) -> EditedFile | None:
        """Find what was done to a file."""
        return next((file for file in self.files if file.path == path), None)


def kept(declarations: Iterable[Declaration]) -> list[str]:
    """Name the servers that Remit does not serve, and that their client goes on loading itself.

    A client lists only names of letters, digits, `-` and `_`.
    """
    labels = {item.server or "" for item in declarations if not is_served(item)}
    return sorted(label for label in labels if label == normalise(label))


def is_served(declaration: Declaration) -> bool:
    """Tell whether Remit can serve a server: not over a WebSocket, and not one that an agent brings along."""
    launch = declaration.launch
    return declaration.agent is None and (launch is None or launch.transport is not Transport.WEBSOCKET)


def digest(text: str) -> str:
    """Tell one text from another."""
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def write(install: Install) -> str:
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
                }
                for key in file.keys
            ],
        }
        for file in install.files
    ]
    content = {"version": VERSION, "client": install.client, "at": install.at, "files": files}
    return json.dumps(content, indent=2) + "\n"


def read(text: str) -> Install:
    """Read a record.

    Raises:
        ValueError: it is none, or one of a newer Remit.
    """
    try:
        content = json.loads(text)
        if content["version"] != VERSION:
            raise ValueError("a newer Remit wrote it")
        return Install(
            client=str(content["client"]), at=int(content["at"]), files=tuple(map(_file, content["files"]))
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
            Key(
                path=tuple(map(str, key["path"])),
                value=key["value"],
                is_item=bool(key["item"]),
                earlier=None if key["earlier"] is None else str(key["earlier"]),
                known=int(key["known"]),
            )
            for key in content["keys"]
        ],
    )
