"""Axes end at round numbers, and charts escape what they show."""

import pytest

from remit.web.charts import Part, axis, bars, columns


@pytest.mark.parametrize(
    ("most", "marks"),
    [
        (0, [0, 1]),
        (1, [0, 1]),
        (7, [0, 2, 4, 6, 8]),
        (1_060, [0, 500, 1_000, 1_500]),
        (4_000, [0, 1_000, 2_000, 3_000, 4_000]),
    ],
)
def test_an_axis_ends_at_a_round_number(most: int, marks: list[int]) -> None:
    assert axis(most, 4) == marks


def test_a_bar_has_its_parts_in_proportion_to_the_axis() -> None:
    drawn = bars([Part("sent", 500), Part("unsent", 250)], 1_000, '<b>"notes"')
    assert 'class="sent" x="0.00%" y="0.00%" width="50.00%"' in drawn
    assert 'class="unsent" x="50.00%" y="0.00%" width="25.00%"' in drawn
    assert "<b>" not in drawn


def test_a_column_without_calls_has_a_title_and_nothing_drawn() -> None:
    drawn = columns([("09:00: no calls", [Part("done", 0)]), ("10:00: 2 done", [Part("done", 2)])], "calls")
    assert "09:00: no calls" in drawn
    assert drawn.count('class="done"') == 1
