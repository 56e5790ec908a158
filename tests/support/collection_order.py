"""Where each worker starts to collect, so a new checkout is compiled once and not by every worker."""

import os
from itertools import accumulate
from pathlib import Path

import pytest

_TESTS = Path(__file__).parents[1]


def share_compilation(config: pytest.Config) -> None:
    """Let a worker that collects all tests begin with its share; the others compile theirs meanwhile."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")
    if not worker or [Path(path).resolve() for path in config.args] != [_TESTS]:
        return
    places = _places([Path(path).resolve() for path in config.getoption("ignore") or ()])
    passed = list(accumulate(map(_size, places)))
    begin = passed[-1] * int(worker) // int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    first = sum(size <= begin for size in passed)
    config.args = [str(place) for place in (*places[first:], *places[:first])]
    config.pluginmanager.register(_UsualOrder(places))


class _UsualOrder:
    """Sorts tests as they would be without that: all workers must agree."""

    def __init__(self, places: list[Path]) -> None:
        self._order = {place: number for number, place in enumerate(places)}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: self._order[_TESTS / item.path.relative_to(_TESTS).parts[0]])


def _places(ignored: list[Path]) -> list[Path]:
    """List the files and folders with tests, in the order of their collection."""
    return sorted(place for place in _TESTS.iterdir() if place not in ignored and _tests_of(place))


def _size(place: Path) -> int:
    return sum(file.stat().st_size for file in _tests_of(place))


def _tests_of(place: Path) -> list[Path]:
    if place.is_dir():
        return list(place.rglob("test_*.py"))
    return [place] if place.match("test_*.py") else []
