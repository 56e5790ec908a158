"""Nobody sees another team's: no tool, server, rule or memory, with the queries' conditions and without them.

Generated layouts of teams and their projects, each with servers, rules and memory of its own that carry the
hash of their owner; and a life of the projects as in the proof of isolation between directories.
"""

import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.test_isolation import EXAMPLES, Ask, Edit, Place, Step, World, check_isolation, lives
from remit.bootstrap import memory_at
from remit.decision.projects import TEAM, Project, Workspace, identify, team_workspace
from remit.decision.scopes import Scope
from remit.memory.memory_scopes import memory_id, reachable_memories
from remit.search.engine import SearchEngine
from remit.store.database import NamedQueries
from remit.store.open_store import open_store
from remit.store.sql_store import SqlStore
from support.databases import run_sql
from support.memory_calls import session
from support.postgres import Databases, UnfilteredQueries, needs_postgres

pytestmark = [needs_postgres, pytest.mark.proof]
layouts = st.lists(st.integers(1, 3), min_size=2, max_size=4)  # the projects of each team


class Shared(NamedTuple):
    """A store, and its address."""

    store: SqlStore
    address: str


@pytest.fixture(scope="module")
def shared(databases: Databases) -> Generator[Shared]:
    address = databases.create()
    store = open_store(address)
    yield Shared(store, address)
    store.close()


@contextmanager
def conditions(*, are_on: bool) -> Generator[None]:
    """Run the queries with or without their conditions on scope and project."""
    from remit.store.postgres import postgres_database  # its driver is not installed everywhere

    kind = NamedQueries if are_on else UnfilteredQueries
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            postgres_database, "QUERIES", kind(postgres_database.FOLDERS, postgres_database.translate)
        )
        yield


@pytest.mark.parametrize("are_on", [True, False], ids=["with conditions", "without conditions"])
@settings(max_examples=EXAMPLES // 12, database=None)
@given(layout=layouts, life=lives, asked_from=st.integers(0, 11))
def test_nobody_sees_anything_of_another_team(
    shared: Shared,
    tmp_path_factory: pytest.TempPathFactory,
    *,
    are_on: bool,
    layout: list[int],
    life: list[Step],
    asked_from: int,
) -> None:
    world = _laid_out(shared.store, layout)
    queue = tmp_path_factory.getbasetemp() / "queue"
    with conditions(are_on=True):  # writes of memory need them
        memories = [_remember(shared, queue, workspace) for workspace in world.workspaces]
    with conditions(are_on=are_on):
        check_isolation(shared.store, [*_beginning(world), *life], asked_from, world)
        workspace = world.workspaces[asked_from % len(world.workspaces)]
        said = [
            *_recalled(shared, queue, workspace, sorted({*sum(memories, ())})),
            _shared(shared, world, workspace),
        ]
        own = {workspace.project.hash, "" if workspace.team is None else workspace.team.hash}
        assert [owner for owner in world.owners - own if owner in json.dumps(said)] == []
        assert all(owner in json.dumps(said) for owner in own)


def _laid_out(store: SqlStore, layout: Sequence[int]) -> World:
    """Create the teams and projects of a layout, and nothing else."""
    emptied = ("team_servers", "team_projects", "teams", "projects", "tools", "definitions")
    for table in emptied:
        run_sql(store, f"delete from {table}")  # noqa: S608 - a test's
    run_sql(store, "delete from memory_nodes where kind <> 'global'")
    workspaces: list[Workspace] = []
    for number, count in enumerate(layout):
        team = Project(f"{TEAM}t{number}", identify(f"t{number}").hash)
        _insert(store, "projects", team.hash, team.path, 1)
        _insert(store, "teams", team.hash, f"t{number}", f"# {team.hash}", 1)
        _insert(store, "team_servers", team.hash, "git", json.dumps({"command": team.hash}), 1)
        for each in range(count):
            name = f"t{number}p{each}"
            project = Project(f"{team.path}/{name}", identify(name).hash)
            _insert(store, "projects", project.hash, project.path, 1)
            _insert(store, "team_projects", project.hash, team.hash, name, 1)
            workspaces.append(team_workspace(project, team))
    teams = dict.fromkeys(workspace.team.hash for workspace in workspaces if workspace.team is not None)
    places = [Place(Scope.GLOBAL), *(Place(Scope.TEAM, team) for team in teams)]
    return World(workspaces, places)


def _beginning(world: World) -> list[Step]:
    """Let every team declare a server and every project ask it for its tools, so there is much to see."""
    declared = [Edit(at, 0) for at, place in enumerate(world.places) if place.scope is Scope.TEAM]
    return [*declared, *(Ask(number) for number in range(len(world.workspaces)))]


def _insert(store: SqlStore, table: str, *values: str | int) -> None:
    written = ", ".join(f"'{value}'" if isinstance(value, str) else str(value) for value in values)
    run_sql(store, f"insert into {table} values ({written})")  # noqa: S608 - a test's


def _remember(shared: Shared, queue: Path, workspace: Workspace) -> tuple[str, ...]:
    """Save a session of the project and one of its team, and return the ids of both memories."""
    owners = [owner for owner in (workspace.project, workspace.team) if owner is not None]
    with memory_at(shared.address, str(queue), SearchEngine({}), workspace, lambda: 1) as memory:
        for owner in owners:
            said = {"session": session(f"words of {owner.hash}"), "project_id": memory_id(owner)}
            memory.call("save_session", said)
    return tuple(map(memory_id, owners))


def _recalled(shared: Shared, queue: Path, workspace: Workspace, ids: Sequence[str]) -> list[str]:
    """Ask for every memory from a workspace, in both ways; what is asked for does not count as an answer."""
    said: list[str] = []
    bound = reachable_memories(workspace, ())
    with memory_at(shared.address, str(queue), SearchEngine({}), workspace, lambda: 2) as memory:
        for id in ids:
            found = memory.call("retrieve_context", {"scope": "project", "project_id": id}, bound)
            searched = memory.call("memory_surface", {"query": "words", "project_id": id}, bound)
            said += [str(found).replace(id, ""), str(searched).replace(id, "")]
    return said


def _shared(shared: Shared, world: World, workspace: Workspace) -> list[str]:
    """Ask for servers and rules of every team, as a project that claims to belong to it."""
    from remit.store.postgres.postgres_database import PostgresDatabase
    from remit.store.postgres.team_store import SqlTeams

    database = shared.store.database
    assert isinstance(database, PostgresDatabase)
    teams = SqlTeams(database)
    claims = [workspace, *(workspace._replace(team=each.team) for each in world.workspaces)]
    return [f"{dict(teams.servers(claim))} {teams.policy(claim)}" for claim in claims]
