"""All SQL is in `store/`, so another store has one place to stand."""

import ast
import re
from collections.abc import Iterator

from support.source_trees import source_trees

SQL = re.compile(
    r"\bselect\b.+\bfrom\b|\binsert into\b|\bupdate\b.+\bset\b|\bdelete from\b", re.IGNORECASE | re.DOTALL
)
FOREIGN = "states/detectors"  # counts rows in databases of other programs
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def modules() -> Iterator[tuple[str, ast.Module]]:
    for name, tree in source_trees().items():
        if not name.startswith(("store/", FOREIGN)):
            yield name, tree


def strings(tree: ast.Module) -> Iterator[str]:
    """The string constants of a module, without its docstrings."""
    documented = [node for node in ast.walk(tree) if isinstance(node, DOCUMENTED) and node.body]
    docstrings = {id(node.body[0].value) for node in documented if isinstance(node.body[0], ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def test_the_pattern_finds_sql() -> None:
    assert SQL.search("SELECT name\nFROM tools")
    assert SQL.search("update tools set x = 1")
    assert not SQL.search("select a tool")


def test_no_module_outside_the_store_contains_sql() -> None:
    assert [(name, text) for name, tree in modules() for text in strings(tree) if SQL.search(text)] == []


def test_only_the_composition_root_opens_the_database_itself() -> None:
    importing = [
        name
        for name, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "remit.store.database"
    ]
    assert {*importing} <= {"bootstrap.py"}
