"""A crafted text must not take long: every pattern of the inspection takes time in proportion to the text."""

import importlib
import json
import pkgutil
import re
import time
from collections.abc import Iterator, Mapping
from typing import cast

import pytest

import remit.inspection
import remit.text
from remit.decision.tools import Definition
from remit.inspection.inspector import inspect
from remit.inspection.surroundings import Surroundings

LONG = 20_000  # characters; what takes quadratic time takes seconds
SECONDS = 1.0
WHOLE = {"_VARIABLE"}  # only ever compared with a whole token
UNITS = (
    *("a", "A", "0a", "0A", "aB", "1.", "a_", "a.", "a@", "/a", "$ ~ ", " ", "\n", "\n\r", "\n \r"),
    *("  \u3000 ", "` ", "[a](", "again, ", ", also ", "then you ", ", and ", "127. - "),
)


def patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Find the patterns of all modules, also in their tables."""
    for package in (remit.inspection, remit.text):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            names = vars(importlib.import_module(module.name))
            for name, value in names.items():
                yield from ((f"{module.name}.{name}", each) for each in within(value) if name not in WHOLE)


def within(value: object, depth: int = 0) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        pattern = cast("re.Pattern[str] | re.Pattern[bytes]", value)
        if isinstance(pattern.pattern, str):
            yield cast("re.Pattern[str]", pattern)
    elif isinstance(value, Mapping) and depth < 3:
        yield from within(list(cast("Mapping[object, object]", value).values()), depth + 1)
    elif isinstance(value, list | tuple) and depth < 3:
        for each in cast("list[object]", value):
            yield from within(each, depth + 1)


FOUND = {pattern.pattern: (name, pattern) for name, pattern in patterns()}


def repeated(unit: str, length: int) -> str:
    return (unit * (length // len(unit) + 1))[:length]


@pytest.mark.long
@pytest.mark.parametrize("unit", UNITS)
def test_no_pattern_takes_long_on_a_text_that_repeats(unit: str) -> None:
    text = repeated(unit, LONG)
    assert len(FOUND) > 50
    for name, pattern in FOUND.values():
        start = time.process_time()
        for _ in pattern.finditer(text):
            pass
        assert time.process_time() - start < SECONDS, name


@pytest.mark.long
@pytest.mark.parametrize("unit", ["again, ", "then you ", "A", "0a", "\n\r", "  \u3000 ", "` ", "x do not "])
def test_a_long_description_is_inspected_in_time(unit: str) -> None:
    definition = Definition(
        name="mcp__till__sum",
        server="till",
        tool="sum",
        description=repeated(unit, 100_000),
        input_schema=json.dumps({"type": "object"}),
    )
    start = time.process_time()
    inspect(definition, Surroundings.of([definition]))
    assert time.process_time() - start < 5 * SECONDS
