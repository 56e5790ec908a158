"""Stores Remit's own configuration, trust in it, and states, by project."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from remit.configuration.config_model import StoredConfiguration, StoredFile
from remit.states.observations import Observation, PushedValue, StoredObservation, StoredStates, WorkflowStep
from remit.store.usage_store import advance_workflow

if TYPE_CHECKING:
    from remit.decision.projects import Workspace
    from remit.store.database import Database

_CLOCK_ERROR = 3_600_000  # claims last seconds, so one that lasts an hour used another clock


class SqlStates:
    """Stores configuration, trust in its parts, and states.

    A configuration can run commands. Whoever has the password of a shared store could write one there, so a
    process only takes back from it what it has read from files itself.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._own_files: dict[str, StoredFile] = {}  # with the next, of a shared store
        self._own_configurations: dict[str, StoredConfiguration] = {}

    def files(self, sources: Iterable[str], workspace: Workspace) -> dict[str, StoredFile]:
        """Return the stored configuration files, by path."""
        if self._database.is_shared:
            return {source: self._own_files[source] for source in sources if source in self._own_files}
        return self._stored_files(sources, workspace)

    def _stored_files(self, sources: Iterable[str], workspace: Workspace) -> dict[str, StoredFile]:
        listed = json.dumps(list(sources))
        owners = {"project": workspace.project.hash, "team": workspace.team.hash if workspace.team else ""}
        found = self._database.rows("configuration_files", sources=listed, **owners)
        return {row[0]: StoredFile(*row) for row in found}

    def configuration(self, workspace: Workspace) -> StoredConfiguration | None:
        """Return the stored configuration of a workspace."""
        if self._database.is_shared:
            return self._own_configurations.get(workspace.dir)
        return configuration(self._database, workspace)

    def keep_configuration(
        self,
        files: Mapping[str, tuple[StoredFile, str | None]],
        came_to: StoredConfiguration,
        workspace: Workspace,
        at: int,
    ) -> None:
        """Store files, each with the project or team that it belongs to, and their merged configuration."""
        project = workspace.project
        if self._database.is_shared:
            self._own_files |= {source: kept for source, (kept, _) in files.items()}
            self._own_configurations[workspace.dir] = came_to
            stored = self._stored_files(files, workspace)
            files = {source: each for source, each in files.items() if stored.get(source) != each[0]}
            if not files and configuration(self._database, workspace) == came_to:
                return  # what another process stored tells others the same
        with self._database.transaction():
            self._see(workspace, at)
            for kept, owner in files.values():
                self._database.run("keep_configuration_file", project_hash=owner, **kept._asdict())
            self._database.run(
                "keep_configuration",
                workspace=workspace.dir,
                project=project.hash,
                **{name: json.dumps(value) for name, value in came_to._asdict().items()},
            )

    def trusted_parts(self, workspace: Workspace) -> dict[tuple[str, str], str]:
        """Return the trusted digests, by file and subject."""
        found = self._database.rows("trusted_parts", project=workspace.project.hash)
        return {(source, subject): digest for source, subject, digest in found}

    def trust_part(self, source: str, subject: str, digest: str, workspace: Workspace, at: int) -> None:
        """Store that the user trusts a part of the configuration."""
        project = workspace.project
        with self._database.administrator() as database, database.transaction():
            database.run("see_project", project=project.hash, path=project.path, at=at)
            part = {"source": source, "subject": subject, "digest": digest}
            database.run("trust_part", project=project.hash, **part, at=at)

    def revoke_part(self, source: str, subject: str, workspace: Workspace) -> None:
        """Revoke the trust in a part of the configuration."""
        with self._database.administrator() as database:
            database.run("revoke_part", project=workspace.project.hash, source=source, subject=subject)

    def known(self, workspace: Workspace) -> StoredStates:
        """Return the stored states of a workspace."""
        project = workspace.project.hash
        workflow = self._database.rows("workflow_states", project=project)
        pushed = self._database.rows("pushed_states", project=project)
        observed = self._database.rows("observations", workspace=workspace.dir, project=project)
        return StoredStates(
            workflow={name: WorkflowStep(at, by) for name, at, by in workflow},
            pushed={name: PushedValue(json.loads(value), at, until) for name, value, at, until in pushed},
            observed={row[0]: _kept(row[1:]) for row in observed},
        )

    def set_state(self, name: str, workspace: Workspace, at: int) -> None:
        """Set a workflow state."""
        with self._database.transaction():
            self._see(workspace, at)
            self._database.run("set_state", project=workspace.project.hash, name=name, at=at, by="")

    def clear_states(self, names: Iterable[str], workspace: Workspace) -> None:
        """Clear workflow states."""
        with self._database.transaction():
            for name in names:
                self._database.run("clear_state", project=workspace.project.hash, name=name)

    def advance(self, tool: str, workspace: Workspace, at: int) -> None:
        """Set and clear the workflow states that the success of a tool changes."""
        with self._database.transaction():
            self._see(workspace, at)
            advance_workflow(self._database, tool, workspace, at)

    def push(
        self, values: Mapping[str, object], workspace: Workspace, at: int, until: Mapping[str, int]
    ) -> None:
        """Store the values that a host application pushes, each with its expiry; None withdraws a value."""
        project = workspace.project.hash
        with self._database.transaction():
            self._see(workspace, at)
            for name, value in values.items():
                if value is None:
                    self._database.run("withdraw_state", project=project, name=name)
                else:
                    text = json.dumps(value)
                    self._database.run(
                        "push_state", project=project, name=name, value=text, at=at, until=until[name]
                    )

    def claim(self, name: str, mark: str, workspace: Workspace, at: int, until: int) -> bool:
        """Claim the detection of a state; False if another process has claimed it."""
        with self._database.transaction():
            self._see(workspace, at)
            claimed = self._database.rows(
                "claim_observation",
                workspace=workspace.dir,
                project=workspace.project.hash,
                name=name,
                mark=mark,
                at=at,
                latest=at + _CLOCK_ERROR,
                claimed_until=until,
            )
        return bool(claimed)

    def keep_observation(self, name: str, kept: StoredObservation, workspace: Workspace) -> None:
        """Store the result of a detector."""
        truth, reason, count = kept.observation
        with self._database.transaction():
            self._see(workspace, kept.at)
            self._database.run(
                "keep_observation",
                workspace=workspace.dir,
                project=workspace.project.hash,
                name=name,
                mark=kept.mark,
                truth=None if truth is None else int(truth),
                reason=reason,
                count=count,
                at=kept.at,
                until=kept.until,
            )

    def _see(self, workspace: Workspace, at: int) -> None:
        project = workspace.project
        self._database.run("see_project", project=project.hash, path=project.path, at=at)


def configuration(database: Database, workspace: Workspace) -> StoredConfiguration | None:
    """Return the stored configuration of a workspace."""
    found = database.rows("configuration", workspace=workspace.dir, project=workspace.project.hash)
    return StoredConfiguration(*map(json.loads, found[0])) if found else None


def _kept(row: tuple[str, int | None, str, int | None, int, int]) -> StoredObservation:
    mark, truth, reason, count, at, until = row
    observation = Observation(None if truth is None else bool(truth), reason, count)
    return StoredObservation(mark, observation, at, until)
