"""The page of calls, and its files."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from remit.audit.audit_log import AuditEntry
from support.sandbox import Sandbox
from support.web_pages import web_pages

ENTRY = AuditEntry(5, "hook", "claude-code", None, None, "Bash", "visible", None, "done", 12, 40, 900)
ENTRIES = [
    ENTRY,
    ENTRY._replace(called_at=90_000, agent="reviewer", verdict="hidden", gate="policy", outcome="refused"),
    ENTRY._replace(called_at=95_000, tool="<script>alert(1)</script>", outcome="failed"),
]


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    path = sandbox.project("shop")
    with sandbox.registry() as registry:
        registry.audit.add(ENTRIES, registry.at(str(path)))
    return path


@pytest.fixture
def browser(sandbox: Sandbox, shop: Path) -> Iterator[httpx2.Client]:
    with web_pages(sandbox, shop) as pages, pages.browser() as client:
        yield client


def test_the_page_has_the_same_calls_as_the_command(
    sandbox: Sandbox, shop: Path, browser: httpx2.Client
) -> None:
    told = json.loads(sandbox.remit("calls", "--json", "--limit", "100", cwd=shop).stdout)
    assert browser.get("/calls.json").json() == told
    page = browser.get("/calls").text
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page
    assert page.count("<rect") == 3  # a bar in each of two minutes, and what was refused or failed


@pytest.mark.long
@pytest.mark.parametrize(
    ("query", "tools"),
    [
        ("q=bash", 2),
        ("by=main", 2),
        ("by=reviewer", 1),
        ("outcome=done", 1),
        ("span=1h", 0),
        ("outcome=x&span=x", 3),
    ],
)
def test_filters_select_calls(browser: httpx2.Client, query: str, tools: int) -> None:
    assert browser.get(f"/calls.json?{query}").json()["total"] == tools
    assert f"<b>{tools}</b>" in browser.get(f"/calls?{query}", headers={"hx-request": "true"}).text


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63)])
def test_a_call_at_an_impossible_time_hides_no_other(sandbox: Sandbox, shop: Path, number: int) -> None:
    with sandbox.registry() as registry:
        registry.audit.add(
            [ENTRY._replace(called_at=number, duration_ms=-number - 1)], registry.at(str(shop))
        )
    with web_pages(sandbox, shop) as pages, pages.browser() as client:
        for path in ("/calls", "/calls?span=1h", "/calls.json", "/calls.csv", "/calls.jsonl"):
            assert client.get(path).status_code == 200, path
        assert str(number) in client.get("/calls").text
        assert client.get("/calls.json").json()["total"] == 4
    assert str(number) in sandbox.remit("calls", cwd=shop).stdout
    assert "4 " in sandbox.remit("audit", "verify", cwd=shop).stdout
    assert str(number) in sandbox.remit("audit", "export", "--all-projects", cwd=shop).stdout


def test_calls_are_exported_as_files(browser: httpx2.Client) -> None:
    answer = browser.get("/calls.csv?q=bash")
    assert answer.headers["content-disposition"] == 'attachment; filename="calls.csv"'
    assert [row["agent"] for row in csv.DictReader(answer.text.splitlines())] == ["reviewer", ""]
    lines = browser.get("/calls.jsonl").text.splitlines()
    assert [json.loads(line)["outcome"] for line in lines] == ["failed", "refused", "done"]
