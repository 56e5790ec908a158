"""Remit's own configuration as it counts in a workspace.

Files are read again only when they changed, and of a broken one what it last said still holds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from remit.configuration.config_model import (
    KEY_SEPARATOR,
    OF_A_PROJECT,
    ConfigurationContent,
    ConfigurationFile,
    ConfigurationMistake,
    LoadedFile,
    StoredConfiguration,
    StoredFile,
    TomlDocument,
    key_path,
)
from remit.configuration.file_parser import read
from remit.configuration.layers import Trusted, combine
from remit.configuration.merged_configuration import Configuration, TrustRequest
from remit.configuration.policy_compiler import CompiledPolicy, compile_policy
from remit.configuration.session_settings import SessionSettings, violations
from remit.configuration.session_settings import session_settings as tell
from remit.configuration.state_unlock import state_unlock
from remit.decision.problems import Problem, Severity
from remit.decision.requirements import NO_REQUIREMENTS, Requirement, Requirements

if TYPE_CHECKING:
    from remit.configuration.toml_files import TomlFiles
    from remit.decision.projects import Workspace
    from remit.decision.tools import Tool
    from remit.store.ports import Clock, StateStore

_NOTHING = "{}"
_FLAWLESS = "[]"
_UNREAD = "null"  # of a file that exists, and could never be used
_STILL = "what it said when it could last be used still holds"
_EMPTIED = "it was emptied just now"
_NEVER = "nothing that it says counts"
_ALL = "nobody knows what it forbids, so that all tools are hidden"


class CurrentConfiguration(NamedTuple):
    """A configuration as it is now, and what it was made of."""

    inputs: Mapping[str, str]
    trusted: Mapping[tuple[str, str], str]
    configuration: Configuration
    requirements: Requirements
    ruled: CompiledPolicy
    said: Sequence[LoadedFile]


class ConfigurationFinding(NamedTuple):
    """Something in a file, and how bad it is."""

    severity: Severity
    problem: Problem

    @property
    def position(self) -> tuple[int, int]:
        """The line and the column, from 1; zeros where it is about the file as a whole."""
        found = re.match(r"line (\d+) column (\d+)", self.problem.place)
        return (int(found[1]), int(found[2])) if found else (0, 0)


class ConfigurationService:
    """Reads the configuration of workspaces, and keeps it."""

    def __init__(self, store: StateStore, files: TomlFiles, clock: Clock) -> None:
        self._store = store
        self._files = files
        self._clock = clock
        self._current: dict[str, CurrentConfiguration] = {}

    def current(self, workspace: Workspace) -> CurrentConfiguration:
        """Tell what the files say together, as they are now."""
        files = self._files.files(workspace)
        inputs = {file.path: self._files.fingerprint(file) for file in files}
        trusted = self._store.trusted_parts(workspace)
        current = self._current.get(workspace.dir)
        if current is not None and (current.inputs, current.trusted) == (inputs, trusted):
            return current
        kept = self._store.configuration(workspace)
        if kept is not None and kept.inputs == inputs:
            remembered = self._store.files(inputs, workspace)
            said = [_recalled(file, remembered[file.path]) for file in files if file.path in remembered]
        else:
            said = self._read(files, inputs, trusted, workspace)
        configuration = combine(said, trusted)
        needed, ruled = self._needed(configuration), compile_policy(said, trusted)
        current = CurrentConfiguration(inputs, trusted, configuration, needed, ruled, said)
        self._current[workspace.dir] = current
        return current

    def told(self, workspace: Workspace) -> SessionSettings:
        """Tell how much an agent is told."""
        return tell(self.current(workspace).said)

    def problems(self, workspace: Workspace) -> list[Problem]:
        """List what is wrong in the files."""
        self.current(workspace)
        kept = self._store.configuration(workspace)
        if kept is None:
            return []
        files = self._store.files(kept.inputs, workspace)
        own = [row for path in kept.inputs if path in files for row in json.loads(files[path].problems)]
        return [Problem(source=row[0], place=row[1], reason=row[2]) for row in (*own, *kept.problems)]

    def check(
        self, tools: Iterable[Tool], memory_tools: Sequence[str], workspace: Workspace
    ) -> list[ConfigurationFinding]:
        """List all that is wrong, contradictory or meaningless in the files, in their order."""
        from remit.configuration.lint import remarks  # only `remit policy check` and `doctor` need it

        current = self.current(workspace)
        files = {each.file.path: at for at, each in enumerate(current.said)}
        places = {each.file.path: each.places for each in current.said}
        found = [ConfigurationFinding(Severity.ERROR, each) for each in self.problems(workspace)]
        broken = _broken(self._store.files(current.inputs, workspace).values())
        for severity, file, mistake in remarks(current.said, tools, memory_tools):
            if file.path in broken:
                continue
            source, place, reason = _told(file, places.get(file.path, {}), mistake)
            found.append(ConfigurationFinding(severity, Problem(source=source, place=place, reason=reason)))
        return sorted(found, key=lambda each: (files.get(each.problem.source, -1), each.position))

    def trust_requests(self, workspace: Workspace) -> tuple[TrustRequest, ...]:
        """List the parts of the configuration that need the user's trust."""
        current = self.current(workspace)
        return (*current.configuration.trust_requests, *current.ruled.trust_requests)

    def trust(self, trust_requests: Iterable[TrustRequest], workspace: Workspace) -> None:
        """Let parts of the configuration count, as they stand."""
        for each in trust_requests:
            self._store.trust_part(each.file.path, each.subject, each.digest, workspace, self._clock())
        self._reconsider(workspace)

    def revoke(self, trust_requests: Iterable[TrustRequest], workspace: Workspace) -> None:
        """Let parts of the configuration count no more."""
        for each in trust_requests:
            self._store.revoke_part(each.file.path, each.subject, workspace)
        self._reconsider(workspace)

    def _read(
        self,
        files: Sequence[ConfigurationFile],
        inputs: Mapping[str, str],
        trusted: Mapping[tuple[str, str], str],
        workspace: Workspace,
    ) -> list[LoadedFile]:
        """Read the files that changed, and keep what they say."""
        before = self._store.files(inputs, workspace)
        read_now = {
            file.path: self._keep(file, inputs[file.path], before.get(file.path), workspace) for file in files
        }
        said = [_recalled(file, read_now[file.path]) for file in files]
        configuration = combine(said, trusted)
        self._store.keep_configuration(
            {
                file.path: (read_now[file.path], file.layer in OF_A_PROJECT)
                for file in files
                if read_now[file.path] != before.get(file.path) and (inputs[file.path] or file.path in before)
            },
            StoredConfiguration(
                inputs=inputs,
                problems=self._problems(configuration, said, trusted, _broken(read_now.values())),
                transitions=list(configuration.transitions),
                observes=tell(said).observes,
            ),
            workspace,
            self._clock(),
        )
        return said

    def _keep(
        self, file: ConfigurationFile, fingerprint: str, before: StoredFile | None, workspace: Workspace
    ) -> StoredFile:
        if before is not None and before.fingerprint == fingerprint:
            return before
        text = self._files.read(file, workspace)
        empty = StoredFile(file.path, fingerprint, _NOTHING, _NOTHING, _FLAWLESS)
        if text is None:
            return empty
        problems = self._wrong(file, text)
        if before is not None and before.fingerprint and before.content != _UNREAD:
            if text.may_grow and before.content != _NOTHING:
                problems = [(file.path, "", _EMPTIED)]
            if problems:
                return before._replace(fingerprint=fingerprint, problems=_with(problems, _STILL))
        if problems:
            consequence = _NEVER if file.layer in OF_A_PROJECT else _ALL
            return empty._replace(content=_UNREAD, problems=_with(problems, consequence))
        return empty._replace(content=json.dumps(text.content), places=json.dumps(text.places))

    def _wrong(self, file: ConfigurationFile, text: TomlDocument) -> list[tuple[str, str, str]]:
        if text.problem:
            return [(file.path, text.place, text.problem)]
        content, mistakes = read(text.content)
        if not mistakes and _has_logic(content):
            from remit.configuration.condition_rules import mistakes_in  # most files have no conditions

            mistakes = mistakes_in(content)
        return [_told(file, text.places, each) for each in mistakes]

    def _problems(
        self,
        configuration: Configuration,
        said: Sequence[LoadedFile],
        trusted: Trusted,
        broken: Collection[str],
    ) -> list[tuple[str, str, str]]:
        """List what is wrong only when all files are put together; of a broken one, its places are old."""
        found = [*compile_policy(said, trusted).violations, *violations(said)]
        if any(each.content.states or each.content.tools for each in said):
            from remit.configuration.condition_rules import mistakes_of  # most files have no conditions

            found.extend(mistakes_of(configuration))
        places = {each.file.path: each.places for each in said}
        return [
            _told(file, places.get(file.path, {}), each) for file, each in found if file.path not in broken
        ]

    def _reconsider(self, workspace: Workspace) -> None:
        """Say anew what is wrong: trust has changed, and with it what counts."""
        files = self._files.files(workspace)
        inputs = {file.path: self._files.fingerprint(file) for file in files}
        self._current.pop(workspace.dir, None)
        self._read(files, inputs, self._store.trusted_parts(workspace), workspace)

    def _needed(self, configuration: Configuration) -> Requirements:
        if not configuration.has_conditions:
            return NO_REQUIREMENTS
        from remit.configuration.condition_rules import RuleCondition  # most files have no conditions

        own = frozenset(configuration.states) - configuration.foreign
        return Requirements(
            (
                Requirement(
                    compile_policy.entry.pattern,
                    RuleCondition(
                        compile_policy.entry, () if compile_policy.file.layer in OF_A_PROJECT else own
                    ),
                    compile_policy.file.path,
                )
                for compile_policy in configuration.rules
                if compile_policy.entry.has_condition
            ),
            {name: way for name, state in configuration.states.items() if (way := state_unlock(state))},
        )


def _recalled(file: ConfigurationFile, kept: StoredFile) -> LoadedFile:
    if kept.content == _UNREAD:
        return LoadedFile(file, ConfigurationContent(), is_unread=True)
    content, mistakes = read(json.loads(kept.content))
    places: dict[str, list[int]] = json.loads(kept.places)
    return LoadedFile(file, ConfigurationContent() if mistakes else content, places)


def _broken(files: Iterable[StoredFile]) -> frozenset[str]:
    return frozenset(each.source for each in files if each.problems != _FLAWLESS)


def _with(problems: Iterable[tuple[str, str, str]], consequence: str) -> str:
    return json.dumps([(source, place, f"{reason}; {consequence}") for source, place, reason in problems])


def _has_logic(content: ConfigurationContent) -> bool:
    return any(entry.implies for entry in content.states) or any(
        entry.has_condition for entry in content.tools
    )


def _told(
    file: ConfigurationFile, places: Mapping[str, Sequence[int]], mistake: ConfigurationMistake
) -> tuple[str, str, str]:
    """Write a mistake as a problem: its place in the file, its keys, the message and the hint."""
    path = mistake.path
    while path and KEY_SEPARATOR.join(path) not in places:
        path = path[:-1]
    place = ""
    if path:
        line, column, inner_line, inner_column = places[KEY_SEPARATOR.join(path)]
        if mistake.line and path == mistake.path:
            column = mistake.column if mistake.line > 1 else inner_column + mistake.column - 1
            line = inner_line + mistake.line - 1
        place = f"line {line} column {column}"
    keys = key_path(mistake.path)
    hint = f" ({mistake.hint})" if mistake.hint else ""
    return file.path, place, f"{keys}: {mistake.message}{hint}" if keys else f"{mistake.message}{hint}"
