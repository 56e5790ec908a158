"""Calls that a framework made, in the project's audit and usage."""

import time
from pathlib import Path

import pytest

from remit import ToolRegistry
from remit.audit.audit_log import AuditOutcome, CallQuery
from remit.bootstrap import open_registry
from remit.decision.decide import Decision, Verdict
from remit.python_tools.recorded_call import RecordedCall
from support.builders import servers
from support.sandbox import Sandbox

VISIBLE = Decision(verdict=Verdict.VISIBLE, gate=None, reason="", unlock=None)


def ended(outcome: AuditOutcome, answer: str | None = "found") -> RecordedCall:
    return RecordedCall(round(1000 * time.time()), "langchain", outcome, 7, {"q": "x"}, answer)


@pytest.fixture
def shop(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in sandbox.environment.items():
        monkeypatch.setenv(name, value)
    root = sandbox.project("shop")
    sandbox.write(root / ".mcp.json", servers("git", "wiki"))
    with open_registry() as registry:
        registry.usage.report_tool("mcp__git__log", registry.at(str(root)), description="Logs.")
    return root


def test_a_call_is_audited_with_its_sizes_and_only_known_tools_are_counted(shop: Path) -> None:
    with ToolRegistry(project=str(shop)) as registry:
        registry.record("mcp__git__log", VISIBLE, ended(AuditOutcome.DONE))
        registry.record("mcp__git__log", VISIBLE, ended(AuditOutcome.REFUSED, None))
        for name in ("weather", "mcp__mail__send", "mcp__wiki__read"):  # ours, unknown, and not listed yet
            registry.record(name, VISIBLE, ended(AuditOutcome.FAILED))
    with open_registry() as registry:
        here = registry.at(str(shop))
        entries = registry.audit.find(CallQuery(), here).entries
        used = registry.usage.report(here).used
    assert {(each.client, each.tool, each.outcome) for each in entries} == {
        ("langchain", "mcp__git__log", "done"),
        ("langchain", "mcp__git__log", "refused"),
        ("langchain", "weather", "failed"),
        ("langchain", "mcp__mail__send", "failed"),
        ("langchain", "mcp__wiki__read", "failed"),
    }
    sizes = {each.outcome: (each.bytes_in, each.bytes_out, each.duration_ms) for each in entries}
    assert sizes["done"] == (9, 7, 7)
    assert sizes["refused"] == (9, 0, 7)
    assert [each.tool.name for each in used] == ["mcp__git__log"]


def test_without_a_project_nothing_is_recorded(shop: Path) -> None:
    with ToolRegistry() as registry:
        registry.record("weather", VISIBLE, ended(AuditOutcome.DONE))
    with open_registry() as registry:
        assert registry.audit.find(CallQuery(), registry.at(str(shop))).entries == []
