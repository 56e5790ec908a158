"""Uses and reports of names, and the answers that hooks keep."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from remit.store.database import Database, Value, place_parameters, scope_parameters, see_project

if TYPE_CHECKING:
    from remit.decision import Authority, Workspace


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
        definition: dict[str, Value] = {}
        if description is not None or schema is not None:
            from remit.store.listings import report_columns  # hooks report names alone

            definition = report_columns(name, description, schema)
        with self._database.transaction(changes="catalog"):
            see_project(self._database, workspace, at)
            if definition:
                self._database.rows("define", **definition)
            told = {"client": client, "name": name, "authority": int(authority), "at": at}
            self._database.rows(
                "report", project=workspace.project.hash, **told, definition=definition.get("digest")
            )

    def totals(self, workspace: Workspace) -> list[Total]:
        """List the uses of each name in a project."""
        return [Total(*row) for row in self._database.rows("totals", project=workspace.project.hash)]

    def first_seen(self, workspace: Workspace) -> dict[tuple[str, str], int]:
        """Return when each name in scope was first declared or listed, by client and name."""
        rows = self._database.rows("first_seen", **scope_parameters(workspace))
        return {(client, name): at for client, name, at in rows}

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
        place = place_parameters(workspace)
        return bool(self._database.rows("kept_answer", **key._asdict(), **place, version=version))

    def stamps(self, key: KeptKey, workspace: Workspace) -> dict[str, str]:
        """Return the fingerprints that must be unchanged for a kept answer to count."""
        place = place_parameters(workspace)
        return dict(self._database.rows("kept_stamps", client=key.client, launch=key.launch, **place))

    def keep_answer(self, key: KeptKey, version: str, revision: int, workspace: Workspace, at: int) -> None:
        """Keep that there is nothing to say about a call, decided at a revision, and drop older answers."""
        made = {**place_parameters(workspace), "version": version, "revision": revision}
        with self._database.transaction():
            see_project(self._database, workspace, at)
            self._database.rows("forget_old_answers", revision=revision)
            self._database.rows("keep_answer", **key._asdict(), **made)


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
