"""What Remit's modules call, import and say, read once for all tests that look at the source."""

import ast
import gc
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import remit

PACKAGE = Path(remit.__file__).parent


class SourceModule(NamedTuple):
    """What tests look at in a module."""

    calls: Sequence[tuple[str | None, str]]  # `(None, "f")` for `f()`, `("os", "f")` for `os.f()`
    imported: frozenset[str]  # modules, at the top or later, and names from them
    names: frozenset[str]
    texts: Sequence[tuple[int, str]]  # string constants with their lines, without docstrings

    @property
    def called(self) -> frozenset[str]:
        """The names of the functions and methods that the module calls."""
        return frozenset(name for _, name in self.calls)


@cache
def source_modules() -> Mapping[str, SourceModule]:
    """Read every module, by its path in the package."""
    gc.disable()  # a syntax tree is all objects, and is dropped at once
    try:
        return {
            path.relative_to(PACKAGE).as_posix(): _read(path.read_text(encoding="utf-8"))
            for path in sorted(PACKAGE.rglob("*.py"))
        }
    finally:
        gc.enable()


def _read(text: str) -> SourceModule:
    nodes = list(ast.walk(ast.parse(text)))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    return SourceModule(
        calls=[_called(node.func) for node in nodes if isinstance(node, ast.Call)],
        imported=frozenset(name for node in nodes for name in _imported(node)),
        names=frozenset(node.id for node in nodes if isinstance(node, ast.Name)),
        texts=[
            (node.lineno, node.value)
            for node in nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
        ],
    )


def _called(function: ast.expr) -> tuple[str | None, str]:
    match function:
        case ast.Name(id=name):
            return None, name
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            return owner, name
        case ast.Attribute(attr=name):
            return "", name
        case _:
            return None, ""


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (each.name for each in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield node.module or ""
        yield from (f"{node.module}.{each.name}" for each in node.names)
