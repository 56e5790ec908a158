"""Gateways on one store serve the projects of teams alike, and no team sees anything of another."""

import json
import os
import re
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from remit.bootstrap import open_team_admin, open_teams
from remit.cli.options import FAILURE
from remit.decision.projects import DEFAULT_FLAGS, TEAM, Project, team_workspace
from remit.decision.scopes import Scope, in_scope
from remit.gateway.call_handler import UnservedToolError
from remit.gateway.endpoint import LiveEndpoint
from remit.memory.memory_scopes import memory_id
from remit.store.open_store import open_store
from remit.store.postgres import postgres_database
from remit.upstream.ports import ServerLists
from support.databases import run_sql
from support.gateway_fakes import FakeCaller, FakeLinks, call, endpoint, names, offered, told
from support.postgres import Databases, UnfilteredQueries, needs_postgres, open_everywhere
from support.sandbox import Sandbox
from support.teams import add_teams, set_policy

pytestmark = [pytest.mark.anyio, needs_postgres]

needs_conditions = pytest.mark.skipif(
    os.environ.get("REMIT_TEST_STORE") == "postgres-without-filters",
    reason="writes of memory, and this comparison, need the conditions of queries",
)
SECONDS = 60  # a slow day is no failure: the polls are off, so only a notification can tell
API, WEB, INDEX = (Path(f"{TEAM}{name}") for name in ("payments/api", "payments/web", "search/index"))


@pytest.fixture
def address(sandbox: Sandbox, databases: Databases, monkeypatch: pytest.MonkeyPatch) -> str:
    made = databases.create()
    open_everywhere(monkeypatch, made)
    monkeypatch.setattr("remit.store.postgres.revision_listener.POLL", 600)
    monkeypatch.setattr("remit.gateway.change_feed.FALLBACK", 600)
    add_teams(sandbox, made)
    return made


@pytest.fixture(params=[True, False], ids=["with conditions", "without conditions"])
def guarded(request: pytest.FixtureRequest, address: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The store, also with the conditions of all queries taken out: row-level security alone holds."""
    if not request.param:
        queries = UnfilteredQueries(postgres_database.FOLDERS, postgres_database.translate)
        monkeypatch.setattr(postgres_database, "QUERIES", queries)
    return address


@pytest.fixture
def links() -> FakeLinks:
    return FakeLinks(
        {
            "till": ServerLists(tools=[offered("open"), offered("refund")]),
            "ranker": ServerLists(tools=[offered("rank")]),
        }
    )


@pytest.mark.long
@pytest.mark.usefixtures("address")
async def test_every_gateway_serves_the_servers_of_a_team_without_a_file(
    sandbox: Sandbox, links: FakeLinks
) -> None:
    other = Sandbox(root=sandbox.root / "other", variables=sandbox.variables)
    other.home.mkdir(parents=True)
    async with endpoint(sandbox, links, API) as one, endpoint(other, links, API) as two:
        assert await names(one) == await names(two) == ["till__open", "till__refund"]
        assert told(await call(two, "till__open")) == "till did open"
    (asked,) = links.asked
    assert asked.upstream.permit is not None
    assert asked.upstream.permit.directory == str(other.home)  # a team's project is not a directory


@pytest.mark.long
async def test_servers_and_rules_that_an_administrator_changes_reach_gateways_by_notification(
    sandbox: Sandbox, address: str, links: FakeLinks
) -> None:
    links.stocks["wiki"] = ServerLists(tools=[offered("read")])
    async with endpoint(sandbox, links, API) as served:
        assert await names(served) == ["till__open", "till__refund"]
        async with served.changes() as changes:
            set_policy(sandbox, "payments", '[servers.till]\nblock = ["refund"]\n')
            with anyio.fail_after(SECONDS):
                await anext(changes)
        assert await names(served) == ["till__open"]
        assert "till__refund" in told(await call(served, "till__refund"))
        async with served.changes() as changes:
            with closing(open_team_admin(address)) as teams:
                teams.put_server("wiki", '{"command": "wiki"}', teams.find("payments"), 2)
            with anyio.fail_after(SECONDS):
                while "wiki__read" not in await names(served):
                    await anext(changes)
    async with endpoint(sandbox, links, INDEX) as served:
        assert await names(served) == ["ranker__rank"]


@pytest.mark.long
@pytest.mark.usefixtures("address")
async def test_states_of_a_teams_project_are_pushed_or_unknown(sandbox: Sandbox, links: FakeLinks) -> None:
    sandbox.write(sandbox.home / ".config/remit/remit.toml", '[states.here]\nfile = "x"\n')
    set_policy(
        sandbox,
        "payments",
        '[states.open]\npush = true\n[tools."till__refund"]\nstates = ["open"]\n'
        '[tools."till__open"]\nwhen = "git.branch == \'main\'"\n',
    )
    async with endpoint(sandbox, links, API) as served:
        assert await names(served) == []
        with sandbox.registry() as registry:
            at = registry.at(str(API))
            registry.states.push({"open": True}, at)
            unknown = {name: value.reason for name, value in registry.states.snapshot(at).states.items()}
            assert list(registry.states.paths(at)) == [
                str(sandbox.home / ".config/remit/remit.toml"),
                str(sandbox.root / "machine/etc/remit/remit.toml"),
            ]
        assert (
            unknown["here"] == unknown["git-initialized"] == "a team's project has no files: push this state"
        )
        assert await names(served) == ["till__refund"]


@pytest.mark.usefixtures("address")
async def test_no_file_of_a_directory_that_is_called_like_a_teams_project_is_read(
    sandbox: Sandbox, links: FakeLinks, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = sandbox.root / "repository" / API
    (trap / ".git").mkdir(parents=True)
    sandbox.write(trap / ".mcp.json", {"mcpServers": {"evil": {"command": "evil"}}})
    sandbox.write(trap / "remit.toml", '[servers.till]\nblock = ["*"]\n')
    sandbox.write(trap / "remit.lock", "broken")
    monkeypatch.chdir(sandbox.root / "repository")
    async with endpoint(sandbox, links, API) as served:
        assert await names(served) == ["till__open", "till__refund"]


async def unknown(served: LiveEndpoint, name: str) -> str:
    with pytest.raises(UnservedToolError) as refused:
        await call(served, name)
    return str(refused.value).replace(name, "")


@pytest.mark.long
@pytest.mark.usefixtures("guarded")
async def test_no_team_sees_anything_of_another(sandbox: Sandbox, links: FakeLinks) -> None:
    set_policy(sandbox, "payments", '[servers.till]\nblock = ["refund"]\n[states.drawer]\npush = true\n')
    async with endpoint(sandbox, links, API) as served:
        await call(served, "till__open")
    async with endpoint(sandbox, links, WEB) as served:  # of the same team
        assert await names(served) == ["till__open"]
    for words in (
        ("tools", "--all", "--json"),
        ("scan", "--json"),
        ("states", "--json"),
        ("usage", "--json"),
        ("calls", "--json"),
        ("search", "open drawer", "--json"),
        ("doctor", "--json"),
        ("policy", "check"),
        ("context",),
    ):
        done = sandbox.remit(*words, "--project", str(INDEX))
        shown = (done.stdout + done.stderr).replace("open drawer", "")
        assert done.returncode < FAILURE, done.stderr
        assert re.findall(r"\b(?:till|drawer|payments|refund)", shown) == []
    async with endpoint(sandbox, links, INDEX) as served:
        assert await names(served) == ["ranker__rank"]
        assert await unknown(served, "till__open") == await unknown(served, "xyzq__open")
        found = await call(served, "discover_tools", {"query": "open the till drawer"})
        assert "till" not in json.dumps(found["structuredContent"]).replace("open the till drawer", "")


@pytest.mark.long
@needs_conditions
async def test_a_team_can_read_and_write_its_memory_and_no_other_team_can(
    sandbox: Sandbox, address: str, links: FakeLinks
) -> None:
    sandbox.write(sandbox.home / ".config/remit/remit.toml", '[memory]\ntools = "listed"\n')
    with closing(open_teams(address)) as teams:
        id = f"team-payments-{teams.find('payments').owner.hash[:8]}"
        bound = frozenset({memory_id(teams.locate("web").project)})  # of a token for this project
    async with endpoint(sandbox, links, API) as served:
        assert f"The memory of its team has the project_id `{id}`" in (served.instructions or "")
        await save(served, id, "agree on German tills")
    async with endpoint(sandbox, links, WEB) as served:
        assert "German tills" in await recalled(served, id, None)
        assert "German tills" in await recalled(served, id, bound)
    async with endpoint(sandbox, links, INDEX) as served:
        nobodys = await recalled(served, "nobodys", None)
        assert await recalled(served, id, None) == nobodys
        assert '"total_found": 0' in nobodys


async def recalled(served: LiveEndpoint, id: str, bound: frozenset[str] | None) -> str:
    asked = {"query": "German", "project_id": id, "limit": 5}
    answer = await call(served, "remit-memory__memory_surface", asked, FakeCaller(bound_projects=bound))
    return json.dumps(answer["structuredContent"]).replace(id, "")


@pytest.mark.long
@pytest.mark.usefixtures("guarded")
async def test_a_teams_project_shows_nothing_of_the_machine_that_serves_it(
    sandbox: Sandbox, links: FakeLinks
) -> None:
    links.stocks["diary"] = ServerLists(tools=[offered("read_diary")])
    declared = {"mcpServers": {"diary": {"command": "diary"}, "till": {"command": "another-till"}}}
    sandbox.write(sandbox.home / ".claude.json", json.dumps(declared))
    async with endpoint(sandbox, links, sandbox.project("shop")) as served:
        assert "diary__read_diary" in await names(served)
    for arguments in (("tools", "--all"), ("why", "mcp__till__*"), ("search", "reads", "--all")):
        shown = sandbox.remit(*arguments, "--project", str(API)).stdout
        assert "diary" not in shown
        assert ".claude.json" not in shown
    of_machine, of_nobody = (
        sandbox.remit("why", f"mcp__{server}__read", "--project", str(API)).stdout.replace(server, "…")
        for server in ("diary", "nobody")
    )
    assert of_machine == of_nobody
    async with endpoint(sandbox, links, API) as served:
        assert await names(served) == ["till__open", "till__refund"]
        assert told(await call(served, "till__open")) == "till did open"
        hidden = await call(served, "discover_tools", {"query": "diary", "include_hidden": True})
        assert "read_diary" not in json.dumps(hidden)


@pytest.mark.usefixtures("address")
def test_commands_take_the_name_of_a_teams_project_unless_it_is_a_path(sandbox: Sandbox) -> None:
    (sandbox.home / "api").mkdir()
    found = json.loads(sandbox.remit("tools", "--json", "--project", "api", cwd=sandbox.home).stdout)
    assert found["project"]["path"] == str(API)
    found = json.loads(sandbox.remit("tools", "--json", "--project", "./api", cwd=sandbox.home).stdout)
    assert found["project"]["path"] == str(sandbox.home / "api")
    assert sandbox.remit("approve", "--project", "api").stdout == "No pending approvals.\n"


@pytest.mark.usefixtures("address")
def test_a_name_that_is_no_directory_leads_to_the_spelling_of_a_teams_project(sandbox: Sandbox) -> None:
    found = sandbox.remit("tools", "--project", "apo")
    assert found.returncode == FAILURE
    assert "a project of a team: `team:TEAM/PROJECT`" in found.stderr


@pytest.mark.long
@needs_conditions
async def test_a_project_recalls_what_its_team_knows_beside_its_own_and_no_other_team_does(
    sandbox: Sandbox, address: str, links: FakeLinks
) -> None:
    sandbox.write(sandbox.home / ".config/remit/remit.toml", '[memory]\ntools = "listed"\n')
    with closing(open_teams(address)) as teams:
        of_team = memory_id(teams.find("payments").owner)
        api, index = (memory_id(teams.locate(name).project) for name in ("api", "index"))
    async with endpoint(sandbox, links, API) as served:
        await save(served, of_team, "agree on German tills")
        assert await context(served, api) == []  # the gate: its own memory does not exist yet
        await save(served, api, "draw the German receipt")
        both = [("project", api, "draw the German receipt"), ("team", of_team, "agree on German tills")]
        for keyword in (None, "German"):
            assert await context(served, api, keyword=keyword) == both
            assert await context(served, api, keyword=keyword, bound=frozenset({api})) == both
        assert await context(served, api, scope="global") == []
        assert await context(served, of_team) == [("project", of_team, "agree on German tills")]
        surfaced = await call(
            served, "remit-memory__memory_surface", {"query": "German tills", "project_id": api}
        )
        found = surfaced["structuredContent"]["matches"]
        assert sorted((each["scope"], each["project_id"]) for each in found) == [
            ("project", api),
            ("team", of_team),
        ]
    async with endpoint(sandbox, links, INDEX) as served:
        await save(served, index, "rank German words")
        assert await context(served, index) == [("project", index, "rank German words")]
        assert await context(served, api) == await context(served, of_team) == []


async def save(served: LiveEndpoint, id: str, objective: str) -> None:
    session: dict[str, object] = {
        "objective": objective,
        **{key: [] for key in ("actions_taken", "decisions_made", "open_items", "next_actions")},
        "save_scope": "project",
    }
    saved = await call(served, "remit-memory__save_session", {"session": session, "project_id": id})
    assert not saved["isError"], saved


async def context(
    served: LiveEndpoint,
    id: str,
    *,
    scope: str = "project",
    keyword: str | None = None,
    bound: frozenset[str] | None = None,
) -> list[tuple[str, str, str]]:
    asked = {"scope": scope, "project_id": id, **({} if keyword is None else {"keyword": keyword})}
    answer = await call(served, "remit-memory__retrieve_context", asked, FakeCaller(bound_projects=bound))
    found = answer["structuredContent"].get("items", [])
    return [(each["scope"], each["project_id"], each["objective"]) for each in found]


SCOPES = (Scope.TEAM, Scope.LOCAL, Scope.PLUGIN)
MACHINE_SCOPES = (Scope.GLOBAL, Scope.MANAGED, Scope.PLUGIN)
_INSERT = """insert into tools (
    client, kind, scope, project_hash, server, name, source, authority, discovered_at, updated_at
) values ('x', 'mcp_server', '{scope}', {owner}, 's', 'mcp__s__*', 'f', 3, 1, 1)"""


@needs_conditions
async def test_the_rule_of_scopes_is_the_same_in_the_database_and_in_the_kernel(
    address: str,
) -> None:
    store = open_store(address)
    with closing(open_teams(address)) as teams:
        workspaces = list(teams.workspaces().values())
    owners = {each.project.hash for each in workspaces} | {each.team.hash for each in workspaces if each.team}
    for owner in owners:
        for scope in SCOPES:
            run_sql(store, _INSERT.format(scope=scope, owner=f"'{owner}'"))
    for scope in MACHINE_SCOPES:
        run_sql(store, _INSERT.format(scope=scope, owner="null"))
    nobody = team_workspace(Project("team:none/x", "0" * 16), Project("team:none", "1" * 16))
    forged = workspaces[0]._replace(team=workspaces[-1].team)  # the database knows its team better
    for workspace in (*workspaces, nobody, forged):
        seen = {(tool.scope, tool.project_hash) for tool in store.catalog(workspace, DEFAULT_FLAGS)}
        expected = {
            (scope, owner) for owner in owners for scope in SCOPES if in_scope(scope, owner, None, workspace)
        }
        machine = {(scope, None) for scope in MACHINE_SCOPES if in_scope(scope, None, None, workspace)}
        expected |= machine
        if workspace is forged:
            expected = {each for each in expected if each[0] is not Scope.TEAM}
        assert seen == expected
    store.close()
