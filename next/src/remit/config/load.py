"""Loads the configuration of a workspace: stored as long as no file changed, else read, checked and merged.

An invalid file counts with its last valid version, and every tool that its readable part names asks.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from remit import __version__
from remit.config.compile import Configuration, TrustRequest, compile_configuration
from remit.config.files import LOCKS, PERSONAL, ConfigFile, Layer, config_files, fingerprints
from remit.decision import Workspace
from remit.errors import StoreUnavailableError
from remit.files import Machine
from remit.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.config.fields import ConfigKey, Mistake
    from remit.store import Problem
    from remit.text import Clock

_STILL = "the last valid version stays in force"
_ASKS = "the tools that it names need approval"
_EMPTIED = "it was emptied just now"
_LOCKED = "the servers of this project are held until it is fixed"


class _Current(NamedTuple):
    inputs: Mapping[str, str]
    trusted: Mapping[tuple[str, str], str]
    configuration: Configuration


class Configurations:
    """The configuration of each workspace."""

    def __init__(
        self,
        store: Store,
        machine: Machine,
        clock: "Clock",
        layers: Sequence[Layer] = (),
        extra_keys: "Callable[[], Iterable[ConfigKey]]" = tuple,
    ) -> None:
        self._store = store
        self._machine = machine
        self._clock = clock
        self._layers = layers
        self._extra_keys = extra_keys
        self._current: dict[str, _Current] = {}

    def current(self, workspace: Workspace) -> Configuration:
        """Return the merged configuration; changed files are read again."""
        files = config_files(workspace, self._machine, self._layers)
        inputs = fingerprints(files, self._machine, now_ns=self._now_ns)
        current = self._current.get(workspace.dir)
        try:
            trusted = self._store.trust.parts(workspace)
        except StoreUnavailableError:
            if current is None:
                raise
            return current.configuration  # the last known
        if current is None or (current.inputs, current.trusted) != (inputs, trusted):
            merged = self._stored(inputs, trusted, workspace)
            if merged is None:
                merged = self._merge(files, inputs, trusted, workspace)
            configuration = compile_configuration(merged, inputs)
            current = self._current[workspace.dir] = _Current(inputs, trusted, configuration)
        return current.configuration

    def problems(self, workspace: Workspace) -> "Sequence[Problem]":
        """List the errors in the files."""
        return self.current(workspace).problems

    def trust(self, requests: Iterable[TrustRequest], workspace: Workspace) -> None:
        """Trust parts of projects' files in the form that was shown."""
        for request in requests:
            part = (request.origin.path, request.subject, request.digest)
            self._store.trust.trust_part(*part, workspace, self._clock())

    def revoke(self, requests: Iterable[TrustRequest], workspace: Workspace) -> None:
        """Revoke the trust in parts of projects' files."""
        for request in requests:
            self._store.trust.revoke_part(request.origin.path, request.subject, workspace)

    @property
    def _now_ns(self) -> int:
        return self._clock() * 1_000_000

    def _stored(
        self, inputs: Mapping[str, str], trusted: Mapping[tuple[str, str], str], workspace: Workspace
    ) -> Mapping[str, Any] | None:
        """Return what was merged before, if nothing has changed since."""
        stored = self._store.states.configuration(workspace)
        if stored is None or stored.inputs != inputs:
            return None
        merged = json.loads(stored.content)
        return merged if merged["basis"] == _basis(trusted) else None

    def _merge(
        self,
        files: Sequence[ConfigFile],
        inputs: Mapping[str, str],
        trusted: Mapping[tuple[str, str], str],
        workspace: Workspace,
    ) -> Mapping[str, Any]:
        from remit.config.keys import TOP_NAMES
        from remit.config.merge import LoadedFile, merge  # few processes find a changed file
        from remit.store import CompiledConfiguration, Problem, StoredFile

        stored = self._store.states.files(inputs, workspace)
        loaded: list[LoadedFile] = []
        changed: list[StoredFile] = []
        problems: list[Problem] = []
        for file in files:
            known = stored.get(file.path)
            if known is None and not inputs[file.path]:
                continue
            content = None if known is None else json.loads(known.content)
            if content is not None and content["version"] != __version__:
                content = None
            if known is None or content is None or known.fingerprint != inputs[file.path]:
                content = self._read(file, content, workspace)
                owner = _owner(file, workspace)
                changed.append(StoredFile(file.path, owner, inputs[file.path], json.dumps(content)))
            valid = content["valid"]
            loaded.append(LoadedFile(file, content["values"], content["places"], valid, content["asking"]))
            problems += (Problem(file.path, place, reason) for place, reason in content["problems"])
        extra = not TOP_NAMES.issuperset(
            key for file in loaded if file.file.layer is not LOCKS for key in file.content
        )
        merged, mistakes = merge(loaded, trusted, self._extra_keys() if extra else ())
        problems += _problems_of(mistakes, merged, loaded)
        merged |= {"problems": problems, "basis": _basis(trusted)}
        compiled = CompiledConfiguration(inputs, json.dumps(merged))
        self._store.states.keep(changed, compiled, workspace, self._clock())
        return json.loads(compiled.content)

    def _read(
        self, file: ConfigFile, before: Mapping[str, Any] | None, workspace: Workspace
    ) -> dict[str, Any]:
        """Read a changed file, as it is stored."""
        from remit.config.check import place_of  # few processes find a changed file
        from remit.config.files import is_filling, named_patterns, read_document
        from remit.config.keys import check_content

        empty: dict[str, Any] = {"version": __version__, "values": {}, "places": {}}
        empty |= {"valid": True, "asking": {}, "problems": []}
        document = read_document(file, workspace)
        if document is None:
            return empty
        is_filled = file.layer.read is None and is_filling(file.path, document.text, now_ns=self._now_ns)
        if before is not None and before["values"] and is_filled:
            problems = [["", f"{_EMPTIED}; {_STILL}"]]
            return {**before, "valid": file.layer is LOCKS and before["valid"], "problems": problems}
        if file.layer is LOCKS and document.problem:  # its last valid version may be outdated
            problems = [[document.place, f"{document.problem}; {_LOCKED}"]]
            return {**empty, "valid": False, "problems": problems}
        if file.layer is LOCKS:
            return {**empty, "values": _without([], document.content)}
        mistakes: list[Mistake] = []
        if not document.problem:
            is_projects = file.layer.is_projects
            mistakes = check_content(document.content, is_projects=is_projects, extra_keys=self._extra_keys)
            mistakes += [] if file.layer.check is None else file.layer.check(document.content)
        rows = sorted(
            ([place_of(mistake, document.places), reason_of(mistake)] for mistake in mistakes), key=_position
        )
        if not document.problem and all(mistake.is_ignored for mistake in mistakes):
            values = _without([mistake.path for mistake in mistakes], document.content)
            return {**empty, "values": values, "places": dict(document.places), "problems": rows}
        rows = rows or [[document.place, document.problem]]
        asking = named_patterns(document.text)
        last = empty if before is None else before
        consequences = ([_STILL] if last["values"] else []) + ([_ASKS] if asking else [])
        rows[0][1] += "".join(f"{'; ' if not at else ', and '}{text}" for at, text in enumerate(consequences))
        kept = {key: last[key] for key in ("values", "places")}
        return {**empty, **kept, "valid": False, "asking": asking, "problems": rows}


def _basis(trusted: Mapping[tuple[str, str], str]) -> list[Any]:
    """Return what the merged content depends on, besides the files."""
    return [__version__, *sorted([*part, digest] for part, digest in trusted.items())]


def _owner(file: ConfigFile, workspace: Workspace) -> str | None:
    """Return the project or group that a file belongs to; None: to everyone on this machine."""
    if file.layer.read is not None and workspace.group is not None:
        return workspace.group.hash
    return workspace.project.hash if file.layer.is_projects or file.layer is PERSONAL else None


def _problems_of(
    mistakes: Iterable[Any], merged: Mapping[str, Any], loaded: Sequence[Any]
) -> "Iterable[Problem]":
    """List the problems that appear by merging, in files whose positions are those of their text."""
    from remit.config.check import mistakes_by_merging, place_of
    from remit.store import Problem

    valid = {file.file.path: file for file in loaded if file.is_valid}
    for file, mistake in (*mistakes, *mistakes_by_merging(merged, loaded)):
        if file.path in valid:
            place = place_of(mistake, valid[file.path].places)
            yield Problem(file.path, place, reason_of(mistake))


def reason_of(mistake: "Mistake") -> str:
    """Write a mistake with its keys and its hint."""
    from remit.config.merge import key_path

    keys = key_path(mistake.path)
    hint = f" ({mistake.hint})" if mistake.hint else ""
    return f"{keys}: {mistake.message}{hint}" if keys else f"{mistake.message}{hint}"


def _position(row: Sequence[str]) -> tuple[int, ...]:
    return tuple(int(word) for word in row[0].split() if word.isdecimal())


def _without(paths: Iterable[Sequence[str]], content: Mapping[str, Any]) -> dict[str, Any]:
    """Copy a content without the values at some paths."""
    copy: dict[str, Any] = json.loads(json.dumps(content, default=str))  # a lock may have dates
    for *above, key in paths:
        table = copy
        for name in above:
            table = table[name]
        table.pop(key, None)
    return copy
