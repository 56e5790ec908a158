"""What one project stores is shown in no other: the scope rule in SQL is the pure one, for every read."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from remit.decision import (
    Authority,
    Declaration,
    Kind,
    Launch,
    Offer,
    Project,
    Resolved,
    Scope,
    View,
    Workspace,
    identify,
    in_scope,
    server_name,
)
from remit.store import Call, CallQuery, CompiledConfiguration, NewArtifact, Reading, Store
from support.builders import CLIENT, context
from support.stores import definition, memory_store, prepared, scan, sql

SHOP, BLOG, NESTED = (identify(path) for path in ("/code/shop", "/code/blog", "/code/shop/nested"))
TEAM = Project("team", "feedfeedfeedfeed")
WORKSPACES = (
    Workspace("/code/shop", "/code/shop", SHOP),
    Workspace("/code/shop/api", "/code/shop", SHOP),
    Workspace("/trees/shop", "/trees/shop", SHOP),  # a linked worktree
    Workspace("/code/blog", "/code/blog", BLOG),
    Workspace("/code/shop/nested", "/code/shop/nested", NESTED),  # a repository inside another
    Workspace("shop", "", SHOP, TEAM),  # without a directory, in a group
)
ABOVE = [Workspace(dir, dir, project) for project in (SHOP, BLOG) for dir in ("/code", "/code/sho")]


class Place(NamedTuple):
    """Where a server can be declared."""

    scope: Scope
    project_hash: str | None = None
    dir: str | None = None


OWNED = (Scope.LOCAL, Scope.DYNAMIC, Scope.PLUGIN)
PLACES = (
    Place(Scope.GLOBAL),
    Place(Scope.MANAGED),
    Place(Scope.PLUGIN),
    Place(Scope.GROUP, TEAM.hash),
    *(Place(scope, project.hash) for project in (SHOP, BLOG, NESTED) for scope in OWNED),
    *(
        Place(Scope.PROJECT, project.hash, dir)
        for project in (SHOP, BLOG)
        for dir in ("/", "/code", "/code/sho")
    ),
    *(Place(Scope.PROJECT, workspace.project.hash, workspace.dir) for workspace in WORKSPACES),
)


def server(place: Place, label: str) -> Declaration:
    launch = Launch(command=f"{label} {place}")
    scope, project_hash, dir = place
    key = (CLIENT, Kind.MCP_SERVER, scope, project_hash, dir, None, label, server_name(label))
    return Declaration(*key, source="/files", launch=launch, digest=launch.digest)


def declare(store: Store, declaration: Declaration) -> None:
    """Store a server with one tool, as a workspace that may see it does."""
    workspace = next(
        workspace
        for workspace in (*WORKSPACES, *ABOVE)
        if in_scope(declaration.scope, declaration.project_hash, declaration.dir, workspace)
    )
    for project in (SHOP, BLOG, NESTED, TEAM):
        store.database.rows("see_project", project=project.hash, path=project.path, at=1)
    scan(store, declaration, workspace=workspace)
    tool = prepared(
        definition(f"mcp__{declaration.server}__of_{declaration.digest}", declaration.server or "")
    )
    store.listings.keep(declaration, Offer([tool.definition]), [tool], workspace, 2)
    store.trust.grant(declaration.key, "digest", "entry", workspace, 3)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(["git", "wiki"])), max_size=8, unique=True)
)
def test_every_read_of_tools_shows_what_is_in_scope_and_nothing_else(
    servers: Sequence[tuple[Place, str]],
) -> None:
    store = memory_store()
    declarations = [server(*item) for item in servers]
    for declaration in declarations:
        declare(store, declaration)
    for workspace in WORKSPACES:
        seen = {
            declaration.key
            for declaration in declarations
            if in_scope(declaration.scope, declaration.project_hash, declaration.dir, workspace)
        }
        rows = store.catalog.rows(context(workspace))
        tools = [row.tool for row in rows]
        assert {tool.key for tool in tools if tool.kind is Kind.MCP_SERVER} == seen
        own = {tool.key[2:5] for tool in tools if tool.kind is Kind.MCP_TOOL}
        assert own == {key[2:5] for key in seen}
        assert store.catalog.named([tool.name for tool in tools], context(workspace)) == rows
        assert store.trust.entries(workspace).keys() == seen
        assert store.listings.offers(workspace).keys() == seen
        listed = {tool.definition for tool in tools if tool.definition is not None}
        every = [digest for (digest,) in sql(store, "select digest from definitions")]
        assert store.catalog.definitions(every, workspace).keys() == listed
        labels, names = store.listings.names(workspace)
        assert labels == {key[6] for key in seen}
        assert names == {tool.name for tool in tools if tool.kind is Kind.MCP_TOOL}
        assert {name for _, name in store.usage.first_seen(workspace)} == {tool.name for tool in tools}
        view = View(CLIENT, workspace)
        last = {item.key for item in store.scans.last_declared(view, ["/files"])}
        assert last <= seen
        for declaration in declarations:
            known = store.listings.known(declaration, [], workspace)
            assert known.is_stored is (declaration.key in seen)
            assert bool(known.accepted) is (declaration.key in seen)


def test_nothing_that_a_project_says_or_does_is_read_in_another() -> None:
    store = memory_store()
    word = "xyzzy"
    (shop, _, _, blog, *_) = WORKSPACES
    declaration = server(Place(Scope.LOCAL, SHOP.hash), word)
    store.scans.save(Reading([Resolved(declaration, None)], {word: word}), View(CLIENT, shop), 1)
    call = Call(1, word, CLIENT, word, word, f"mcp__{word}__x", word, None, "done", session=word)
    store.calls.add([call], shop)
    store.usage.report(word, CLIENT, Authority.REPORT, shop, 1, description=word)
    store.states.keep([], CompiledConfiguration({word: word}, json.dumps(word)), shop, 1)
    store.states.advance([word], [], word, shop, 1)
    store.states.push({word: word}, {word: 9}, shop, 1)
    store.trust.trust_part(word, word, word, shop, 1)
    place = store.artifacts.create(word, word, shop, 1)
    store.artifacts.add(NewArtifact(word, "entity", word, word, word, word, {}, 1), place, shop, 1)

    def told(workspace: Workspace) -> str:
        view = View(CLIENT, workspace)
        kinds = ["entity"]
        return repr(
            [
                store.catalog.rows(context(workspace)),
                store.scans.last(view),
                store.scans.inputs(view),
                store.scans.clients(view),
                store.scans.last_declared(view, ["/files"]),
                store.calls.find(CallQuery(), workspace),
                store.calls.agents(workspace),
                store.calls.bars(CallQuery(), workspace, 10),
                store.usage.totals(workspace),
                store.usage.hourly(workspace, 99),
                store.usage.sessions(workspace, 9),
                store.states.configuration(workspace),
                store.states.known(workspace),
                store.trust.parts(workspace),
                store.artifacts.projects(workspace),
                store.artifacts.places(word, workspace),
                store.artifacts.hits([word], None, None, [place], kinds, workspace),
                store.artifacts.newest([place], kinds, 9, workspace),
                store.artifacts.find(word, workspace),
                store.artifacts.entity(word, place, workspace),
            ]
        )

    assert told(shop).count(word) > 20
    assert word not in told(blog)
    assert told(blog) == told(WORKSPACES[4])  # where nothing happened, too
