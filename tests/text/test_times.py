"""Times as text, whatever number the store holds."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

import remit
from remit.text.times import day, local_time, moment

AT = 1_767_225_600_123  # the first moment of 2026, in UTC, and 123 ms


def test_times_are_written_for_people_and_for_programs() -> None:
    assert moment(AT) == "2026-01-01T00:00:00.123+00:00"
    assert moment(AT, "seconds") == "2026-01-01T00:00:00+00:00"
    assert day(AT) == "2026-01-01"
    local = datetime(2026, 1, 1, tzinfo=UTC).astimezone()
    assert local_time(AT) == f"{local:%Y-%m-%d %H:%M}"
    assert local_time(AT, "%H:%M") == f"{local:%H:%M}"


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63), 10**15, -(10**15), 10**400])
def test_a_number_that_is_no_date_is_written_as_it_is(number: int) -> None:
    assert [local_time(number), moment(number), day(number)] == [str(number)] * 3


def test_no_other_module_makes_a_date_of_a_number() -> None:
    root = Path(remit.__file__).parent
    found = [path for path in root.rglob("*.py") if "fromtimestamp(" in path.read_text("utf-8")]
    assert found == [root / "text/times.py"]
