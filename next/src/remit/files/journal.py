"""The journal of Remit's changes to files, from which `remit undo` restores every byte.

An entry holds only the replaced parts of a file, so it copies no secrets.
"""

import json
import os
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from remit.errors import FileChangeError
from remit.files.changes import FileChange, change_file, observing, read_exactly, remove_empty
from remit.files.edits import digest
from remit.files.formats import position
from remit.files.json_text import Splice, SpliceError, inverse, splice
from remit.files.private_files import write_private

VERSION = 1
MOST_ENTRIES = 50

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*+"?|\r?\n[ \t]*|[ \t]+|\w+|.', re.DOTALL)  # never splits a string
_MOST_BY_WORD = 200_000  # characters; more are compared line by line
_MANY = 20_000  # parts to compare without shortcuts, which may find larger differences


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    """A file that was changed, with what restores it."""

    path: str
    before: str | None  # digests; None: no file
    after: str | None
    splices: Sequence[Splice]
    made: Sequence[str] = ()  # directories created, innermost first


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """What one command changed."""

    at: int  # milliseconds
    command: str
    is_derived: bool = False  # follows from other changes, such as deny rules in a client's settings
    files: Sequence[ChangedFile] = ()

    @property
    def paths(self) -> list[str]:
        """The changed files."""
        return [file.path for file in self.files]


class ChangeJournal:
    """Records the changes of commands in a folder, and undoes the last one."""

    def __init__(self, folder: str, clock: Callable[[], int]) -> None:
        self._folder = folder
        self._clock = clock

    @contextmanager
    def recording(self, command: str, *, is_derived: bool = False) -> Generator[None]:
        """Record every change of a file that is made inside the block as one entry."""
        with observing(self.recorder(command, is_derived=is_derived)):
            yield

    def recorder(self, command: str, *, is_derived: bool = False) -> Callable[[FileChange], None]:
        """Return what records the changes of files that it is told of as one entry."""
        times = (name.partition("-")[0] for name in self._names())
        latest = max((int(time) for time in times if time.isdecimal()), default=0)
        at = max(self._clock(), latest + 1)  # a clock may stand still, or be set back
        entry = JournalEntry(at=at, command=command, is_derived=is_derived)
        path = os.path.join(self._folder, f"{at:015d}-{os.getpid()}.json")

        def record(change: FileChange) -> None:
            nonlocal entry
            others = [file for file in entry.files if file.path != change.path]
            earlier = next((file for file in entry.files if file.path == change.path), None)
            entry = replace(entry, files=(*others, _changed(change, earlier)))
            write_private(path, json.dumps({"version": VERSION, **asdict(entry)}, indent=1) + "\n")
            for name in self._names()[:-MOST_ENTRIES]:
                os.unlink(os.path.join(self._folder, name))

        return record

    def last(self) -> list[JournalEntry]:
        """Return the last entry that a person made, behind those derived from it; empty without one.

        Raises:
            FileChangeError: an entry cannot be read.
        """
        for group in self._groups():
            return group
        return []

    def entries(self) -> list[JournalEntry]:
        """List the entries that a person made, newest first.

        Raises:
            FileChangeError: an entry cannot be read.
        """
        return [group[-1] for group in self._groups()]

    def drop_settled(self) -> list[JournalEntry]:
        """Forget the last entries whose files have their former content already, and return them.

        Raises:
            FileChangeError: an entry cannot be read.
        """
        dropped: list[JournalEntry] = []
        for group in self._groups():
            former = {file.path: file.before for entry in group for file in entry.files}
            if any(_digest(read_exactly(path)) != before for path, before in former.items()):
                break
            self._forget(len(group))
            dropped.append(group[-1])
        return dropped

    def undo(self) -> list[str]:
        """Undo the last entry, and return the restored files.

        Raises:
            FileChangeError: a file changed since, or cannot be written; then nothing is undone.
        """
        entries = self.last()
        restored: dict[str, str | None] = {}
        for entry in entries:
            for file in reversed(entry.files):
                if os.path.realpath(file.path) != file.path:  # a link was put in its way
                    raise FileChangeError(
                        f"{file.path} leads elsewhere since `{entry.command}`; nothing was undone",
                        hint="remove the link, or restore the file by hand",
                    )
                now = restored[file.path] if file.path in restored else read_exactly(file.path)
                restored[file.path] = _restored(file, now, entry.command, _hint(entries[-1].command))
        with observing(lambda _: None):  # an undo is not recorded
            for path, text in restored.items():
                change_file(path, lambda _, text=text: text)
        for file in (file for entry in entries for file in entry.files if file.before is None):
            remove_empty(file.made)
        self._forget(len(entries))
        return list(restored)

    def _groups(self) -> Iterator[list[JournalEntry]]:
        """Iterate over the entries that a person made, newest first, each behind those derived from it."""
        group: list[JournalEntry] = []
        for name in reversed(self._names()):
            group.append(self._load(name))
            if not group[-1].is_derived:
                yield group
                group = []

    def _forget(self, count: int) -> None:
        """Remove the last entries."""
        for name in self._names()[-count:] if count else ():
            os.unlink(os.path.join(self._folder, name))

    def _names(self) -> list[str]:
        try:
            return sorted(name for name in os.listdir(self._folder) if name.endswith(".json"))
        except FileNotFoundError:
            return []

    def _load(self, name: str) -> JournalEntry:
        path = os.path.join(self._folder, name)
        try:
            return _read(read_exactly(path) or "")
        except (KeyError, TypeError, ValueError, RecursionError):
            raise FileChangeError(f"{path} is damaged, or a newer Remit wrote it", hint="delete it") from None


class TextDifference(NamedTuple):
    """A replaced part of a text."""

    line: int  # of its start in the old text, from 1
    column: int
    removed: str
    inserted: str


def differences(before: str, after: str) -> Iterator[TextDifference]:
    """Yield the differences of two texts, in the order of the old one."""
    for at, removed, inserted in _splices(before, after):
        yield TextDifference(*position(before, at), removed, inserted)


def _splices(before: str, after: str) -> list[Splice]:
    """Return small replacements that turn a text into another."""
    old_lines, new_lines = _LINE.findall(before), _LINE.findall(after)
    start = _same(old_lines, new_lines)
    end = _same(old_lines[start:][::-1], new_lines[start:][::-1])
    at = sum(map(len, old_lines[:start]))
    old, new = (lines[start : len(lines) - end] for lines in (old_lines, new_lines))
    if sum(map(len, old)) + sum(map(len, new)) <= _MOST_BY_WORD:
        old, new = (_TOKEN.findall("".join(lines)) for lines in (old, new))
    splices: list[Splice] = []
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=len(old) > _MANY).get_opcodes():
        removed = "".join(old[a:b])
        if tag != "equal":
            splices.append(Splice(at, removed, "".join(new[c:d])))
        at += len(removed)
    return splices


def _same(old: Sequence[str], new: Sequence[str]) -> int:
    """Count the equal lines at the start."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (line, other) in pairs if line != other), min(len(old), len(new)))


def _changed(change: FileChange, earlier: ChangedFile | None) -> ChangedFile:
    """Record a change, together with an earlier one of the same command."""
    before, made = change.before, change.made
    if earlier is not None and _digest(before) == earlier.after:
        before = None if earlier.before is None else splice(before or "", inverse(earlier.splices))
        made = (*made, *earlier.made)
    return ChangedFile(
        path=change.path,
        before=_digest(before),
        after=_digest(change.after),
        splices=_splices(before or "", change.after or ""),
        made=made,
    )


def _restored(file: ChangedFile, now: str | None, command: str, hint: str) -> str | None:
    if _digest(now) == file.before:  # the change was recorded, but never made
        return now
    try:
        text = splice(now or "", inverse(file.splices))
    except SpliceError:
        text = ""
    before = None if file.before is None else text
    if _digest(now) != file.after or _digest(before) != file.before:
        raise FileChangeError(f"{file.path} changed after `{command}`; nothing was undone", hint=hint)
    return before


def _hint(command: str) -> str:
    if command.startswith(install := "remit install "):
        client = command.removeprefix(install)
        return f"run `remit uninstall {client}`, which removes Remit's part from the changed file"
    return "undo your own change to that file first, or edit it; `remit undo --list` shows the changes"


def _digest(text: str | None) -> str | None:
    return None if text is None else digest(text)


def _read(text: str) -> JournalEntry:
    content: dict[str, Any] = json.loads(text)
    if content.pop("version") != VERSION:
        raise ValueError("a newer Remit wrote it")
    return JournalEntry(
        at=int(content["at"]),
        command=str(content["command"]),
        is_derived=bool(content["is_derived"]),
        files=[
            ChangedFile(
                path=file["path"],
                before=file["before"],
                after=file["after"],
                splices=[Splice(*part) for part in file["splices"]],
                made=file["made"],
            )
            for file in content["files"]
        ],
    )
