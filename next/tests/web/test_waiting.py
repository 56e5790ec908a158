"""What waits is answered exactly as it was shown, and only where a person started the page."""

from typing import Any

import httpx2

from support.catalogs import World
from support.web_pages import WebPages, fields_of, form, web_pages
from web.conftest import of_project


def asked(world: World, **arguments: Any) -> str:
    """Let an agent call a tool that asks first, and return the id of its request."""
    world.now = clock()
    permit = world.registry.approvals.permit("mcp__notes__write", arguments, world.here(gateway=True))
    assert permit.approval is not None
    return permit.approval.id


def clock() -> int:
    from remit.bootstrap import clock

    return clock()


def test_a_call_waits_with_every_argument_and_is_approved_once(world: World) -> None:
    id = asked(world, text="pay 7", to="till")
    with web_pages(world) as pages, pages.browser() as browser:
        page = browser.get("/waiting").text
        assert "pay 7" in page
        assert "till" in page
        assert "data-waiting" in browser.get("/waiting?part=count", headers={"hx-request": "true"}).text
        answered = browser.post("/waiting/call", **form(browser, id=id, answer="approve"))
        assert answered.headers["location"] == "/waiting"
        assert "Approved, for one call" in browser.get("/waiting").text
        assert "Approved, for one call" not in browser.get("/waiting").text
    assert world.registry.approvals.find(id, world.here()).is_approved is True


def test_a_call_is_denied(world: World, browser: httpx2.Client) -> None:
    id = asked(world, text="pay 7")
    browser.post("/waiting/call", **form(browser, id=id, answer="deny"))
    assert world.registry.approvals.find(id, world.here()).is_approved is False


def test_a_page_that_no_person_started_shows_commands_and_decides_nothing(world: World) -> None:
    id = asked(world, text="pay 7")
    of_project(world)
    with web_pages(world, may_decide=False) as pages, pages.browser() as browser:
        page = browser.get("/waiting").text
        assert f"remit approve {id}" in page
        assert "remit trust -- till" in page
        assert '<button class="main"' not in page
        assert browser.post("/waiting/call", **form(browser, id=id, answer="approve")).status_code == 403
    assert world.registry.approvals.find(id, world.here()).is_approved is None


def test_a_server_is_trusted_exactly_as_it_was_shown(world: World, pages: WebPages) -> None:
    of_project(world)
    with pages.browser() as browser:
        page = browser.get("/waiting").text
        assert "npx -y @acme/till" in page
        shown = fields_of(page, "/waiting/trust")
        of_project(world, command="rm")
        world.now += 1_000
        refused = browser.post("/waiting/trust", **form(browser, token=shown["token"]))
        assert refused.status_code == 400
        assert "it changed" in refused.text
        again = browser.get("/waiting").text
        assert "rm -y @acme/till" in again
        token = fields_of(again, "/waiting/trust")["token"]
        assert browser.post("/waiting/trust", **form(browser, token=token)).status_code == 303
        assert "Nothing waits for you" in browser.get("/waiting").text


def test_a_changed_definition_is_accepted_as_it_was_shown(world: World, pages: WebPages) -> None:
    world.lists("notes", {"name": "read", "description": "Read a secret note.", "inputSchema": {}})
    with pages.browser() as browser:
        page = browser.get("/waiting").text
        assert "Read a secret note." in page
        assert "Accept the change" in page
        token = fields_of(page, "/waiting/trust")["token"]
        assert browser.post("/waiting/trust", **form(browser, token=token)).status_code == 303
        assert "Read a secret note." not in browser.get("/waiting").text


def test_the_command_to_copy_is_safe_whatever_a_server_is_called(world: World) -> None:
    import json

    world.write(world.shop / ".mcp.json", json.dumps({"mcpServers": {"-x; rm ~": {"command": "true"}}}))
    settings = {"enabledMcpjsonServers": ["-x; rm ~"], "hasTrustDialogAccepted": True}
    world.write(world.home / ".claude.json", json.dumps({"projects": {str(world.shop): settings}}))
    with web_pages(world, may_decide=False) as pages, pages.browser() as browser:
        assert "remit trust -- &#39;-x; rm ~&#39;" in browser.get("/waiting").text
