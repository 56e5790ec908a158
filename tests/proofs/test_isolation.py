"""No tool of another project appears anywhere: in lists, counts, contexts or explanations.

A generated life of a machine: servers are declared, removed and switched off in several projects, workspaces
are scanned, servers are trusted and asked, tools are used and reported, in any order. Every tool's name and
every reported word carries the hash of the project it came from. A plain model beside it knows which of these
may be seen elsewhere: what was used in a workspace where, at a scan or since, the server of that name in
force was the global one. Calls fail, too; because names say where they were called, a demoted tool in another
project's list is a leak.
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.bootstrap import open_states
from remit.catalog.summary import summarize
from remit.cli.output import json_output
from remit.decision.client_reports import CallOutcome, ReportedTool
from remit.decision.decide import UNKNOWN
from remit.decision.declarations import ClientReading, Declaration, Key
from remit.decision.declared_launch import Launch
from remit.decision.kinds import Authority, Kind, ToolStatus
from remit.decision.projects import Project, View, Workspace, identify
from remit.decision.scopes import Scope, in_scope
from remit.decision.settings_rules import Effect, SettingsLevel, SettingsRule
from remit.decision.tool_names import server_name
from remit.decision.tools import Definition
from remit.files import bounded_reader as files
from remit.files.file_stamps import FileStamps
from remit.registry import Registry
from remit.search.engine import SearchEngine
from remit.store.open_store import open_store
from remit.store.sql_store import SqlStore
from remit.trust.server_sandbox import OpenedPaths, Sandbox
from remit.upstream.launch.start_obstacles import LaunchFacts
from remit.upstream.upstream_model import Offer, Upstream
from support.builders import CLIENT
from support.databases import run_sql
from support.postgres import Databases, needs_postgres

IS_FULL = "REMIT_PROOF_EXAMPLES" in os.environ
EXAMPLES = int(os.environ.get("REMIT_PROOF_EXAMPLES", "50"))
PARTS = 2 if IS_FULL else 1  # run side by side; without chance, each would have the same lives

SHOP, BLOG, NESTED = (identify(path) for path in ("/code/shop", "/code/blog", "/code/shop/nested"))
PROJECTS = (SHOP, BLOG, NESTED)
WORKSPACES = (
    Workspace("/code/shop", "/code/shop", SHOP),
    Workspace("/code/shop/api", "/code/shop", SHOP),
    Workspace("/trees/shop", "/trees/shop", SHOP),  # a linked worktree
    Workspace("/code/blog", "/code/blog", BLOG),
    Workspace("/code/shop/nested", "/code/shop/nested", NESTED),  # a repository inside another
)
LABELS = ("git", "wiki")


class Place(NamedTuple):
    """A file, or a part of one, in which servers can be declared."""

    scope: Scope
    project_hash: str | None = None
    dir: str | None = None

    def is_seen_from(self, workspace: Workspace) -> bool:
        return in_scope(self.scope, self.project_hash, self.dir, workspace)


PLACES = (
    Place(Scope.GLOBAL),
    *(Place(scope, project.hash) for project in PROJECTS for scope in (Scope.LOCAL, Scope.PLUGIN)),
    *(Place(Scope.PROJECT, workspace.project.hash, workspace.dir) for workspace in WORKSPACES),
    Place(Scope.PROJECT, SHOP.hash, "/code"),  # a file above the repository, found from inside it
)


class World(NamedTuple):
    """The workspaces of a life, and the places of their servers; a life names them by number."""

    workspaces: Sequence[Workspace]
    places: Sequence[Place]

    @property
    def projects(self) -> list[Project]:
        return list(dict.fromkeys(workspace.project for workspace in self.workspaces))

    @property
    def owners(self) -> set[str]:
        teams = {workspace.team.hash for workspace in self.workspaces if workspace.team is not None}
        return {project.hash for project in self.projects} | teams


DIRECTORIES = World(WORKSPACES, PLACES)


class Edit(NamedTuple):
    """A server is declared in a place, or taken out of it."""

    place: int
    label: int


class SwitchOff(NamedTuple):
    """A server is switched off in a project, or on again."""

    project: int
    label: int


class Look(NamedTuple):
    """Somebody lists the tools of a workspace."""

    workspace: int


class Call(NamedTuple):
    """A tool is used in a workspace, by a hook, which reads no files, or by an application, which does."""

    workspace: int
    label: int
    tool: int
    by_hook: bool
    failures: int  # 0: one call of unknown outcome


class Report(NamedTuple):
    """An agent describes a tool in a workspace."""

    workspace: int
    label: int
    tool: int


class Ask(NamedTuple):
    """A workspace's servers are trusted, and asked for their tools."""

    workspace: int


Step = Edit | SwitchOff | Look | Call | Report | Ask

workspaces = st.integers(0, len(WORKSPACES) - 1)
labels = st.sampled_from([0, 0, 0, 1])  # names that meet are what matters
places = st.sampled_from([0, 0, 0, 0, *range(len(PLACES))])
steps = st.one_of(
    st.builds(Edit, places, labels),
    st.builds(SwitchOff, st.integers(0, len(PROJECTS) - 1), labels),
    st.builds(Look, workspaces),
    st.builds(Call, workspaces, labels, st.integers(0, 1), st.booleans(), st.sampled_from([0, 1, 3])),
    st.builds(Report, workspaces, labels, st.integers(0, 1)),
    st.builds(Ask, workspaces),
)
lives = st.lists(steps, min_size=3, max_size=16)


@dataclass
class Paper:
    """Configuration files that exist on paper only, with a revision in place of time stamps."""

    world: World
    declared: set[tuple[Place, str]] = field(default_factory=set[tuple[Place, str]])
    off: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    revision: int = 0
    home: str = "/home/ada"
    clients: Sequence[str] = (CLIENT,)

    def locate(self, directory: str) -> Workspace:
        return next(each for each in self.world.workspaces if each.dir == directory)

    def canonical(self, path: str) -> str:
        return path

    def exists(self, path: str) -> bool:  # noqa: ARG002 - there are no files
        return False

    def foreign_variables(self, client: str, workspace: Workspace) -> frozenset[str]:  # noqa: ARG002
        return frozenset()

    def is_unchanged(self, inputs: Mapping[str, str]) -> bool:
        return inputs.get("paper") == str(self.revision)

    def stamps(self, inputs: Iterable[str]) -> "PaperStamps":  # noqa: ARG002 - there is one paper
        return PaperStamps(self, self.revision)

    def read(self, view: View) -> ClientReading:
        workspace = view.workspace
        seen = [
            (place, label) for place, label in sorted(self.declared, key=str) if place.is_seen_from(workspace)
        ]
        mine = sorted(label for project, label in self.off if project == workspace.project.hash)
        return ClientReading(
            client=view.client,
            declarations=[_declaration(place, label) for place, label in seen],
            rules=[
                SettingsRule(
                    source="paper", level=SettingsLevel.USER, effect=Effect.APPROVES_ALL, subject="true"
                ),
                *(
                    SettingsRule(
                        source="paper", level=SettingsLevel.STATE, effect=Effect.DISABLES, subject=label
                    )
                    for label in mine
                ),
            ],
            inputs={"paper": str(self.revision)},
        )

    def examine(self, declarations: Sequence[Declaration], workspace: Workspace) -> LaunchFacts:  # noqa: ARG002
        return LaunchFacts()

    def examine_sandboxes(self, facts: LaunchFacts, sandboxes: Mapping[Key, Sandbox | None]) -> LaunchFacts:
        assert not any(sandboxes.values())
        return facts

    def opened_paths(
        self, launch: Launch, sandbox: Sandbox, workspace: Workspace, *, is_projects: bool
    ) -> OpenedPaths:
        raise AssertionError(f"no server has a sandbox: {launch}, {sandbox}, {workspace}, {is_projects}")

    def line_of(self, path: str, *keys: str) -> int:  # noqa: ARG002 - no finding is printed
        return 0

    def is_on_machine(self, client: str) -> bool:  # noqa: ARG002 - all are
        return True

    def leaves_servers(self, client: str) -> bool:  # noqa: ARG002 - nothing is installed
        return False


def _declaration(place: Place, label: str) -> Declaration:
    plugin = "quill" if place.scope is Scope.PLUGIN else None
    return Declaration(
        name=server_name(label, plugin),
        kind=Kind.MCP_SERVER,
        client=CLIENT,
        scope=place.scope,
        source=f"/files/{place.scope}/{place.project_hash}/{place.dir}",
        project_hash=place.project_hash,
        dir=place.dir,
        server=label,
        plugin=plugin,
        digest=label,
        launch=Launch(command=label),
    )


class PaperStamps(FileStamps):
    """The revision of the paper at one moment."""

    def __init__(self, paper: Paper, revision: int) -> None:
        self._paper = paper
        self._revision = revision

    def are_same(self) -> bool:
        return self._paper.revision == self._revision


class PaperServers:
    """Servers that exist on paper only: each lists a tool that carries the hash of its own project."""

    def __init__(self, owners: set[str]) -> None:
        self._owners = owners

    def ask(
        self, upstreams: Sequence[Upstream], on_answer: Callable[[Upstream, Offer], None]
    ) -> Sequence[Offer]:
        offers = [Offer(tools=[self._tool(upstream)]) for upstream in upstreams]
        for upstream, offer in zip(upstreams, offers, strict=True):
            on_answer(upstream, offer)
        return offers

    def _tool(self, upstream: Upstream) -> Definition:
        owner = next((part for part in upstream.key if part in self._owners), "everybody")
        return Definition(name=upstream.canonical(f"{owner}_listed"), description=f"words of {owner}")


class Machine:
    """A registry that lives through steps, and the model beside it."""

    def __init__(self, store: SqlStore, world: World) -> None:
        self.store, self.world, self.paper, self.time = store, world, Paper(world), 0
        states = open_states(store, files.Machine(home="/nowhere", variables={}, root="/nowhere"), self._tick)
        self.registry = Registry(store, self.paper, states, SearchEngine({}), self._tick)
        self.uses: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.seen: dict[tuple[Workspace, str], set[str]] = {}

    def live(self, step: Step) -> None:
        match step:
            case Edit(place, label):
                self.paper.declared ^= {(self.world.places[place % len(self.world.places)], LABELS[label])}
                self.paper.revision += 1
            case SwitchOff(project, label):
                projects = self.world.projects
                self.paper.off ^= {(projects[project % len(projects)].hash, LABELS[label])}
                self.paper.revision += 1
            case Look(workspace):
                self.look(self.workspace(workspace))
            case Call(workspace, label, tool, by_hook, failures):
                for succeeded in [False] * failures or [None]:
                    self._call(self.workspace(workspace), LABELS[label], tool, succeeded, by_hook=by_hook)
            case Report(workspace, label, tool):
                where = self.workspace(workspace)
                name = self._notice(where, LABELS[label], tool)
                self.registry.usage.report_tool(
                    name, self.registry.at(where.dir), description=f"words of {where.project.hash}"
                )
            case Ask(workspace):
                where = self.workspace(workspace)
                here = self.registry.at(where.dir)
                self.registry.trust.grant(self.registry.trust.servers(here), here)
                self.registry.servers.connect(here, PaperServers(self.world.owners))

    def workspace(self, number: int) -> Workspace:
        return self.world.workspaces[number % len(self.world.workspaces)]

    def look(self, workspace: Workspace) -> None:
        self.registry.tools(self.registry.at(workspace.dir))

    def _call(
        self, where: Workspace, label: str, tool: int, succeeded: bool | None, *, by_hook: bool
    ) -> None:
        name = self._notice(where, label, tool)
        self.uses[name] += 1
        self.failures[name] += succeeded is False
        if not by_hook:
            self.registry.usage.record(name, self.registry.at(where.dir), succeeded=succeeded)
            return
        is_scanned = self.paper.is_unchanged(self.store.inputs(View(CLIENT, where)))
        reported = ReportedTool(name, CLIENT, where, Authority.HOOK, self._tick(), is_scanned)
        self.store.record(reported, CallOutcome(succeeded=succeeded))

    def _notice(self, where: Workspace, label: str, tool: int) -> str:
        name = f"mcp__{label}__{where.project.hash}_{tool}"
        self.seen.setdefault((where, label), set()).add(name)
        return name

    def _tick(self) -> int:
        self.time += 1
        return self.time


@pytest.fixture(scope="module")
def store() -> SqlStore:
    return open_store(":memory:")


@pytest.fixture(scope="module")
def postgres(databases: Databases) -> Generator[SqlStore]:
    made = open_store(databases.create())
    yield made
    made.close()


@pytest.mark.proof
@pytest.mark.parametrize("part", range(PARTS))
@settings(max_examples=EXAMPLES // PARTS, database=None)
@given(life=lives, asked_from=workspaces)
def test_no_tool_of_another_project_appears_in_any_list_count_context_explanation_or_diagnosis(
    store: SqlStore,
    part: int,  # noqa: ARG001 - the same proof, side by side
    life: list[Step],
    asked_from: int,
) -> None:
    check_isolation(_emptied(store), life, asked_from)


@needs_postgres
@settings(max_examples=EXAMPLES // 4, database=None)
@given(life=lives, asked_from=workspaces)
def test_nor_does_it_in_postgresql(postgres: SqlStore, life: list[Step], asked_from: int) -> None:
    check_isolation(_emptied(postgres), life, asked_from)


def _emptied(store: SqlStore) -> SqlStore:
    run_sql(store, "delete from projects; delete from tools; delete from definitions")
    return store


def check_isolation(
    store: SqlStore, life: Sequence[Step], asked_from: int, world: World = DIRECTORIES
) -> None:
    machine = Machine(store, world)
    for step in life:
        machine.live(step)
    workspace = machine.workspace(asked_from)
    here = machine.registry.at(workspace.dir)
    machine.look(workspace)
    listed = machine.registry.tools(here)

    sightings = set(run_sql(store, "select tool_id, project_hash from sightings"))
    stored = run_sql(store, "select name, scope, project_hash, dir, authority, id from tools")
    rows = [
        row for row in stored if row[4] == Authority.CONFIG or (row[5], workspace.project.hash) in sightings
    ]
    seen = [row[:4] for row in rows if in_scope(Scope(row[1]), row[2], row[3], workspace)]
    catalog = [(tool.name, tool.scope.value, tool.project_hash, tool.dir) for tool, _ in listed]
    assert sorted(map(str, catalog)) == sorted(map(str, seen))  # the SQL rule and the pure rule agree

    totals = "from usage_totals u join tools t on t.id = u.tool_id group by 1"
    counted = run_sql(store, f"select t.name, sum(u.uses), sum(u.failures) {totals}")
    assert sorted(counted) == sorted(
        (name, uses, machine.failures[name]) for name, uses in machine.uses.items()
    )

    demoted = [tool for tool, _ in listed if tool.status is ToolStatus.DEMOTED or tool.outcomes]
    assert [tool.name for tool in demoted if workspace.project.hash not in tool.name] == []
    assert [tool.name for tool in demoted if machine.failures[tool.name] < len(tool.outcomes)] == []

    foreign = {
        name
        for (where, _), used in machine.seen.items()
        if where.project != here.workspace.project
        for name in used
    }
    asked = [item.tool.name for item in listed[:3]] + sorted(foreign)
    explained = {name: machine.registry.explain(name, here) for name in asked}
    said = json.dumps(
        [
            json_output.listing(listed, summarize(listed, here), here),
            # Who asks has said the name, and gets it back where a server that is known here could have it.
            [
                json.dumps(json_output.explanation(item)).replace(name, "" if item.is_assumed else name)
                for name, item in explained.items()
                if item.tool is not None
            ],
            machine.registry.session_context(here),
            json_output.diagnosis(machine.registry.diagnose(here), here),
        ]
    )
    own = {workspace.project.hash, "" if workspace.team is None else workspace.team.hash}
    assert [owner for owner in world.owners - own if owner in said] == []
    # A foreign name is unknown, unless a server that covers it is known here and answers for it.
    covered = {
        name for name in foreign if any(name.startswith(row[0][:-1]) for row in seen if row[0].endswith("*"))
    }
    unknown = foreign - covered
    assert [name for name in unknown if explained[name].decision != UNKNOWN] == []
