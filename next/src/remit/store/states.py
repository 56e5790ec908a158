"""Remit's own configuration, compiled for a workspace, and the values of states."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from remit.store.database import Database, place_parameters, see_project
from remit.store.scans import StoredFile, keep_files, stored_files

if TYPE_CHECKING:
    from remit.decision import JsonValue, Workspace

_READER = "remit"
_CLOCK_ERROR = 3_600_000  # claims last seconds, so one that lasts an hour used another clock


class CompiledConfiguration(NamedTuple):
    """The configuration of a workspace, as its files say."""

    inputs: Mapping[str, str]  # each file with its fingerprint
    content: str  # rules and states, as JSON


class Observation(NamedTuple):
    """The result of a detector, and how long it counts."""

    mark: str  # digest of the detector and what it looks at
    truth: bool | None  # None: unknown
    reason: str
    amount: int | None  # if the detector counts
    at: int  # 0: never detected
    until: int


class PushedState(NamedTuple):
    """A value that a host application pushed."""

    value: JsonValue
    at: int
    until: int


class WorkflowState(NamedTuple):
    """When a workflow state was set, and by which tool; empty: by a person."""

    at: int
    by: str


class StoredStates(NamedTuple):
    """Everything that is stored about the states of a workspace, by name."""

    workflow: Mapping[str, WorkflowState]
    pushed: Mapping[str, PushedState]
    observed: Mapping[str, Observation]


class StateStore:
    """Stores configuration and states.

    A configuration can run commands, and others write a shared store: a process reads back only its own.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._own_files: dict[str, StoredFile] = {}  # with the next, of a shared store
        self._own_configurations: dict[str, CompiledConfiguration] = {}

    def files(self, sources: Iterable[str], workspace: Workspace) -> dict[str, StoredFile]:
        """Return the last valid content of configuration files."""
        if self._database.is_shared:
            return {source: self._own_files[source] for source in sources if source in self._own_files}
        return stored_files(self._database, _READER, sources, workspace)

    def configuration(self, workspace: Workspace) -> CompiledConfiguration | None:
        """Return the compiled configuration of a workspace."""
        if self._database.is_shared:
            return self._own_configurations.get(workspace.dir)
        return self._stored(workspace)

    def keep(
        self, files: Sequence[StoredFile], compiled: CompiledConfiguration, workspace: Workspace, at: int
    ) -> None:
        """Store valid files, and what they compile to."""
        if self._database.is_shared:
            self._own_files |= {file.source: file for file in files}
            self._own_configurations[workspace.dir] = compiled
        stored = self._stored(workspace)
        is_same = stored is not None and stored.content == compiled.content
        with self._database.transaction(changes=None if is_same else "catalog"):
            see_project(self._database, workspace, at)
            keep_files(self._database, _READER, files)
            values = {"inputs": json.dumps(dict(compiled.inputs)), "content": compiled.content}
            self._database.rows("keep_configuration", **values, **place_parameters(workspace))

    def known(self, workspace: Workspace) -> StoredStates:
        """Return what is stored about the states of a workspace."""
        project = workspace.project.hash
        workflow = self._database.rows("workflow_states", project=project)
        pushed = self._database.rows("pushed_states", project=project)
        observed = self._database.rows("observations", **place_parameters(workspace))
        return StoredStates(
            {name: WorkflowState(at, by) for name, at, by in workflow},
            {name: PushedState(json.loads(value), at, until) for name, value, at, until in pushed},
            {
                name: Observation(mark, None if truth is None else bool(truth), *rest)
                for name, mark, truth, *rest in observed
            },
        )

    def advance(
        self, names: Iterable[str], cleared: Iterable[str], by: str, workspace: Workspace, at: int
    ) -> None:
        """Set and clear workflow states, as the success of a tool or a person does."""
        project = workspace.project.hash
        with self._database.transaction(changes="states"):
            see_project(self._database, workspace, at)
            for name in names:
                self._database.rows("set_state", project=project, name=name, at=at, by=by)
            for name in cleared:
                self._database.rows("clear_state", project=project, name=name)

    def push(
        self, values: Mapping[str, JsonValue], until: Mapping[str, int], workspace: Workspace, at: int
    ) -> None:
        """Store the values that a host application pushes, each with its expiry; None withdraws a value."""
        project = workspace.project.hash
        with self._database.transaction(changes="states"):
            see_project(self._database, workspace, at)
            for name, value in values.items():
                about = {"project": project, "name": name}
                if value is None:
                    self._database.rows("withdraw_state", **about)
                else:
                    text = json.dumps(value)
                    self._database.rows("push_state", **about, value=text, at=at, until=until[name])

    def claim(self, name: str, mark: str, workspace: Workspace, at: int, until: int) -> bool:
        """Claim the detection of a state; False if another process has claimed it."""
        with self._database.transaction():
            see_project(self._database, workspace, at)
            about = {**place_parameters(workspace), "name": name, "mark": mark, "at": at}
            claim = {"latest": at + _CLOCK_ERROR, "claimed_until": until}
            return bool(self._database.rows("claim_observation", **about, **claim))

    def keep_observation(self, name: str, observation: Observation, workspace: Workspace) -> None:
        """Store the result of a detector, which ends the claim on it."""
        truth = None if observation.truth is None else int(observation.truth)
        values = {**observation._asdict(), **place_parameters(workspace), "name": name, "truth": truth}
        with self._database.transaction(changes="states"):
            see_project(self._database, workspace, observation.at)
            self._database.rows("keep_observation", **values)

    def _stored(self, workspace: Workspace) -> CompiledConfiguration | None:
        rows = self._database.rows("configuration", **place_parameters(workspace))
        return CompiledConfiguration(json.loads(rows[0][0]), rows[0][1]) if rows else None
