"""Resolves names in source files across imports, without running the files."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from remit.names.source_files import Module

_FURTHEST = 20  # chained imports to follow


class References:
    """Resolves names and attributes in a module to full names."""

    def __init__(self, modules: Iterable[Module]) -> None:
        self.modules = {module.name: module for module in modules}
        self._values: dict[str, dict[str, ast.expr]] = {}
        self._names = {module.name: dict(_names(module)) for module in self.modules.values()}

    def of(self, node: ast.expr, module: str) -> str | None:
        """Return the full name of an object, as `package.module.object`; None if it cannot be resolved."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        first = self._names.get(module, {}).get(node.id)
        return None if first is None else self.follow(".".join((first, *reversed(parts))))

    def follow(self, name: str) -> str:
        """Follow imports to the module that defines an object."""
        for _ in range(_FURTHEST):
            module, rest = self.split(name)
            first, _, others = rest.partition(".")
            target = self._names.get(module, {}).get(first)
            if target is None or target == f"{module}.{first}":
                return name
            name = f"{target}.{others}" if others else target
        return name

    def imports(self, library: str, module: str) -> bool:
        """Return whether a module imports anything from a library."""
        names = self._names.get(module, {}).values()
        return any(name == library or name.startswith(f"{library}.") for name in names)

    def value(self, name: str) -> tuple[str, ast.expr] | None:
        """Find the value assigned to a name, with its module; None if there is none."""
        module, own = self.split(name)
        if module not in self._values:
            source = self.modules.get(module)
            self._values[module] = dict(_values(source)) if source else {}
        found = self._values[module].get(own)
        return None if found is None else (module, found)

    def split(self, name: str) -> tuple[str, str]:
        """Split the full name of an object into its module and its name in the module."""
        parts = name.split(".")
        for at in range(len(parts) - 1, 0, -1):
            if (module := ".".join(parts[:at])) in self.modules:
                return module, ".".join(parts[at:])
        return "", name


def _names(module: Module) -> Iterator[tuple[str, str]]:
    """List the names in a module with their targets; later ones win."""
    for node in ast.walk(module.tree):
        match node:
            case ast.Import(names):
                for each in names:
                    yield (each.asname, each.name) if each.asname else (_first(each.name), _first(each.name))
            case ast.ImportFrom(source, names, level):
                base = _base(module, source, level)
                yield from ((each.asname or each.name, f"{base}.{each.name}") for each in names)
            case _:
                pass
    for node in statements(module.tree.body):
        match node:
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                yield name, f"{module.name}.{name}"
            case ast.Assign(targets=targets):
                for each in targets:
                    if isinstance(each, ast.Name) and not _is_alias(node.value):
                        yield each.id, f"{module.name}.{each.id}"
            case ast.AnnAssign(target=ast.Name(name)):
                yield name, f"{module.name}.{name}"
            case _:
                pass


def _values(module: Module) -> Iterator[tuple[str, ast.expr]]:
    for node in statements(module.tree.body):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value


def _is_alias(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant)


def _first(name: str) -> str:
    return name.partition(".")[0]


def _base(module: Module, source: str | None, level: int) -> str:
    if not level:
        return source or ""
    parts = module.name.split(".")
    above = level - 1 if module.is_package else level
    kept = parts[: len(parts) - above] if above else parts
    return ".".join((*kept, *([source] if source else [])))


def statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """List statements in order, including those nested in `if`, `try`, `with` and loops."""
    for node in body:
        yield node
        for part in ("body", "orelse", "finalbody"):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield from statements(getattr(node, part, ()))
        for handler in getattr(node, "handlers", ()):
            yield from statements(handler.body)


def literal(node: ast.expr | None) -> Any:
    """Evaluate a literal; None for anything else."""
    if node is None:
        return None
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def text(node: ast.expr | None) -> str | None:
    """Evaluate a string literal; None for anything else."""
    value = literal(node)
    return value if isinstance(value, str) else None


def keywords(call: ast.Call | None) -> Mapping[str, ast.expr]:
    """Return the keyword arguments of a call; empty if there is no call."""
    return {} if call is None else {each.arg: each.value for each in call.keywords if each.arg is not None}
