"""Installs Remit in a client and removes it: edits in place, records them, keeps others' changes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.client_settings import ClientSettings
from remit.decision.declarations import Declaration, Key
from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.permissions.client_facts import ALIASES, client_called
from remit.decision.projects import View
from remit.decision.resolve import resolve
from remit.decision.tool_names import SERVER
from remit.errors import FileChangeError, InstallError, NoSuchDirectoryError, NotInstalledError
from remit.files.safe_changes import missing_directories, read_exactly, remove_empty
from remit.install.file_edits import (
    EditableText,
    apply_edits,
    is_in_place,
    remove_edits,
)
from remit.install.install_record import (
    DENIED,
    Edit,
    EditedFile,
    InstallRecord,
    InstallRecords,
    TargetFile,
    denials,
    digest,
    unserved_servers,
)
from remit.install.recorded_environment import RecordedEnvironment, has_store_password
from remit.install.remit_entries import denials_in_place, is_empty, named, recognised, starts
from remit.settings import STORE
from remit.text.spelling import did_you_mean

if TYPE_CHECKING:
    from remit.clients.install_targets import ClientTargets, ManagedTargets
    from remit.scanning.ports import Sources
    from remit.text.times import Clock

_LEFT_OUT = (ConfigStatus.DENIED, ConfigStatus.REJECTED)


class FileChange(NamedTuple):
    """A change of a file, made or planned."""

    path: str
    before: str | None  # None: no file
    after: str | None
    left: Sequence[str] = ()  # keys that others changed since, so something remains

    @property
    def is_change(self) -> bool:
        """Whether the text differs."""
        return self.before != self.after


class Installer:
    """Plans, makes and undoes installs."""

    def __init__(
        self,
        places: ClientTargets | ManagedTargets,
        records: InstallRecords,
        sources: Sources,
        clock: Clock,
        environment: RecordedEnvironment,
        blocks: Callable[[], Sequence[str]] = tuple,
        served: Callable[[str, Sequence[str]], Sequence[Declaration]] = lambda _client, _directories: (),
    ) -> None:
        self._places = places
        self._records = records
        self._sources = sources
        self._clock = clock
        self._environment = environment
        self._blocks = blocks
        self._served = served  # by a client and directories, what Remit serves of its servers
        self._known: dict[str, Sequence[TargetFile]] = {}

    @property
    def clients(self) -> Sequence[str]:
        """The clients that Remit can be installed in."""
        return self._places.clients

    def is_installed(self, client: str) -> bool:
        """Tell whether there is a record of an install.

        Raises:
            FileChangeError: the record cannot be read.
        """
        return self._records.load(client) is not None

    def client(self, name: str, *, verb: str = "installed in") -> str:
        """Find a client by a common name.

        Raises:
            InstallError: Remit cannot be installed in it, or removed from it.
        """
        client = client_called(name)
        if client not in self._places.clients:
            known = ", ".join(f"`{each}`" for each in self._places.clients)
            near = did_you_mean(name, (*self._places.clients, *ALIASES))
            raise InstallError(f"Remit cannot be {verb} `{name}`", hint=near or f"expected one of {known}")
        return client

    def title(self, client: str) -> str:
        """Return the display name of a client."""
        return self._places.title(client)

    def projects(self, client: str) -> Sequence[str]:
        """List the directories in which a client was used, if it records them."""
        return self._places.projects(client)

    def edits(self, client: str) -> dict[str, list[Edit]]:
        """Return what an install writes, by file."""
        return {target.path: list(target.changes) for target in self._targets(client)}

    def switched(self, client: str) -> list[str]:
        """List the servers that an install switches off in the client, because Remit serves them."""
        edits = (edit for target in self._targets(client) for edit in target.changes)
        return [edit.switches for edit in edits if edit.switches is not None]

    def kept(self, client: str) -> list[str]:
        """List the servers that the client keeps, because Remit does not serve them."""
        return list(dict.fromkeys(item.server or "" for item in unserved_servers(self._declared(client))))

    def is_new(self, client: str) -> bool:
        """Tell whether none of a client's files exists yet."""
        return all(read_exactly(target.path) is None for target in self._targets(client))

    def plan(self, client: str) -> list[FileChange]:
        """Return the changes that an install would make.

        Raises:
            FileChangeError: a file cannot be read, or is invalid.
            InstallError: another server has Remit's name, or the address of the store has a password.
        """
        if self._environment.store is not None and has_store_password(self._environment.store):
            raise InstallError(
                f"{STORE} has a password, which an install record must not contain",
                hint="put the password into `~/.pgpass`, or into a file that `?password_file=PATH` names",
            )
        record = self._record(client)
        return [
            self._planned(target, read_exactly(target.path), record)[0] for target in self._targets(client)
        ]

    def install(self, client: str) -> list[FileChange]:
        """Install Remit in a client; record the previous content before changing any file.

        Raises:
            FileChangeError: a file cannot be read or written, or is invalid; all files are as before.
            InstallError: another server has Remit's name.
        """
        self._known.pop(client, None)  # what Remit serves may have changed
        self.plan(client)  # fails before anything is changed
        before = self._records.load(client)
        done: list[FileChange] = []
        try:
            for target in self._targets(client):
                done.append(self._change(target.path, partial(self._recorded, target, client)))
        except FileChangeError:
            self._restore(done, client, before)
            raise
        return done

    def _restore(self, done: Sequence[FileChange], client: str, before: InstallRecord | None) -> None:
        """Undo the changes of an install that failed; what others changed meanwhile stays recorded."""
        made = self._record(client)
        left = before or replace(made, files=())
        for change in reversed(done):
            now = self._change(change.path, partial(_undone, change))
            edited = made.file(change.path)
            if edited is not None and now.after != change.before:
                left = left.with_file(edited)
            elif edited is not None and now.after is None:
                remove_empty(edited.made)
        if left.files:
            self._records.save(left)
        else:
            self._records.drop(client)

    def refresh_blocks(self, client: str, *, may_remove: bool) -> bool:
        """Bring the client's own deny rules in step with the policy; False if there is nothing to change.

        Only if Remit is installed there with this configuration; everything else in the file stays. Only a
        person may have rules removed: what an agent could change must not lift a block.

        Raises:
            FileChangeError: a file cannot be read or written, or is invalid.
        """
        record = self._records.load(client)
        known = None if record is None else record.settings
        if record is None or known is None:
            return False
        if record.environment.configuration not in (None, self._environment.configuration):
            return False
        others = [Edit(key.path, key.value, key.is_item) for key in known.keys if key.path != DENIED]

        def refreshed(text: str | None) -> FileChange:
            kept = () if may_remove else denials_in_place(known, text)
            rules = [*denials(dict.fromkeys((*kept, *self._blocks())))]
            if text is not None and digest(text) != known.after:  # others' changes stay as they are
                return self._with_denials(known, text, rules, record)
            return self._saved(TargetFile(known.path, known.format, [*others, *rules]), text, record)

        return self._change(known.path, refreshed).is_change

    def plan_removal(self, client: str) -> list[FileChange]:
        """Return the changes that an uninstall would make.

        Raises:
            FileChangeError: a file cannot be read, or is invalid.
            NotInstalledError: Remit is not installed.
        """
        return [self._taken(file, read_exactly(file.path)) for file in self._installed(client)]

    def uninstall(self, client: str) -> list[FileChange]:
        """Remove Remit from a client; a file that cannot be changed does not block the others.

        Raises:
            FileChangeError: a file cannot be changed; its part of the record stays.
            NotInstalledError: Remit is not installed.
        """
        done: list[FileChange] = []
        failure: FileChangeError | None = None
        for file in self._installed(client):
            try:
                done.append(self._change(file.path, lambda text, file=file: self._taken(file, text)))
                remove_empty(file.made if done[-1].after is None else ())
            except FileChangeError as error:
                failure = failure or error
        if failure is not None:
            raise failure
        self._records.drop(client)
        return done

    def _record(self, client: str) -> InstallRecord:
        record = self._records.load(client) or InstallRecord(client=client, at=self._clock())
        return replace(record, environment=self._environment)

    def _targets(self, client: str) -> Sequence[TargetFile]:
        if client not in self._known:
            directories = (self._sources.home, *self._places.projects(client), os.getcwd())
            served = partial(self._served, client, list(dict.fromkeys(directories)))
            self._known[client] = self._places.targets(client, self._declared(client), self._blocks(), served)
        return self._known[client]

    def _declared(self, client: str) -> list[Declaration]:
        """List the servers that a client may use, at any scope."""
        found: dict[Key, Declaration] = {}
        for directory in (self._sources.home, *self._places.projects(client)):
            try:
                view = View(client, self._sources.locate(directory))
            except NoSuchDirectoryError:
                continue
            reading = self._sources.read(view)
            for item in resolve(
                reading.declarations, ClientSettings(reading.rules, behavior=reading.behavior)
            ):
                if item.declaration.kind is Kind.MCP_SERVER and item.config_status not in _LEFT_OUT:
                    found.setdefault(item.declaration.key, item.declaration)
        return list(found.values())

    def _planned(
        self, target: TargetFile, text: str | None, record: InstallRecord
    ) -> tuple[FileChange, EditedFile | None]:
        """Plan the change of a file, with its record; no record if nothing changes."""
        known = record.file(target.path)
        with named(target.path):
            self._require_room(target, text)
            if known is not None and is_in_place(text, target.format, target.changes, known.keys):
                return FileChange(target.path, text, text), None
            base = None if text is None else remove_edits(text, known or recognised(target, text)).text
            after, edited = apply_edits(base, target.path, target.format, target.changes)
        is_new = edited.is_new or (known is not None and known.is_new)
        made = (known.made if known is not None else ()) or missing_directories(target.path)
        return FileChange(target.path, text, after), replace(edited, is_new=is_new, made=made)

    def _require_room(self, target: TargetFile, text: str | None) -> None:
        document = None if text is None else EditableText(text, target.format)
        for change in target.changes if document is not None else ():
            found = document.value(change.path) if document is not None else None
            if change.path[-1] == SERVER and found is not None and not starts(found[0], "serve"):
                raise InstallError(
                    f"{target.path} has another server called `{SERVER}`",
                    hint="give that server another name, and run the command again",
                )

    def _recorded(self, target: TargetFile, client: str, text: str | None) -> FileChange:
        return self._saved(target, text, self._record(client))

    def _with_denials(
        self, known: EditedFile, text: str, rules: Sequence[Edit], record: InstallRecord
    ) -> FileChange:
        """Change only the deny rules of a file that others changed, and save its record first."""
        own = [key for key in known.keys if key.path == DENIED]
        with named(known.path):
            if is_in_place(text, known.format, rules, own):
                return FileChange(known.path, text, text)
            base = remove_edits(text, replace(known, before="", after="", keys=own)).text
            after, edited = apply_edits(base, known.path, known.format, rules)
        others = [key for key in known.keys if key.path != DENIED]
        self._records.save(record.with_file(replace(known, steps=(), keys=[*others, *edited.keys])))
        return FileChange(known.path, text, after)

    def _saved(self, target: TargetFile, text: str | None, record: InstallRecord) -> FileChange:
        """Plan the change of a file, and save its record first."""
        change, edited = self._planned(target, text, record)
        record = record if edited is None else record.with_file(edited)
        if record != self._records.load(record.client):
            self._records.save(record)
        return change

    def _installed(self, client: str) -> list[EditedFile]:
        """List the edited files to restore, last first; without a record, recognize Remit's entries."""
        record = self._records.load(client)
        if record is not None and record.files:
            return list(reversed(record.files))
        found: list[EditedFile] = []
        for target in reversed(self._targets(client)):
            text = read_exactly(target.path)
            with named(target.path):
                file = None if text is None else recognised(target, text)
            if file is not None and file.keys:
                found.append(file)
        if not found:
            raise NotInstalledError(f"Remit is not installed in {self.title(client)}")
        return found

    def _taken(self, file: EditedFile, text: str | None) -> FileChange:
        if text is None:
            return FileChange(file.path, None, None)
        with named(file.path):
            taken = remove_edits(text, file)
            is_gone = file.is_new and is_empty(taken, file.format)
        return FileChange(file.path, text, None if is_gone else taken.text, taken.left)

    def _change(self, path: str, plan: Callable[[str | None], FileChange]) -> FileChange:
        done: list[FileChange] = []

        def change(text: str | None) -> str | None:
            done.append(plan(text))
            return done[-1].after

        self._places.change(path, change)
        return done[-1]


def _undone(change: FileChange, text: str | None) -> FileChange:
    """Plan to undo a change, unless others changed the file since."""
    return FileChange(change.path, text, change.before if text == change.after else text)
