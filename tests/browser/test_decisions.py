"""Decisions in the browser: calls of a real gateway session, and rules that are tried and written."""

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from support.forked_commands import fork_server
from support.processes import server_command
from support.real_browser import opened
from support.sandbox import Sandbox
from support.web_pages import CODE, WebPages, web_pages

ASKS = '[tools."mcp__desk__echo"]\napproval = true\n'
FIELD = "Code shown by remit web"


class GatewaySession:
    """A client of `remit serve`, line by line: beside Playwright, a test cannot run another event loop."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._asked = 0

    def ask(self, method: str, **params: object) -> dict[str, Any]:
        self._asked += 1
        self._say({"id": self._asked, "method": method, "params": params})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if (told := json.loads(line)).get("id") == self._asked:
                return told["result"]
        raise AssertionError(f"no answer to {method}")

    def open(self) -> None:
        client = {"name": "claude-code", "version": "1"}
        self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
        self._say({"method": "notifications/initialized"})
        self.ask("tools/list")

    def echo(self, text: str) -> str:
        """Call the tool that needs approval."""
        result = self.ask("tools/call", name="desk__echo", arguments={"text": text})
        return "\n".join(each["text"] for each in result["content"])

    def _say(self, message: dict[str, object]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()


@pytest.fixture
def desk(sandbox: Sandbox) -> Path:
    """A project, and a server of the user with a tool that needs approval."""
    sandbox.time = int(1000 * time.time())  # as for the gateway
    command, *arguments = server_command("by_hand.py")
    entry = {"command": command, "args": arguments}
    sandbox.write(sandbox.home / ".claude.json", {"mcpServers": {"desk": entry}})
    sandbox.write(sandbox.home / ".config/remit/remit.toml", ASKS)
    return sandbox.project("desk")


@pytest.fixture
def session(sandbox: Sandbox, desk: Path) -> Iterator[GatewaySession]:
    command = fork_server().command("remit", "serve", "--project", str(desk))
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=sandbox.environment, cwd=desk, **pipes) as process:
        made = GatewaySession(process)
        made.open()
        yield made
        process.communicate(timeout=30)  # the end of its input ends it


@pytest.fixture
def desk_pages(sandbox: Sandbox, desk: Path) -> Iterator[WebPages]:
    with web_pages(sandbox, desk) as made:
        yield made


def unlock(page: Page) -> None:
    page.get_by_text("View only").click()
    page.get_by_label("Code from the terminal").fill(CODE)
    page.get_by_role("button", name="Unlock").click()
    expect(page.get_by_text("may decide")).to_be_visible()


def test_a_call_of_a_gateway_session_is_approved_and_runs_and_another_is_denied(
    session: GatewaySession, browser: Browser, desk_pages: WebPages
) -> None:
    with opened(browser, desk_pages) as page:
        page.get_by_role("link", name="Waiting").click()
        unlock(page)
        expect(page.get_by_text("Nothing waits for you")).to_be_visible()
        assert "Ask the user" in session.echo("pay 7")
        expect(page.locator("pre.arguments")).to_contain_text("pay 7")  # without a reload
        expect(page).to_have_title("(1) Waiting · Remit")
        page.get_by_role("button", name="Approve this call").click()
        expect(page.get_by_text("Approved, for one call")).to_be_visible()
        expect(page).to_have_title("Waiting · Remit")
        assert session.echo("pay 7") == "pay 7"

        session.echo("pay 8")
        expect(page.locator("pre.arguments")).to_contain_text("pay 8")
        page.get_by_role("button", name="Deny").click()
        expect(page.get_by_text("Denied: mcp__desk__echo")).to_be_visible()
        assert session.echo("pay 8") != "pay 8"


def test_questions_stay_where_they_are_when_others_arrive_and_end(
    session: GatewaySession, browser: Browser, desk: Path, desk_pages: WebPages, sandbox: Sandbox
) -> None:
    with opened(browser, desk_pages) as page:
        page.goto(f"{desk_pages.url}/waiting")
        unlock(page)
        questions = page.locator(".question")
        for text in ("pay 1", "pay 2"):
            session.echo(text)
            expect(questions.filter(has_text=text)).to_be_visible()
        second = questions.filter(has_text="pay 2").get_by_role("button", name="Approve this call")
        place = second.bounding_box()
        session.echo("pay 3")
        expect(questions.last).to_contain_text("pay 3")
        assert second.bounding_box() == place

        waiting = json.loads(sandbox.remit("approve", "--json", cwd=desk).stdout)["approvals"]
        first = next(each["id"] for each in waiting if "pay 1" in json.dumps(each))
        sandbox.remit("approve", first, "--deny", cwd=desk)
        expect(questions.first).to_contain_text("no longer waiting")
        expect(questions.first.get_by_role("button", name="Approve this call")).to_be_disabled()
        assert second.bounding_box() == place
        expect(page).to_have_title("(2) Waiting · Remit")
        second.click()
        expect(page.get_by_text("Approved, for one call")).to_be_visible()
        expect(questions).to_have_count(1)
        assert session.echo("pay 2") == "pay 2"


def draft(page: Page, pages: WebPages, text: str) -> None:
    """Simulate a draft of the file that the project shares."""
    page.goto(f"{pages.url}/simulate")
    page.locator("select[name=layer]").select_option("project")
    expect(page).to_have_url(f"{pages.url}/simulate?layer=project")
    page.get_by_label("Draft of").fill(text)
    page.get_by_role("button", name="Simulate").click()
    expect(page.get_by_text("What would change")).to_be_visible()


def test_a_draft_is_written_with_the_code_beside_it(browser: Browser, pages: WebPages, shop: Path) -> None:
    rules = (shop / "remit.toml").read_text("utf-8")
    with opened(browser, pages) as page:
        draft(page, pages, 'block = ["mcp__notes__wrtie"]\n' + rules)
        expect(page.get_by_text("did you mean mcp__notes__write")).to_be_visible()
        draft(page, pages, 'block = ["mcp__notes__write"]\n' + rules)
        expect(page.get_by_text("Disappears: 1 tool").first).to_be_visible()
        page.get_by_label(FIELD).fill(CODE)
        page.get_by_role("button", name="Write this change").click()
        expect(page.get_by_text("Commit it")).to_be_visible()
        assert (shop / "remit.toml").read_text("utf-8") == 'block = ["mcp__notes__write"]\n' + rules
        expect(page.get_by_text("may decide")).to_be_visible()  # the code is needed once
        expect(page.get_by_label(FIELD)).to_have_count(0)
        page.get_by_role("button", name="Undo the last change").click()
        expect(page.get_by_text("Restored")).to_be_visible()
    assert (shop / "remit.toml").read_text("utf-8") == rules


def test_the_code_in_the_header_keeps_the_draft_and_its_file(
    browser: Browser, pages: WebPages, shop: Path
) -> None:
    text = 'block = ["mcp__notes__write"]\n' + (shop / "remit.toml").read_text("utf-8")
    with opened(browser, pages) as page:
        draft(page, pages, text)
        unlock(page)
        expect(page.get_by_label("Draft of")).to_have_value(text)
        expect(page.locator("select[name=layer]")).to_have_value("project")
        page.get_by_role("button", name="Write this change").click()
        expect(page.get_by_text("Wrote")).to_be_visible()
    assert (shop / "remit.toml").read_text("utf-8") == text
