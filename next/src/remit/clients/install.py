"""Brings Remit's part of clients' files in step with what is wanted; uninstalling wants nothing.

A file's edits are taken back and made anew, so others' changes stay and every byte of ours can go. The record
is saved before the file is replaced, and nothing is written where exactly the wanted edits stand.
"""

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple, cast

from remit.clients.claude_install import (
    DENIED,
    SCRIPT,
    TargetFile,
    Wanted,
    claude_edits,
    known_projects,
    managed_edits,
    project_edits,
    script,
    script_path,
)
from remit.clients.claude_settings import parse_settings
from remit.clients.fields import EntryError, EntryFields
from remit.clients.other_installs import client_edits
from remit.clients.reader import Part
from remit.clients.record import (
    CLAUDE_CODE,
    OPTION,
    InstallLevel,
    InstallRecord,
    RecordedEnvironment,
    entry_words,
    load_record,
    project_records,
    record_path,
    save_record,
)
from remit.clients.settings import Level
from remit.clients.table import CLIENTS, client_called
from remit.decision import CLIENT_TITLES, SERVER, Project, program
from remit.errors import FileChangeError, InstallError, NotFoundError
from remit.files import (
    Edit,
    EditedFile,
    FileError,
    Format,
    Machine,
    WrittenKey,
    apply_edits,
    are_in_place,
    change_file,
    file_lock,
    missing_directories,
    parse_json,
    parse_jsonc,
    parse_toml,
    put_back,
    read_exactly,
    remove_empty,
    require_text,
)
from remit.text import as_list, as_object, did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.text import Clock

_PARSERS = {Format.JSON: parse_json, Format.JSONC: parse_jsonc, Format.TOML: parse_toml}


class PlannedChange(NamedTuple):
    """A change of a file, made or planned."""

    path: str
    before: str | None  # None: no file
    after: str | None
    left: Sequence[str] = ()  # keys that others changed since, so something remains

    @property
    def is_change(self) -> bool:
        """Whether the text differs."""
        return self.before != self.after


class Plan(NamedTuple):
    """What an install changes, and what its files then say, for consent."""

    changes: Sequence[PlannedChange]
    edits: Sequence[Edit] = ()

    @property
    def served(self) -> list[str]:
        """The servers that Remit serves, and that the client stops loading."""
        labels = (edit.switches for edit in self.edits if edit.path[0] != "skillOverrides")
        return list(dict.fromkeys(label for label in labels if label is not None))

    @property
    def hooks(self) -> list[tuple[str, str]]:
        """The events that run Remit, each with the tools it is limited to."""
        groups = [(edit.path[1], edit.value) for edit in self.edits if edit.path[0] == "hooks"]
        return [(event, group.get("matcher", "")) for event, group in groups]

    @property
    def rules(self) -> list[tuple[str, str]]:
        """The client's own rules: `deny` or `ask` with a permission rule, or `off` with a skill."""
        rules = [(edit.path[1], edit.value) for edit in self.edits if edit.path[0] == "permissions"]
        return [*rules, *(("off", edit.path[1]) for edit in self.edits if edit.path[0] == "skillOverrides")]


class Installer:
    """Plans, makes and undoes installs, in the user's files or in the administrator's."""

    def __init__(
        self,
        machine: Machine,
        command: Callable[[], Sequence[str]],
        environment: RecordedEnvironment,
        *,
        clock: "Clock",
        is_managed: bool = False,
    ) -> None:
        self._machine = machine
        self._command = command  # that starts this Remit
        self._environment = environment
        self._clock = clock
        self._is_managed = is_managed

    def client(self, name: str) -> str:
        """Find a client by a common name.

        Raises:
            NotFoundError: Remit cannot be installed in it.
        """
        client, known = client_called(name), (CLAUDE_CODE,) if self._is_managed else tuple(CLIENTS)
        if client not in known:
            hint = did_you_mean(name, known) or f"expected one of {', '.join(known)}"
            raise NotFoundError(f"Remit cannot be installed in `{name}`", hint=hint)
        return client

    def title(self, client: str) -> str:
        """Return the display name of a client."""
        return CLIENT_TITLES[client] + (" for every user of this machine" if self._is_managed else "")

    def level(self, client: str) -> InstallLevel | None:
        """Return how much of Remit is in a client; None without an install.

        Raises:
            FileChangeError: the record cannot be read.
        """
        record = load_record(self._path(client))
        return None if record is None else record.level

    def projects(self, client: str) -> Sequence[str]:
        """List the existing directories in which a client was used, if it records them."""
        return known_projects(self._machine) if client == CLAUDE_CODE and not self._is_managed else ()

    def plan(self, client: str, level: InstallLevel, wanted: Wanted, project: Project | None = None) -> Plan:
        """Return what an install would change: in the client, or in its settings of one project.

        Raises:
            FileChangeError: a file cannot be read, or is invalid.
            InstallError: another server has Remit's name, or the file cannot be Remit's to change.
        """
        record = load_record(self._path(client, project))
        targets = self._targets(client, level, wanted, project)
        steps = _with_recorded(targets, record)
        changes = [self._planned(target, read_exactly(target.path), record)[0] for target in steps]
        return Plan(changes, [edit for target in targets for edit in target.edits])

    def install(
        self, client: str, level: InstallLevel, wanted: Wanted, project: Project | None = None
    ) -> Plan:
        """Install Remit in a client, or copy a project's rules into its settings.

        Raises:
            FileChangeError: a file cannot be read or written, or is invalid; all files are as before.
            InstallError: as of `plan`.
        """
        plan = self.plan(client, level, wanted, project)  # fails before anything is changed
        targets = self._targets(client, level, wanted, project)
        with self._locking(path := self._path(client, project)):
            record = load_record(path) or InstallRecord(client, self._clock())
            record = record._replace(level=level, environment=self._environment)
            return plan._replace(changes=self._sync(path, record, targets))

    def refresh(self, client: str, wanted: Wanted, project: Project | None = None) -> bool:
        """Bring an install in step with the rules; False if nothing changed, or nothing is installed.

        Raises:
            FileChangeError: a file cannot be read or written, or is invalid.
            InstallError: as of `plan`.
        """
        base = load_record(self._path(client))
        if base is None and project is not None:
            base = load_record(record_path(client, self._machine, is_managed=True))
        if base is None or base.environment.configuration not in (None, self._environment.configuration):
            return False
        if project is not None and base.level is InstallLevel.CONTEXT:
            return False
        words = base.gateway.words if base.gateway is not None else ()
        targets = self._targets(client, base.level, wanted, project, words)
        path = self._path(client, project)
        if not os.path.exists(path) and not any(target.edits for target in targets):
            return False
        with self._locking(path):  # sessions may start at the same moment
            record = load_record(path) or InstallRecord(client, self._clock(), self._environment)
            return any(change.is_change for change in self._sync(path, record, targets))

    def plan_removal(self, client: str) -> Plan:
        """Return the changes that an uninstall would make.

        Raises:
            FileChangeError: a file cannot be read, or is invalid.
            InstallError: Remit is not installed.
        """
        removals = [(record, target) for _, record, targets in self._removals(client) for target in targets]
        return Plan(
            [self._planned(target, read_exactly(target.path), record)[0] for record, target in removals]
        )

    def uninstall(self, client: str) -> Plan:
        """Remove Remit from a client; a file that cannot be changed does not block the others.

        The script of the hooks stays with Remit's data: a running client may still start it.

        Raises:
            FileChangeError: a file cannot be changed; its part of the record stays.
            InstallError: Remit is not installed.
        """
        done: list[PlannedChange] = []
        failures: list[InstallError] = []
        with self._locking(self._path(client)):
            for path, record, targets in self._removals(client):
                for target in targets:
                    try:
                        change, record = self._bring(path, record, target)
                        done.append(change)
                    except InstallError as error:
                        failures.append(error)
                if os.path.exists(path) and not record.files:
                    save_record(path, None)
        if failures:
            raise failures[0]
        if self._is_managed:
            with suppress(OSError):
                os.unlink(script_path(self._machine, is_managed=True))
            folder = os.path.dirname(self._path(client))
            remove_empty([folder, os.path.dirname(folder)])
        return Plan(done)

    @contextmanager
    def _locking(self, path: str) -> Generator[None]:
        """Hold a record's lock, so two processes do not take each other's edits for a person's."""
        try:
            with nullcontext() if self._is_managed else file_lock(path):
                yield
        except OSError as error:
            raise FileChangeError(
                f"{path} cannot be changed: {error.strerror or error}", hint="make its directory writable"
            ) from None

    def _path(self, client: str, project: Project | None = None) -> str:
        return record_path(client, self._machine, is_managed=self._is_managed, project=project)

    def _targets(
        self,
        client: str,
        level: InstallLevel,
        wanted: Wanted,
        project: Project | None = None,
        words: Sequence[str] | None = None,
    ) -> list[TargetFile]:
        """Return the files with the edits that they should have; `words` is the gateway's command line."""
        for variable in CLIENTS[client].locating:
            require_text(variable, self._machine.variables)
        if project is not None:
            return project_edits(wanted, project)
        if words is None:
            words = [*self._command(), "serve", "--client", client, OPTION, self._path(client)]
        if client == CLAUDE_CODE:
            edits = managed_edits if self._is_managed else claude_edits
            return edits(level, wanted, words, self._path(client), self._machine)
        if level is not InstallLevel.FULL:
            raise InstallError(
                f"{self.title(client)} has no hooks for Remit: only its gateway can be installed"
            )
        return client_edits(client, words, wanted, self._machine)

    def _removals(self, client: str) -> Iterator[tuple[str, InstallRecord, list[TargetFile]]]:
        """Yield each record with its files to restore, last first; without one, recognize Remit's entries."""
        paths = project_records(self._machine) if client == CLAUDE_CODE and not self._is_managed else []
        is_installed = False
        for path in (*paths, self._path(client)):
            record = load_record(path)
            if record is not None and record.client == client and record.files:
                is_installed = True
                yield path, record, _with_recorded((), record)
        if os.path.exists(path := self._path(client)) or is_installed:
            return
        targets = self._targets(client, InstallLevel.FULL, Wanted(), words=("remit", "serve"))
        files = [file for target in targets if (file := _recognized(target, read_exactly(target.path)))]
        if not files:
            raise InstallError(f"Remit is not installed in {self.title(client)}")
        record = InstallRecord(client, self._clock(), files=files)
        yield path, record, _with_recorded((), record)

    def _sync(self, path: str, record: InstallRecord, targets: Sequence[TargetFile]) -> list[PlannedChange]:
        """Bring files in step, the record first; if one fails, the earlier ones are as before."""
        before, done = load_record(path), list[PlannedChange]()
        if path == self._path(CLAUDE_CODE):
            self._write_script()
        try:
            for target in _with_recorded(targets, record):
                change, record = self._bring(path, record, target)
                done.append(change)
        except InstallError:
            self._restore(done, path, before)
            raise
        if record.files and record != before:
            save_record(path, record, is_public=self._is_managed)
        elif not record.files and before is not None:
            save_record(path, None)
        return done

    def _bring(
        self, path: str, record: InstallRecord, target: TargetFile
    ) -> tuple[PlannedChange, InstallRecord]:
        """Bring one file in step, and return the change and the new record."""
        done: list[tuple[PlannedChange, InstallRecord]] = []

        def change(text: str | None) -> str | None:
            planned, edited = self._planned(target, text, record)
            after = record.with_file(target.path, edited)
            done.append((planned, after))
            if edited is not None and planned.is_change:
                save_record(path, after, is_public=self._is_managed)
            return planned.after

        change_file(target.path, change, is_public=self._is_managed)
        planned, after = done[-1]
        known = record.file(target.path)
        if after.file(target.path) is None and known is not None:
            remove_empty(known.made if planned.after is None else ())
            if os.path.exists(path) and after.files:
                save_record(path, after, is_public=self._is_managed)
        return planned, after

    def _restore(self, done: Sequence[PlannedChange], path: str, before: InstallRecord | None) -> None:
        """Undo the changes of an install that failed; what others changed meanwhile stays recorded."""
        made = load_record(path)
        left = before or (made and made._replace(files=()))
        for change in reversed(done):
            change_file(
                change.path, lambda text, change=change: change.before if text == change.after else text
            )
            edited = None if made is None else made.file(change.path)
            if left is not None and edited is not None and read_exactly(change.path) != change.before:
                left = left.with_file(change.path, edited)
            elif edited is not None and change.before is None:
                remove_empty(edited.made)
        if made is not None:
            save_record(path, left if left is not None and left.files else None, is_public=self._is_managed)

    def _planned(
        self, target: TargetFile, text: str | None, record: InstallRecord | None
    ) -> tuple[PlannedChange, EditedFile | None]:
        """Plan the change of a file, with its new record; None if nothing of ours is in it."""
        path, edits = target.path, target.edits
        known = None if record is None else record.file(path)
        if text is None and not edits:
            return PlannedChange(path, None, None), None
        try:
            _require_room(target, text)
            if known is not None and edits and are_in_place(text, target.format, edits, known):
                return PlannedChange(path, text, text), known
            known = known or _recognized(target, text)
        except FileError as error:
            place = f", {error.place}" if error.place else ""
            raise FileChangeError(
                f"{path}{place}: {error.reason}; nothing was written",
                hint=error.hint or "fix the file, then run this again",
            ) from None
        base, left = (text, ()) if text is None or known is None else put_back(text, known)
        if not edits:
            return PlannedChange(path, text, base, left), None
        after, edited = apply_edits(base, path, target.format, edits)
        if any(edit.path == DENIED or edit.path[0] == "hooks" for edit in edits):
            _require_valid_settings(path, after)
        is_new = edited.is_new or (known is not None and known.is_new)
        made = (known.made if known is not None else ()) or missing_directories(path)
        return PlannedChange(path, text, after), replace(edited, is_new=is_new, made=made)

    def _write_script(self) -> None:
        """Write the script that starts hooks; not as a change that `remit undo` would take back."""
        path = script_path(self._machine, is_managed=self._is_managed)
        text, mode = script(self._machine, is_managed=self._is_managed), 0o755 if self._is_managed else 0o700
        if self._machine.platform == "win32" or (os.access(path, os.X_OK) and read_exactly(path) == text):
            return
        temporary = f"{path}.new"
        try:
            for folder in reversed(missing_directories(path)):
                os.mkdir(folder, 0o700)
                os.chmod(folder, mode)  # whatever the umask
            with open(temporary, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(temporary, mode)
            os.replace(temporary, path)
        except OSError as error:
            raise FileChangeError(
                f"{path} cannot be written: {error.strerror}", hint="make its directory writable"
            ) from None


def _with_recorded(targets: Sequence[TargetFile], record: InstallRecord | None) -> list[TargetFile]:
    """Add the recorded files that should have no edits any more, the last first."""
    paths = [target.path for target in targets]
    files = reversed(record.files) if record is not None else ()
    return [*targets, *(TargetFile(file.path, file.format) for file in files if file.path not in paths)]


def _require_valid_settings(path: str, text: str) -> None:
    """Require that the client does not ignore a settings file as a whole: it says nothing of it."""
    try:
        parse_settings(EntryFields(parse_json(text)), Part(path), Level.USER)
    except EntryError as error:
        raise FileChangeError(
            f"{path}: {error}; Claude Code ignores the whole file, so nothing was written",
            hint="fix the file, then run this again",
        ) from None


def _require_room(target: TargetFile, text: str | None) -> None:
    content = None if text is None else _parsed(text, target.format)
    for edit in target.edits:
        entry = _at(content, edit.path)
        if edit.path[-1] == SERVER and entry is not None and not _starts(entry, "serve"):
            raise InstallError(
                f"{target.path} has another server called `{SERVER}`",
                hint="give that server another name, and run the command again",
            )


def _recognized(target: TargetFile, text: str | None) -> EditedFile | None:
    """Recognize what an install wrote in a file without a record, whatever its environment; None: nothing."""
    content = None if text is None else _parsed(text, target.format)
    keys: list[WrittenKey] = []
    for edit in target.edits:
        value = _at(content, edit.path)
        items = as_list(value)
        if (
            edit.path[-1] == SERVER
            and isinstance(value, dict)
            and _is_own_entry(cast("dict[str, Any]", value))
        ):
            keys.append(WrittenKey(path=edit.path, value=value, known=len(edit.path) - 1))
        elif edit.is_item and edit.value in items and str(edit.value).startswith(("Edit(", SERVER)):
            keys.append(WrittenKey(path=edit.path, value=edit.value, is_item=True))
    for event, groups in as_object(_at(content, ("hooks",))).items():
        own = [group for group in as_list(groups) if _is_own_hook(group)]
        keys += [WrittenKey(path=("hooks", event), value=group, is_item=True) for group in own]
    allowed = as_list(_at(content, ("allowedMcpServers",)))
    for item in allowed:
        if _starts({"args": as_object(item).get("serverCommand")}, "serve"):
            keys.append(WrittenKey(path=("allowedMcpServers",), value=item, is_item=True))
    if not keys:
        return None
    return EditedFile(path=target.path, format=target.format, before="", after="", keys=keys)


def _is_own_entry(entry: Mapping[str, Any]) -> bool:
    return _starts(entry, "serve") and OPTION in entry_words(entry)


def _is_own_hook(group: object) -> bool:
    handlers = as_list(as_object(group).get("hooks"))
    return bool(handlers) and all(
        OPTION in entry_words(as_object(handler)) and _starts(handler, "hook") for handler in handlers
    )


def _starts(entry: object, command: str) -> bool:
    """Tell whether an entry of a server or a hook starts a command of Remit."""
    words = entry_words(as_object(entry))
    words = words[0].split() if len(words) == 1 else words
    if command == "hook" and any(program(word) == SCRIPT for word in words):
        return True
    return any(program(word) == "remit" and following == command for word, following in pairwise(words))


def _parsed(text: str, format: Format) -> object:
    return _PARSERS[format](text) if text.strip("\ufeff \t\r\n") else {}


def _at(content: object, path: Sequence[str]) -> object:
    for name in path:
        content = as_object(content).get(name)
    return content
