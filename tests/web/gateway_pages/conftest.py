"""Two gateways on one PostgreSQL, and people of a team with a role each."""

from collections.abc import AsyncIterator
from contextlib import closing

import pytest

from remit.bootstrap import open_team_admin, open_teams
from remit.configuration.config_model import Role
from support.listed_tools import list_tools, tool
from support.node_pages import API, ASKS, Node, PeopleOfGateways, node
from support.postgres import Databases, open_everywhere
from support.sandbox import Sandbox
from support.teams import add_teams


@pytest.fixture
def address(sandbox: Sandbox, databases: Databases, monkeypatch: pytest.MonkeyPatch) -> str:
    made = databases.create()
    open_everywhere(monkeypatch, made)
    add_teams(sandbox, made)
    with closing(open_team_admin(made)) as teams:
        teams.set_policy(ASKS, teams.find("payments"))
    with sandbox.registry() as registry:
        list_tools(registry, API, tool("refund", "Pay back."), tool("open"), server="till")
    return made


@pytest.fixture
def people(sandbox: Sandbox, address: str) -> PeopleOfGateways:
    sandbox.time = 10**12
    with closing(open_teams(address)) as teams:
        made = PeopleOfGateways([each.project for each in teams.workspaces().values()])
    made.add("rita", Role.READER, "api")
    made.add("uma", Role.USER, "api")
    made.add("ann", Role.APPROVER, "api")
    made.add("adam", Role.ADMIN, "api")  # not of the whole team
    made.add("ada", Role.ADMIN, "api", "web")
    made.add("ivan", Role.ADMIN, "index")
    return made


@pytest.fixture
async def one(sandbox: Sandbox, address: str, people: PeopleOfGateways) -> AsyncIterator[Node]:
    async with node(sandbox, address, people) as made:
        yield made


@pytest.fixture
async def two(sandbox: Sandbox, address: str, people: PeopleOfGateways) -> AsyncIterator[Node]:
    async with node(sandbox, address, people) as made:
        yield made
