"""How approvals are shown to a person."""

import re

from remit.cli.approvals.approval_output import deadline


def test_a_deadline_is_a_time_of_day_with_the_minutes_left() -> None:
    at = 1_800_000_000_000
    assert re.fullmatch(r"\d\d:\d\d \(5 min\)", deadline(at, at - 300_000))
    assert deadline(at, at - 30_000).endswith(" (less than 1 min)")
    assert deadline(at, at + 30_000).endswith(" (less than 1 min)")
