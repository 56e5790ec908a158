"""Splits the tests in two: those that `make test` runs, and the long ones, which `make test-long` runs.

A test that takes seconds, because it starts processes, gateways or databases, is marked `long`. If it has
several cases, the first one stays in `make test`.
"""

import pytest

QUICK, LONG = "quick", "long"


def add_option(parser: pytest.Parser) -> None:
    parser.addoption("--part", choices=[QUICK, LONG], help="run one part of the tests; without it, all")


def choose_part(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave only the tests of the chosen part."""
    part: str | None = config.getoption("part")
    if part is None:
        return
    chosen: list[pytest.Item] = []
    others: list[pytest.Item] = []
    known: set[str] = set()
    for item in items:
        is_long = item.get_closest_marker("long") is not None and not _is_first_case(item, known)
        (chosen if is_long == (part == LONG) else others).append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = chosen


def _is_first_case(item: pytest.Item, known: set[str]) -> bool:
    test, _, case = item.nodeid.partition("[")
    is_first = test not in known
    known.add(test)
    return bool(case) and is_first
