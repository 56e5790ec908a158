"""Loads the configuration of a workspace, merged from its files.

Files are read again only when they change; an invalid file counts with its last valid version.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from remit.configuration.checks.file_problems import file_parser, owner_of, problem_row, problems_in
from remit.configuration.checks.project_limits import violations
from remit.configuration.config_model import (
    OF_A_PROJECT,
    ConfigurationContent,
    ConfigurationFile,
    ConfigurationLayer,
    LoadedFile,
    StoredConfiguration,
    StoredFile,
)
from remit.configuration.file_parser import read
from remit.configuration.layers import SessionSettings, Trusted, combine, meant_here, session_settings
from remit.configuration.machine_files import merged_retention
from remit.configuration.merged_configuration import Configuration, TrustRequest, model_step, state_unlock
from remit.configuration.policy_compiler import CompiledPolicy, compile_policy
from remit.decision.context import FilterFiles
from remit.decision.problems import Problem, Severity
from remit.decision.requirements import NO_REQUIREMENTS, Requirement, Requirements
from remit.errors import StoreUnavailableError
from remit.files.bounded_reader import ANYWHERE, content_digest

if TYPE_CHECKING:
    from remit.configuration.toml_files import TomlFiles
    from remit.decision.context import Context
    from remit.decision.projects import Workspace
    from remit.decision.tools import Tool
    from remit.store.state_store import SqlStates
    from remit.text.times import Clock

_NOTHING = "{}"
_FLAWLESS = "[]"
_UNREAD = "null"  # for a file that exists and was never valid
_STILL = "using the last valid version"
_EMPTIED = "it was emptied just now"
_LOCKED = "the servers of this project are held until it is fixed"
_ALL = "all tools are hidden until it is fixed"


class CurrentConfiguration(NamedTuple):
    """The current configuration, and the inputs it came from."""

    inputs: Mapping[str, str]
    trusted: Mapping[tuple[str, str], str]
    configuration: Configuration
    requirements: Requirements
    compiled: CompiledPolicy
    loaded: Sequence[LoadedFile]
    filters: FilterFiles = ()

    def applied_to(self, context: Context) -> Context:
        """Add the rules to a context."""
        return replace(
            context,
            requirements=self.requirements,
            policy=self.compiled.policy,
            filter_files=self.filters,
        )


def position(problem: Problem) -> tuple[int, int]:
    """Return the line and column of a problem, from 1; zeros for the whole file."""
    found = re.match(r"line (\d+)(?: column (\d+))?", problem.place)
    return (int(found[1]), int(found[2] or 1)) if found else (0, 0)


class ConfigurationFinding(NamedTuple):
    """A problem in a file, with its severity."""

    severity: Severity
    problem: Problem

    @property
    def position(self) -> tuple[int, int]:
        """The line and column, from 1; zeros for the whole file."""
        return position(self.problem)


class DraftConfiguration(NamedTuple):
    """What the configuration would be with another text of one file."""

    file: ConfigurationFile
    configuration: CurrentConfiguration | None  # None: the draft is invalid
    problems: Sequence[Problem] = ()  # of this file


class ConfigurationService:
    """Loads, merges and stores the configuration of workspaces."""

    def __init__(self, store: SqlStates, files: TomlFiles, clock: Clock) -> None:
        self._store = store
        self._files = files
        self._clock = clock
        self._current: dict[str, CurrentConfiguration] = {}

    def current(self, workspace: Workspace) -> CurrentConfiguration:
        """Return the merged configuration, reading changed files again."""
        files = self._files.files(workspace)
        inputs = {file.path: self._files.fingerprint(file, workspace) for file in files}
        current = self._current.get(workspace.dir)
        try:
            trusted = self._store.trusted_parts(workspace)
        except StoreUnavailableError:
            if current is None:
                raise
            return self._with_filters(current, workspace)  # the last known
        if current is not None and (current.inputs, current.trusted) == (inputs, trusted):
            return self._with_filters(current, workspace)
        kept = self._store.configuration(workspace)
        if kept is not None and kept.inputs == inputs:
            remembered = self._store.files(inputs, workspace)
            known = [file for file in files if file.path in remembered]
            loaded = [self._loaded(file, remembered[file.path], workspace) for file in known]
        else:
            loaded = self._read(files, inputs, trusted, workspace)
        return self._with_filters(self._compiled(inputs, trusted, loaded), workspace)

    def _compiled(
        self, inputs: Mapping[str, str], trusted: Trusted, loaded: Sequence[LoadedFile]
    ) -> CurrentConfiguration:
        configuration = combine(loaded, trusted)
        needed, compiled = self._needed(configuration), compile_policy(loaded, trusted)
        return CurrentConfiguration(inputs, trusted, configuration, needed, compiled, loaded)

    def _with_filters(self, current: CurrentConfiguration, workspace: Workspace) -> CurrentConfiguration:
        """Add the digests of the filter files, which may change at any time."""
        found = tuple((path, content_digest(path, within=ANYWHERE)) for path in current.configuration.filters)
        self._current[workspace.dir] = current = current._replace(filters=found)
        return current

    def session_settings(self, workspace: Workspace) -> SessionSettings:
        """Return the session settings."""
        return session_settings(self.current(workspace).loaded)

    def problems(self, workspace: Workspace) -> list[Problem]:
        """List the errors in the files."""
        self.current(workspace)
        kept = self._store.configuration(workspace)
        if kept is None:
            return []
        files = self._store.files(kept.inputs, workspace)
        rows = [json.loads(files[path].problems) for path in kept.inputs if path in files]
        own = [sorted((Problem(*row) for row in of_file), key=position) for of_file in rows]
        return [*chain.from_iterable(own), *(Problem(*row) for row in kept.problems)]

    def misnamed(self, tools: Callable[[], Iterable[Tool]], workspace: Workspace) -> list[Problem]:
        """List the rules without effect, because of how they name a known tool or server."""
        current = self.current(workspace)
        if not current.loaded:
            return []
        from remit.configuration.checks.lint import misnamed  # many users have no files

        places = {each.file.path: each.places for each in current.loaded}
        found = misnamed(current.loaded, tools)
        problems = [Problem(*problem_row(file, places.get(file.path, {}), each)) for _, file, each in found]
        files = {path: at for at, path in enumerate(places)}
        return sorted(problems, key=lambda each: (files[each.source], position(each)))

    def check(
        self, tools: Iterable[Tool], memory_tools: Sequence[str], workspace: Workspace
    ) -> list[ConfigurationFinding]:
        """List all errors, contradictions and rules without effect, in file order."""
        current = self.current(workspace)
        files = {each.file.path: at for at, each in enumerate(current.loaded)}
        found = [ConfigurationFinding(Severity.ERROR, each) for each in self.problems(workspace)]
        broken = _broken(self._store.files(current.inputs, workspace).values())
        remarks = remarks_about(current, tools, memory_tools)
        found += [each for each in remarks if each.problem.source not in broken]
        return sorted(found, key=lambda each: (files.get(each.problem.source, -1), each.position))

    def draft(self, text: str, layer: ConfigurationLayer, workspace: Workspace) -> DraftConfiguration:
        """Tell what the configuration would be if a file had another text; store nothing.

        The file is the user's, or one of the two at the root of the checkout.
        """
        from remit.configuration.rule_drafts import forbidden_changes, parse_draft  # only drafts need it

        current = self.current(workspace)
        files = self._files.files(workspace)
        file = next(each for each in files if each.layer is layer and each.dir in (None, workspace.checkout))
        document = parse_draft(text)
        rows = problems_in(file, document)
        loaded = {each.file.path: each for each in current.loaded}
        if not rows:
            content = read(document.content)[0]
            before = loaded[file.path].content if file.path in loaded else ConfigurationContent()
            rows = [problem_row(file, document.places, each) for each in forbidden_changes(content, before)]
            loaded[file.path] = self._meant(LoadedFile(file, content, document.places), workspace)
        if rows:
            return DraftConfiguration(file, None, [Problem(*row) for row in rows])
        merged = [loaded[each.path] for each in files if each.path in loaded]
        drafted = self._compiled(current.inputs, current.trusted, merged)._replace(filters=current.filters)
        found = self._problems(drafted.configuration, merged, current.trusted, broken=())
        return DraftConfiguration(file, drafted, [Problem(*row) for row in found if row[0] == file.path])

    def trust_requests(self, workspace: Workspace, names: Collection[str] = ()) -> list[TrustRequest]:
        """List the parts of the configuration, or those with these names, that need the user's trust."""
        current = self.current(workspace)
        found = (*current.configuration.trust_requests, *current.compiled.trust_requests)
        return [each for each in found if not names or each.name in names]

    def trust(self, trust_requests: Iterable[TrustRequest], workspace: Workspace) -> None:
        """Trust parts of the configuration in their current form."""
        for each in trust_requests:
            self._store.trust_part(each.file.path, each.subject, each.digest, workspace, self._clock())
        self._reconsider(workspace)

    def revoke(self, trust_requests: Iterable[TrustRequest], workspace: Workspace) -> None:
        """Revoke the trust in parts of the configuration."""
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
        """Read the changed files, and store their content."""
        before = self._store.files(inputs, workspace)
        read_now = {
            file.path: self._keep(file, inputs[file.path], before.get(file.path), workspace) for file in files
        }
        loaded = [self._loaded(file, read_now[file.path], workspace) for file in files]
        configuration = combine(loaded, trusted)
        self._store.keep_configuration(
            {
                file.path: (read_now[file.path], owner_of(file, workspace))
                for file in files
                if read_now[file.path] != before.get(file.path) and (inputs[file.path] or file.path in before)
            },
            StoredConfiguration(
                inputs=inputs,
                problems=self._problems(configuration, loaded, trusted, _broken(read_now.values())),
                transitions=list(configuration.transitions),
                observes=session_settings(loaded).observes,
                retention=merged_retention(loaded),
            ),
            workspace,
            self._clock(),
        )
        return loaded

    def _loaded(self, file: ConfigurationFile, kept: StoredFile, workspace: Workspace) -> LoadedFile:
        return self._meant(_load_stored(file, kept), workspace)

    def _meant(self, loaded: LoadedFile, workspace: Workspace) -> LoadedFile:
        if loaded.file.layer in OF_A_PROJECT:
            return loaded
        return meant_here(loaded, lambda path: self._files.is_project(path, workspace))

    def _keep(
        self, file: ConfigurationFile, fingerprint: str, before: StoredFile | None, workspace: Workspace
    ) -> StoredFile:
        if before is not None and before.fingerprint == fingerprint:
            return before
        text = self._files.read(file, workspace)
        empty = StoredFile(file.path, fingerprint, _NOTHING, _NOTHING, _FLAWLESS)
        if text is None:
            return empty
        problems = problems_in(file, text)
        if problems and file.layer is ConfigurationLayer.LOCK:  # its last valid version may be outdated
            return empty._replace(content=_UNREAD, problems=_with(problems, _LOCKED))
        if before is not None and before.fingerprint and before.content != _UNREAD:
            if text.may_grow and before.content != _NOTHING:
                problems = [(file.path, "", _EMPTIED)]
            if problems:
                return before._replace(fingerprint=fingerprint, problems=_with(problems, _STILL))
        if problems:
            return empty._replace(content=_UNREAD, problems=_with(problems, _ALL))
        return empty._replace(content=json.dumps(text.content), places=json.dumps(text.places))

    def _problems(
        self,
        configuration: Configuration,
        loaded: Sequence[LoadedFile],
        trusted: Trusted,
        broken: Collection[str],
    ) -> list[tuple[str, str, str]]:
        """List the errors in the merged files, except in broken files, whose positions are outdated."""
        found = [*compile_policy(loaded, trusted).violations, *violations(loaded)]
        if any(each.content.states or each.content.tools for each in loaded):
            from remit.configuration.condition_rules import mistakes_of  # most files have no conditions

            found.extend(mistakes_of(configuration))
        places = {each.file.path: each.places for each in loaded}
        return [
            problem_row(file, places.get(file.path, {}), each)
            for file, each in found
            if file.path not in broken
        ]

    def _reconsider(self, workspace: Workspace) -> None:
        """Update the stored problems after a change in trust."""
        files = self._files.files(workspace)
        inputs = {file.path: self._files.fingerprint(file, workspace) for file in files}
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
                    rule.entry.pattern,
                    RuleCondition(rule.entry, () if rule.file.layer in OF_A_PROJECT else own),
                    rule.file.path,
                    rule.line,
                )
                for rule in configuration.rules
                if rule.entry.has_condition
            ),
            {name: way for name, state in configuration.states.items() if (way := state_unlock(state))},
            {name: step for name, state in configuration.states.items() if (step := model_step(state.entry))},
        )


def _load_stored(file: ConfigurationFile, kept: StoredFile) -> LoadedFile:
    if kept.content == _UNREAD:
        return LoadedFile(file, ConfigurationContent(), is_unread=True)
    content, mistakes = file_parser(file)(json.loads(kept.content))
    places: dict[str, list[int]] = json.loads(kept.places)
    return LoadedFile(file, ConfigurationContent() if mistakes else content, places)


def _broken(files: Iterable[StoredFile]) -> frozenset[str]:
    return frozenset(each.source for each in files if each.problems != _FLAWLESS)


def _with(problems: Iterable[tuple[str, str, str]], consequence: str) -> str:
    """Write the problems of a file in order, the first with what follows from them all."""
    (source, place, reason), *others = sorted(problems, key=lambda row: position(Problem(*row)))
    return json.dumps([(source, place, f"{reason}; {consequence}"), *others])


def remarks_about(
    current: CurrentConfiguration, tools: Iterable[Tool], memory_tools: Sequence[str]
) -> Iterator[ConfigurationFinding]:
    """List contradictions and rules without effect in a configuration, in force or drafted."""
    from remit.configuration.checks.lint import (
        remarks,  # only `remit policy check`, `doctor` and drafts need it
    )

    places = {each.file.path: each.places for each in current.loaded}
    for severity, file, mistake in remarks(current.loaded, tools, memory_tools):
        row = problem_row(file, places.get(file.path, {}), mistake)
        yield ConfigurationFinding(severity, Problem(*row))
