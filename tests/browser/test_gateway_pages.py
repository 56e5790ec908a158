"""The pages of two gateways on one PostgreSQL, as an approver uses them."""

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from remit.bootstrap import open_team_admin
from remit.decision.projects import TEAM
from remit.policy.approval_service import caller_of
from support.listed_tools import list_tools, tool
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
