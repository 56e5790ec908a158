"""The pages of gateways in this process: the applications of nodes on one PostgreSQL, without sockets."""

import re
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import httpx2

from remit.bootstrap import open_notifier, open_team_admin, open_teams
from remit.configuration.config_model import CallLimits, Role
from remit.decision.projects import TEAM, Project
from remit.gateway.access.access_settings import AccessSettings
from remit.gateway.access.authenticator import Authenticator
from remit.gateway.access.token_grants import Grant, digest
from remit.gateway.ports import EndpointSpec
from remit.gateway.requests.call_metrics import CallMetrics
from remit.gateway.transports.endpoint_pool import EndpointPool
from remit.gateway.transports.health_routes import GatewayState, HealthRoutes, StoreHealth
from remit.gateway.transports.host_check import HostCheck
from remit.gateway.transports.http_routes import GatewayApp, GatewaySite
from remit.gateway.transports.page_mount import PageHost
from remit.gateway.transports.session_seal import SessionSeal
from remit.gateway.transports.status_files import StatusFiles
from remit.install.change_journal import ChangeJournal
from remit.store.store_facts import store_facts
from remit.upstream.oauth.server_login import ServerLogin
from remit.upstream.oauth.token_store import FileTokenStore
from remit.web.gateway_pages.open_gateway_pages import serve_gateway_pages
from remit.web.page_model import WebOpeners
from support.local_issuer import LocalIssuer
from support.sandbox import Sandbox
from support.stub_endpoint import StubEndpoint, opened

if TYPE_CHECKING:
    from remit.store.postgres.team_store import SqlTeamAdmin

HOST = "http://127.0.0.1:8787"
API = Path(f"{TEAM}payments/api")
TOOL = "mcp__till__refund"
ASKS = f'[tools."{TOOL}"]\napproval = true\n'
ISSUER = LocalIssuer()


@dataclass
class PeopleOfGateways:
    """Who may use all nodes, as far as tests change it."""

    projects: Sequence[Project]
    grants: list[Grant] = field(default_factory=list[Grant])
    settings: AccessSettings = field(default_factory=AccessSettings)
    admin: str = ""  # where nodes administer the store; empty: with the address of the store
    is_down: bool = False  # the store, as far as nodes know
    late: int = 0  # milliseconds by which the clock is ahead

    def add(self, name: str, role: Role, *projects: str, **more: Any) -> None:
        """Give a person a token for projects, by their names."""
        bound = tuple(each for each in self.projects if each.short_name in projects)
        self.grants.append(Grant(name=name, digest=digest(token(name)), role=role, projects=bound, **more))

    def limit(self, calls_per_minute: int) -> None:
        self.settings = AccessSettings(limits=CallLimits(calls_per_minute=calls_per_minute))

    def now(self) -> int:
        return time.time_ns() // 1_000_000 + self.late


def token(name: str) -> str:
    return f"token-of-{name}"


class Person:
    """A browser in which somebody is signed in."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self.client = client

    async def get(self, path: str, **headers: str) -> httpx2.Response:
        return await self.client.get(f"/web/p/{path}", headers=headers)

    async def status(self, *paths: str) -> list[int]:
        return [(await self.get(path)).status_code for path in paths]

    async def post(self, path: str, page: str, **fields: str) -> httpx2.Response:
        """Send a form as a page of this session does."""
        csrf = csrf_of((await self.get(page)).text)
        return await self.send(path, csrf=csrf, **fields)

    async def send(self, path: str, **fields: str) -> httpx2.Response:
        return await self.client.post(f"/web/p/{path}", data=fields, headers={"origin": HOST})


class Node:
    """One gateway."""

    def __init__(self, app: Any) -> None:
        self.app = app

    def browser(self, person: Person | None = None) -> httpx2.AsyncClient:
        """Open a browser, with the cookies of one that is signed in at another node."""
        cookies = None if person is None else person.client.cookies
        transport = httpx2.ASGITransport(app=self.app)
        return httpx2.AsyncClient(transport=transport, base_url=HOST, cookies=cookies)

    async def sign_in(self, name: str, given: str | None = None) -> Person:
        person = Person(self.browser())
        answer = await sign_in(person.client, given or token(name))
        assert answer.status_code == 303, answer.text
        return person

    def visited_by(self, person: Person) -> Person:
        return Person(self.browser(person))


async def sign_in(client: httpx2.AsyncClient, token: str, origin: str = HOST) -> httpx2.Response:
    return await client.post("/web/sign-in", data={"token": token}, headers={"origin": origin})


def csrf_of(page: str) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', page)
    assert found, page
    return found[1]


def warnings(answer: httpx2.Response) -> list[str]:
    return re.findall(r'class="warning"[^>]*>(.*?)</p>', answer.text)


@asynccontextmanager
async def node(sandbox: Sandbox, address: str, people: PeopleOfGateways) -> AsyncGenerator[Node]:
    """Run the application of a node."""
    from remit.store.postgres.session_key_store import (
        SqlSessionKeys,  # its driver is not installed everywhere
    )

    async with anyio.create_task_group() as tasks:
        with closing(SessionSeal(SqlSessionKeys(address), people.now)) as seal:
            authenticator = Authenticator(
                lambda: people.grants,
                lambda: people.settings,
                tasks,
                is_private=True,
                fetch=ISSUER.fetch,
                post=ISSUER.post,
                clock=_never(),
            )
            pool = EndpointPool(_opened, tasks)
            state = GatewayState(CallMetrics(), StoreHealth, lambda: 0, list, list)
            site = GatewaySite(
                EndpointSpec(people.projects[0].path),
                people.projects[0],
                HostCheck("127.0.0.1"),
                authenticator,
                lambda: people.projects,
                _ignore,
                HealthRoutes(state),
            )
            app = GatewayApp(site, pool)
            host = PageHost(
                "claude-code",
                authenticator,
                lambda: people.grants,
                seal,
                app.limiters,
                app.project,
                lambda: people.projects,
                lambda: not people.is_down,
            )
            openers, teams = _openers(sandbox), partial(open_teams, address)
            admin = partial(_open_admin, address, people)
            async with serve_gateway_pages(host, openers, teams, admin, people.now) as pages:
                app.pages = pages
                yield Node(app)
        tasks.cancel_scope.cancel()


def _open_admin(address: str, people: PeopleOfGateways) -> "SqlTeamAdmin":
    return open_team_admin(people.admin or address)


def _ignore(directory: str, states: Mapping[str, object]) -> None:
    """Push no states."""


def _opened(spec: EndpointSpec) -> Any:  # noqa: ARG001 - all are alike
    return opened(StubEndpoint())


def _never() -> Callable[[], float]:
    """Return a clock by which settings are always outdated, so that each request reads them."""
    passed = 0.0

    def tick() -> float:
        nonlocal passed
        passed += 60
        return passed

    return tick


def _openers(sandbox: Sandbox) -> WebOpeners:
    data = str(sandbox.root / "data")
    login = ServerLogin(FileTokenStore(data), sandbox.variables, str(sandbox.home))
    return WebOpeners(
        sandbox.registry,
        open_notifier,
        lambda: StatusFiles(data),
        lambda: login,
        sandbox.memory_of,
        sandbox.rules_file,
        lambda: ChangeJournal(data, lambda: 1),
        lambda: None,
        lambda: store_facts(str(sandbox.database), ""),
    )
