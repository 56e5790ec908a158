"""Calls over time, counted for a chart."""

from collections.abc import Iterator, Sequence

import pytest

from remit.audit.audit_log import MOST_BARS, AuditEntry, CallQuery, TimelineBar
from remit.decision.context import Context
from remit.registry import Registry
from support.sandbox import Sandbox

MINUTE, DAY = 60_000, 86_400_000
ENTRY = AuditEntry(0, "", "claude-code", None, None, "Bash", "visible", None, "done", 0, 0, 0)


@pytest.fixture
def shop(sandbox: Sandbox) -> Iterator[tuple[Registry, Context]]:
    sandbox.time = 100 * DAY
    with sandbox.registry() as registry:
        yield registry, registry.at(str(sandbox.project("shop")))


def bars(shop: tuple[Registry, Context], *entries: AuditEntry) -> tuple[int, Sequence[TimelineBar]]:
    registry, here = shop
    registry.audit.add(entries, here)
    return registry.audit.timeline(CallQuery(limit=1), here)


def test_intervals_without_calls_are_shown_as_such(shop: tuple[Registry, Context]) -> None:
    start = 99 * DAY
    outcomes = ((5, "done"), (5, "refused"), (3 * MINUTE, "failed"), (3 * MINUTE, "unreachable"))
    step, counted = bars(shop, *(ENTRY._replace(called_at=start + at, outcome=it) for at, it in outcomes))
    assert step == MINUTE
    assert [(at - start, *counts) for at, *counts in counted] == [
        (0, 2, 0, 1),
        (MINUTE, 0, 0, 0),
        (2 * MINUTE, 0, 0, 0),
        (3 * MINUTE, 2, 2, 0),
    ]


def test_a_long_time_has_wider_intervals_and_never_too_many(shop: tuple[Registry, Context]) -> None:
    entries = [ENTRY._replace(called_at=at * DAY) for at in (20, 99)]
    step, counted = bars(shop, *entries)
    assert step == 7 * DAY
    assert len(counted) <= MOST_BARS
    assert sum(count for _, count, *_ in counted) == 2


def test_without_calls_there_is_no_bar(shop: tuple[Registry, Context]) -> None:
    assert not bars(shop)[1]
