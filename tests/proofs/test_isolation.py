"""No tool of another project appears anywhere: in lists, counts, contexts or explanations."""

import json
import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remit.adapters.storage.sqlite import SqliteStore
from remit.apps.cli import shapes
from remit.core.decide import UNKNOWN, Context
from remit.core.declarations import ClientSettings, Declaration, Reading
from remit.core.kinds import Kind
from remit.core.names import server_name
from remit.core.projects import Workspace, identify
from remit.core.scopes import Scope, ancestors, in_scope
from remit.registry import Registry
from support import CLIENT, stored

EXAMPLES = int(os.environ.get("REMIT_PROOF_EXAMPLES", "1000"))
PARTS = 2  # run side by side, each with layouts of its own

SHOP, BLOG, NESTED = (identify(path) for path in ("/code/shop", "/code/blog", "/code/shop/nested"))
WORKSPACES = (
    Workspace("/code/shop", "/code/shop", SHOP),
    Workspace("/code/shop/api", "/code/shop", SHOP),
    Workspace("/code/shop/api/v2", "/code/shop", SHOP),
    Workspace("/trees/shop", "/trees/shop", SHOP),  # a linked worktree
    Workspace("/code/blog", "/code/blog", BLOG),
    Workspace("/code/blog/api", "/code/blog", BLOG),
    Workspace("/code/shop/nested", "/code/shop/nested", NESTED),  # a repository inside another
)

PROJECTS = {workspace.project for workspace in WORKSPACES}


class Entry(NamedTuple):
    """A server declared for one workspace's project, at a directory at or above that workspace."""

    owner: int
    scope: Scope
    height: int
    label: int
    switched_off: bool

    @property
    def workspace(self) -> Workspace:
        return WORKSPACES[self.owner]

    @property
    def dir(self) -> str | None:
        above = ancestors(self.workspace.dir)
        return above[self.height % len(above)] if self.scope is Scope.PROJECT else None

    @property
    def project_hash(self) -> str | None:
        return None if self.scope in (Scope.GLOBAL, Scope.MANAGED) else self.workspace.project.hash

    def is_seen_from(self, workspace: Workspace) -> bool:
        return in_scope(self.scope, self.project_hash, self.dir, workspace)

    @property
    def server(self) -> str:
        # Half of the labels are the owner's alone, the others are everybody's.
        mine = (
            f"{self.workspace.project.hash}-{self.dir}-"
            if self.label % 2 and self.project_hash
            else "shared-"
        )
        return f"{mine}{self.scope}-{self.label}".replace("/", ".")


class Use(NamedTuple):
    """A tool that was used or reported in a workspace."""

    workspace: int
    entry: int
    reported: bool


class Layout(NamedTuple):
    entries: list[Entry]
    uses: list[Use]
    asked_from: int


numbers = st.integers(min_value=0, max_value=len(WORKSPACES) - 1)
entries = st.builds(
    Entry, numbers, st.sampled_from(Scope), st.integers(0, 4), st.integers(0, 3), st.booleans()
)
layouts = st.builds(
    Layout,
    st.lists(entries, max_size=8),
    st.lists(st.builds(Use, numbers, st.integers(0, 9), st.booleans()), max_size=6),
    numbers,
)


class Paper:
    """Configuration files that exist on paper only: what a scan of a workspace would find."""

    home = "/home/ada"
    clients: Sequence[str] = (CLIENT,)

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries

    def locate(self, directory: str) -> Workspace:
        return next(workspace for workspace in WORKSPACES if workspace.dir == directory)

    def is_unchanged(self, inputs: Mapping[str, str]) -> bool:
        return bool(inputs)

    def read(self, client: str, workspace: Workspace) -> Reading:
        found = [
            Declaration(
                name=server_name(entry.server),
                kind=Kind.MCP_SERVER,
                client=client,
                scope=entry.scope,
                source=f"/files/{entry.scope}/{entry.dir}/{entry.project_hash}",
                project_hash=entry.project_hash,
                dir=entry.dir,
                server=entry.server,
            )
            for entry in self._entries
            if entry.is_seen_from(workspace)
        ]
        off = frozenset(entry.server for entry in self._entries if entry.switched_off)
        inputs = {declaration.source: "1" for declaration in found}
        return Reading(
            client=client,
            declarations=found,
            settings=ClientSettings(disabled=off),
            inputs=inputs or {"~": "1"},
        )


@pytest.fixture(scope="module")
def store() -> SqliteStore:
    return SqliteStore(":memory:")


def emptied(store: SqliteStore) -> SqliteStore:
    stored(store, "delete from projects; delete from tools; delete from definitions")
    return store


def all_rows(store: SqliteStore) -> list[tuple[str, str, str | None, str | None]]:
    return [(*row,) for row in stored(store, "select name, scope, project_hash, dir from tools")]


def lived_in(store: SqliteStore, layout: Layout) -> Registry:
    """Use and report tools, and scan every workspace that declares something."""
    time = iter(range(1, 10_000))
    registry = Registry(emptied(store), Paper(layout.entries), lambda: next(time))
    for use in layout.uses:
        where = registry.at(WORKSPACES[use.workspace].dir)
        name = f"mcp__only-{where.workspace.project.hash}-{use.entry}__run"
        if use.entry < len(layout.entries) and layout.entries[use.entry].is_seen_from(where.workspace):
            name = server_name(layout.entries[use.entry].server).replace("*", "run")
        if use.reported:
            registry.report(name, where, description="Runs.")
        else:
            registry.record(name, where)
    for owner in {entry.owner for entry in layout.entries}:
        registry.scan(registry.at(WORKSPACES[owner].dir))
    return registry


def everything_said(registry: Registry, here: Context, foreign: set[str]) -> str:
    listed = registry.tools(here)
    explained = [registry.explain(item.tool.name, here) for item in listed[:3]]
    refused = [registry.explain(name, here) for name in foreign]
    assert all((item.tool, item.decision) == (None, UNKNOWN) for item in refused)
    return json.dumps(
        [
            shapes.listing(listed, here),
            [shapes.explanation(item) for item in explained],
            registry.session_context(here),
            [str(problem) for problem in registry.problems(here)],
        ]
    )


@pytest.mark.proof
@pytest.mark.parametrize("part", range(PARTS))
@settings(
    max_examples=EXAMPLES // PARTS,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(layout=layouts)
def test_no_tool_of_another_project_appears_in_any_list_count_context_or_explanation(
    store: SqliteStore,
    part: int,  # noqa: ARG001 - the same proof, side by side
    layout: Layout,
) -> None:
    registry = lived_in(store, layout)
    here = registry.at(WORKSPACES[layout.asked_from].dir)
    rows = all_rows(store)
    in_scope_here = [row for row in rows if in_scope(Scope(row[1]), row[2], row[3], here.workspace)]
    catalog = [
        (tool.name, tool.scope.value, tool.project_hash, tool.dir) for tool in store.catalog(here.workspace)
    ]

    # The SQL rule and the pure rule agree.
    assert sorted(map(str, catalog)) == sorted(map(str, in_scope_here))

    foreign = {row[0] for row in rows} - {row[0] for row in in_scope_here}
    # A name of which only a server's row is in scope is answered by that server.
    covered = {name for name in foreign if any(name.startswith(row[0][:-1]) for row in in_scope_here)}
    said = everything_said(registry, here, foreign - covered)
    assert not [name for name in foreign - covered if json.dumps(name) in said]
    # Whatever is one project's alone carries that project's hash in its name and its source.
    assert not [owner for owner in PROJECTS - {here.workspace.project} if owner.hash in said]
