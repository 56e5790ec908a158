"""The journal of Remit's changes to files, from which `remit undo` restores every byte.

An entry holds only the replaced parts of a file, so it copies no secrets.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

from remit.errors import FileChangeError
from remit.files import private_files
from remit.files.safe_changes import ObservedChange, change_file, observing, read_exactly, remove_empty
from remit.files.splices import Splice, SpliceError, apply, inverse
from remit.files.text_diff import splices
from remit.install.install_record import digest

VERSION = 1
MOST_ENTRIES = 50
_FOLDER = "changes"


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
    """Records the changes of commands in Remit's data directory, and undoes the last one."""

    def __init__(self, data: str, clock: Callable[[], int]) -> None:
        self._folder = os.path.join(data, _FOLDER)
        self._clock = clock

    @contextmanager
    def recording(self, command: str, *, is_derived: bool = False) -> Generator[None]:
        """Record every change of a file that is made inside the block as one entry."""
        with observing(self.recorder(command, is_derived=is_derived)):
            yield

    def recorder(self, command: str, *, is_derived: bool = False) -> Callable[[ObservedChange], None]:
        """Return an observer that records changes as one entry."""
        times = (name.partition("-")[0] for name in self._names())
        latest = max((int(time) for time in times if time.isdecimal()), default=0)
        at = max(self._clock(), latest + 1)  # a clock may stand still, or be set back
        entry = JournalEntry(at=at, command=command, is_derived=is_derived)
        path = os.path.join(self._folder, f"{at:015d}-{os.getpid()}.json")

        def record(change: ObservedChange) -> None:
            nonlocal entry
            others = [file for file in entry.files if file.path != change.path]
            known = next((file for file in entry.files if file.path == change.path), None)
            entry = replace(entry, files=(*others, _changed(change, known)))
            private_files.write(path, _write(entry))
            self._forget_old()

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
        """Forget the last entries that leave nothing to undo, and return those that a person made.

        Their files have the former content already, or the last two cancel each other out and a file changed
        since, so neither can be undone.

        Raises:
            FileChangeError: an entry cannot be read.
        """
        dropped: list[JournalEntry] = []
        while settled := _settled(list(islice(self._groups(), 2))):
            for group in settled:
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
        for entry in entries:
            for file in entry.files:
                remove_empty(file.made if file.before is None else ())
        self._forget(len(entries))
        return list(restored)

    def _groups(self) -> Iterator[list[JournalEntry]]:
        """Iterate over the entries that a person made, newest first, each behind those derived from it."""
        found: list[JournalEntry] = []
        for name in reversed(self._names()):
            found.append(self._load(name))
            if not found[-1].is_derived:
                yield found
                found = []

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

    def _forget_old(self) -> None:
        for name in self._names()[:-MOST_ENTRIES]:
            os.unlink(os.path.join(self._folder, name))


def _changed(change: ObservedChange, known: ChangedFile | None) -> ChangedFile:
    """Record a change, together with an earlier one of the same command."""
    before, made = change.before, change.made
    if known is not None and _digest(before) == known.after:
        before = None if known.before is None else apply(before or "", inverse(known.splices))
        made = (*made, *known.made)
    return ChangedFile(
        path=change.path,
        before=_digest(before),
        after=_digest(change.after),
        splices=splices(before or "", change.after or ""),
        made=made,
    )


def _settled(groups: Sequence[Sequence[JournalEntry]]) -> Sequence[Sequence[JournalEntry]]:
    """Return those of the last groups that leave nothing to undo."""
    last = [file for group in groups[:1] for entry in group for file in entry.files]
    found = {file.path: _digest(read_exactly(file.path)) for file in last}
    if last and all(found[path] == before for path, (before, _) in _net(groups[:1]).items()):
        return groups[:1]
    is_changed = any(found[path] != after for path, (_, after) in _net(groups[:1]).items())
    cancels = len(groups) == 2 and all(before == after for before, after in _net(groups).values())
    return groups if is_changed and cancels else ()


def _net(groups: Iterable[Sequence[JournalEntry]]) -> dict[str, tuple[str | None, str | None]]:
    """Return the digests of each file before and after all of the groups, which come newest first."""
    net: dict[str, tuple[str | None, str | None]] = {}
    for group in groups:
        for entry in group:
            for file in entry.files:
                net[file.path] = file.before, net.get(file.path, (None, file.after))[1]
    return net


_INSTALL = "remit install "


def _hint(command: str) -> str:
    if command.startswith(_INSTALL):
        client = command.removeprefix(_INSTALL)
        return f"run `remit uninstall {client}`, which removes Remit's part from the changed file"
    return "undo your own change to that file first, or edit it; `remit undo --list` shows the changes"


def _restored(file: ChangedFile, now: str | None, command: str, hint: str) -> str | None:
    if _digest(now) == file.before:  # the change was recorded, but never made
        return now
    try:
        text = apply(now or "", inverse(file.splices))
    except SpliceError:
        text = ""
    before = None if file.before is None else text
    if _digest(now) != file.after or _digest(before) != file.before:
        raise FileChangeError(
            f"{file.path} changed after `{command}`; nothing was undone",
            hint=hint,
        )
    return before


def _digest(text: str | None) -> str | None:
    return None if text is None else digest(text)


def _write(entry: JournalEntry) -> str:
    return json.dumps({"version": VERSION, **asdict(entry)}, indent=1) + "\n"


def _read(text: str) -> JournalEntry:
    content: dict[str, Any] = json.loads(text)
    if content.pop("version") != VERSION:
        raise ValueError("a newer Remit wrote it")
    return JournalEntry(
        at=int(content["at"]),
        command=str(content["command"]),
        is_derived=bool(content["is_derived"]),
        files=[_file(each) for each in content["files"]],
    )


def _file(content: dict[str, Any]) -> ChangedFile:
    return ChangedFile(
        path=str(content["path"]),
        before=content["before"],
        after=content["after"],
        splices=[Splice(*each) for each in content["splices"]],
        made=content["made"],
    )
