"""The pages of two gateways on one PostgreSQL, as an approver uses them."""

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal
from playwright.sync_api import Browser, expect

from remit.approvals.approval_service import caller_of
from remit.bootstrap import open_team_admin
from remit.decision.projects import TEAM
from support.listed_tools import list_tools, tool
from support.local_issuer import AUDIENCE, CLIENT_ID, LocalIssuer, served_issuer
from support.postgres import Databases, needs_postgres, open_everywhere
from support.real_browser import serious_findings, watched
from support.sandbox import Sandbox
from support.served_gateway import serving
from support.teams import add_teams

pytestmark = needs_postgres

API = Path(f"{TEAM}payments/api")
TOOL = "mcp__till__refund"
AMOUNT = {"note": "<script>alert(1)</script>", "amount": 7}


@pytest.fixture
def nodes(sandbox: Sandbox, databases: Databases, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The addresses of two gateways, for a team whose tool needs approval."""
    sandbox.time = int(1000 * time.time())  # as for the gateways
    address = databases.create()
    open_everywhere(monkeypatch, address)
    add_teams(sandbox, address)
    with closing(open_team_admin(address)) as teams:
        teams.set_policy(f'[tools."{TOOL}"]\napproval = true\n', teams.find("payments"))
    with sandbox.registry() as registry:
        list_tools(registry, API, tool("refund", "Pay back."), tool("open"), server="till")
    sandbox.remit("token", "add", "uma", "--project", "api")
    options = ("--project", str(API), "--web")
    folder = sandbox.project("elsewhere")
    with serving(sandbox, folder, *options) as one, serving(sandbox, folder, *options) as two:
        yield [each.removesuffix("/mcp") for each in (one, two)]


def test_an_approver_signs_in_at_one_gateway_and_answers_at_another(
    sandbox: Sandbox, browser: Browser, nodes: list[str]
) -> None:
    secret = sandbox.remit("token", "add", "ann", "--project", "api", "--role", "approver").stdout.strip()
    one, two = nodes
    with watched(browser) as page, sandbox.registry() as registry:
        page.goto(f"{one}/web")
        assert not serious_findings(page)
        page.get_by_label("Access token").fill(secret)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("link", name="team:payments/api").click()
        expect(page.get_by_role("link", name="refund")).to_be_visible()
        assert page.url == f"{one}/web/p/api/here"

        page.goto(f"{two}/web/p/api/waiting")
        expect(page.get_by_text("Nothing waits for you")).to_be_visible()
        context = registry.at(str(API))
        caller = caller_of(context, "uma")
        registry.approvals.permit(TOOL, AMOUNT, context, principal=caller)
        expect(page.locator("pre.arguments")).to_contain_text("<script>alert(1)</script>")  # without a reload
        assert not serious_findings(page)
        page.get_by_role("button", name="Approve this call").click()
        expect(page.get_by_text("Approved, for one call")).to_be_visible()
        assert registry.approvals.permit(TOOL, AMOUNT, context, principal=caller).is_allowed

        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_text("You are signed out")).to_be_visible()
        page.goto(f"{one}/web/p/api/here")
        expect(page.get_by_role("heading", name="Sign in to Remit")).to_be_visible()


@pytest.fixture
def issuer() -> Iterator[LocalIssuer]:
    """An issuer on another site: browsers tell hosts apart, but not ports."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(served_issuer(host="localhost")) as made,
    ):
        yield made


def test_a_person_signs_in_at_the_issuer_and_comes_back_from_its_site(
    sandbox: Sandbox, browser: Browser, nodes: list[str], issuer: LocalIssuer
) -> None:
    one, two = nodes
    identity = f'[identity]\nissuer = "{issuer.issuer}"\naudience = "{AUDIENCE}"\n'
    identity += f'client_id = "{CLIENT_ID}"\npublic_url = "{one}"\n'
    access = '[[access]]\ngroup = "payers"\nrole = "approver"\nprojects = ["api"]\n'
    sandbox.write(sandbox.home / ".config/remit/remit.toml", identity + access)
    button = f"Sign in with {issuer.issuer.removeprefix('http://')}"
    with watched(browser) as page:
        page.goto(f"{two}/web/p/api/waiting")
        for _ in range(100):  # gateways read their file every two seconds
            if page.get_by_role("link", name=button).count():
                break
            page.wait_for_timeout(100)
            page.reload()
        assert not serious_findings(page)
        page.get_by_role("link", name=button).click()
        page.get_by_role("link", name="yes").click()
        expect(page.get_by_text("oidc:ida, approver")).to_be_visible()
        assert page.url == f"{one}/web/p/api/waiting"
        page.goto(f"{two}/web/p/api/here")
        expect(page.get_by_text("oidc:ida, approver")).to_be_visible()
