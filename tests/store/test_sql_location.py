"""All SQL is in `store/`, so another store has one place to stand."""

import re
from collections.abc import Iterator

import pytest

from support.source_trees import SourceModule, source_modules

SQL = re.compile(
    r"\bselect\b.+\bfrom\b|\binsert into\b|\bupdate\b.+\bset\b|\bdelete from\b", re.IGNORECASE | re.DOTALL
)
FOREIGN = "states/detectors"  # counts rows in databases of other programs


def modules() -> Iterator[tuple[str, SourceModule]]:
    for name, module in source_modules().items():
        if not name.startswith(("store/", FOREIGN)):
            yield name, module


def test_the_pattern_finds_sql() -> None:
    assert SQL.search("SELECT name\nFROM tools")
    assert SQL.search("update tools set x = 1")
    assert not SQL.search("select a tool")


@pytest.mark.long
def test_no_module_outside_the_store_contains_sql() -> None:
    assert [(name, text) for name, module in modules() for _, text in module.texts if SQL.search(text)] == []


def test_only_the_composition_root_opens_the_database_itself() -> None:
    importing = {name for name, module in modules() if "remit.store.database" in module.imported}
    assert importing <= {"bootstrap.py"}
