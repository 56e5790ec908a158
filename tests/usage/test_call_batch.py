"""Batches of calls can be written to files and divided."""

import json
from typing import Any

from remit.audit.audit_log import AuditEntry, CallQuery
from remit.decision.client_reports import CallOutcome
from remit.decision.projects import Workspace, identify, team_workspace
from remit.usage.call_batch import CallBatch, read_batch
from support.sandbox import Sandbox

SHOP = Workspace("/code/shop", "/code/shop", identify("/code/shop"))


def divided(used: Any, entries: Any) -> list[tuple[str, Any, Any]]:
    halves = CallBatch("id", 1, "claude-code", SHOP, used, entries).halves()
    return [(half.id, list(half.used), list(half.entries)) for half in halves]


def test_a_batch_is_read_as_it_was_written() -> None:
    entry = AuditEntry(5, "", "claude-code", None, None, "Bash", "visible", None, "done", 7, 2, 3)
    batch = CallBatch("id", 1, "claude-code", SHOP, [(("Bash", None), CallOutcome(call_id="c"))], [entry])
    assert read_batch(json.loads(json.dumps(batch.as_json()))) == batch


def test_a_batch_of_a_teams_project_is_read_with_its_team() -> None:
    api = team_workspace(identify("team:payments/api"), identify("team:payments"))
    batch = CallBatch("id", 1, "claude-code", api, [], [])
    written = json.loads(json.dumps(batch.as_json()))
    assert read_batch(written).workspace.team == api.team


def test_audit_entries_are_divided_from_uses_first() -> None:
    assert divided([1, 2], [3]) == [("ida", [], [3]), ("idb", [1, 2], [])]


def test_each_half_has_some_calls_and_a_single_one_has_no_halves() -> None:
    assert divided([1, 2, 3], []) == [("ida", [1], []), ("idb", [2, 3], [])]
    assert divided([], [1, 2]) == [("ida", [], [1]), ("idb", [], [2])]
    assert divided([1], []) == divided([], [1]) == divided([], []) == []


def test_a_batch_that_waited_for_the_store_is_recorded_once(sandbox: Sandbox) -> None:
    shop = str(sandbox.project("shop"))
    entry = AuditEntry(5, "", "claude-code", None, None, "Bash", "visible", None, "done", 7, 2, 3)
    with sandbox.registry() as registry:
        here = registry.at(shop)
        batch = CallBatch("id", 1, "claude-code", here.workspace, [], [entry])
        for _ in range(2):
            registry.usage.deliver(batch)
        assert registry.audit.find(CallQuery(), here).entries == [entry]
