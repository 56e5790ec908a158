"""Uses and reports of names, and the answers that hooks keep."""

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from remit.decision import Authority, Definition, Workspace
from remit.store.database import Database, Value, scope_parameters, see_project
from remit.store.listings import make_definition
from remit.text import definition_tokens


class Total(NamedTuple):
    """All uses of a name in a project."""

    client: str
    name: str
    uses: int
    failures: int
    last_used_at: int
    mean_ms: float | None = None  # of a call that succeeded, if known


class HourlyUse(NamedTuple):
    """The uses of a name in one hour."""

    client: str
    name: str
    hour: int  # since the epoch
    uses: int
    failures: int


class SessionUse(NamedTuple):
    """The uses of one session."""

    session: str
    client: str
    started_at: int
    ended_at: int
    calls: int
    failures: int
    tools: int  # distinct


class ProjectUse(NamedTuple):
    """The uses of one project, without the names of tools."""

    path: str
    hash: str
    uses: int
    failures: int
    last_used_at: int


class KeptKey(NamedTuple):
    """A call about which a hook has nothing to say; empty: unknown."""

    client: str
    launch: str  # key of the client's launch flags
    tool: str
    server: str
    source: str
    subject: str
    agent: str
    mode: str


class UsageStore:
    """Stores what was used, by name: a use never makes or widens a tool."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def report(
        self,
        name: str,
        client: str,
        authority: Authority,
        workspace: Workspace,
        at: int,
        *,
        description: str | None = None,
        schema: dict[str, object] | None = None,
    ) -> None:
        """Store what a hook or an agent tells of a name in this project."""
        definition = None
        if description is not None or schema is not None:
            raw = {"description": description, "inputSchema": schema}
            definition = make_definition(name, None, None, description, raw)
        project = workspace.project.hash
        with self._database.transaction(changes="catalog"):
            see_project(self._database, workspace, at)
            if definition is not None:
                self._database.rows("define", **_columns(definition, schema))
            self._database.rows(
                "report",
                project=project,
                client=client,
                name=name,
                authority=int(authority),
                definition=definition and definition.digest,
                at=at,
            )

    def forget_report(self, name: str, client: str, workspace: Workspace) -> None:
        """Forget what was told of a name in this project."""
        with self._database.transaction(changes="catalog"):
            project = workspace.project.hash
            self._database.rows("forget_report", project=project, client=client, name=name)

    def totals(self, workspace: Workspace) -> list[Total]:
        """List the uses of each name in a project."""
        return [Total(*row) for row in self._database.rows("totals", project=workspace.project.hash)]

    def first_seen(self, workspace: Workspace) -> dict[tuple[str, str], int]:
        """Return when each name in scope was first declared or listed, by client and name."""
        rows = self._database.rows("first_seen", **scope_parameters(workspace))
        return {(client, name): at for client, name, at in rows}

    def by_project(self) -> list[ProjectUse]:
        """List the uses of every project, most used first; for people only."""
        return [ProjectUse(*row) for row in self._database.rows("totals_of_projects")]

    def hourly(self, workspace: Workspace, reach_back: int) -> list[HourlyUse]:
        """List the logged uses by hour, as far back from the newest as a number of milliseconds."""
        place = {"project": workspace.project.hash, "reach_back": reach_back}
        return [HourlyUse(*row) for row in self._database.rows("hourly_uses", **place)]

    def sessions(self, workspace: Workspace, most: int) -> list[SessionUse]:
        """List the newest sessions with logged uses."""
        rows = self._database.rows("sessions", project=workspace.project.hash, most=most)
        return [SessionUse(*row) for row in rows]

    def is_kept(self, key: KeptKey, version: str, workspace: Workspace) -> bool:
        """Return whether a hook had nothing to say about a call, at this version and catalog revision."""
        place = {"workspace": workspace.dir, "project": workspace.project.hash, "version": version}
        return bool(self._database.rows("kept_answer", **key._asdict(), **place))

    def stamps(self, key: KeptKey, workspace: Workspace) -> dict[str, str]:
        """Return the fingerprints that must be unchanged for a kept answer to count."""
        place = {"workspace": workspace.dir, "project": workspace.project.hash}
        return dict(self._database.rows("kept_stamps", client=key.client, launch=key.launch, **place))

    def keep_answer(self, key: KeptKey, version: str, revision: int, workspace: Workspace, at: int) -> None:
        """Keep that there is nothing to say about a call, decided at a revision, and drop older answers."""
        place = {"workspace": workspace.dir, "project": workspace.project.hash, "version": version}
        with self._database.transaction():
            see_project(self._database, workspace, at)
            self._database.rows("forget_old_answers", revision=revision)
            self._database.rows("keep_answer", **key._asdict(), **place, revision=revision)


class Use(NamedTuple):
    """One use of a name."""

    client: str
    name: str
    at: int
    outcome: str  # `+`, `-`, or empty: nobody knows


def count_uses(database: Database, uses: Sequence[Use], workspace: Workspace) -> None:
    """Count uses, inside a transaction, and note names that nothing declares and nobody told of."""
    project = workspace.project.hash
    values: list[dict[str, Value]] = [{"project": project, **use._asdict()} for use in uses]
    database.run_each("count_use", values)
    for client, name in unseen_names(database, uses, workspace):
        at = uses[-1].at
        database.rows("see_name", project=project, client=client, name=name, at=at)


def unseen_names(database: Database, uses: Iterable[Use], workspace: Workspace) -> list[tuple[str, str]]:
    """List used names, each with its client, that nothing declares and nobody told of."""
    names = dict.fromkeys((use.client, use.name) for use in uses)
    listed = json.dumps([name for _, name in names])
    known = set(database.rows("declared_names", names=listed, **scope_parameters(workspace)))
    return [name for name in names if name not in known]


def _columns(definition: Definition, schema: object) -> dict[str, Value]:
    written = None if schema is None else json.dumps(schema)
    tokens = definition_tokens(definition.name, definition.description, written)
    empty = dict.fromkeys(("pin", "danger", "findings", "inspector"))
    return {**definition._asdict(), **empty, "tokens": tokens}
