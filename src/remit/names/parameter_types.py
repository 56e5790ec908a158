"""Reads the types of parameters from source code."""

import ast
from collections.abc import Iterator, Mapping
from typing import NamedTuple, cast

from remit.names.references import References, literal, statements

Choices = tuple[str | int | float | bool | None, ...]

_SIMPLE = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "INT": "integer",
    "FLOAT": "number",
    "BOOL": "boolean",
    "IntRange": "integer",
    "FloatRange": "number",
}
_MANY = frozenset({"list", "List", "Sequence", "Iterable", "Collection", "tuple", "Tuple", "set", "Set"})
_JSON: Mapping[type, str] = {bool: "boolean", int: "integer", float: "number"}
_DEEPEST = 10


class ParameterType(NamedTuple):
    """The JSON type of a parameter."""

    name: str = "string"
    choices: Choices = ()
    is_many: bool = False


class Types:
    """Reads types, and resolves the enumerations of a package."""

    def __init__(self, references: References) -> None:
        self._references = references

    def of(self, node: ast.expr | None, module: str, depth: int = 0) -> ParameterType:
        """Read a type; unknown types are strings."""
        if node is None or depth > _DEEPEST:
            return ParameterType()
        match node:
            case ast.Constant(str(written)):
                return self.of(_parsed(written), module, depth + 1)
            case ast.BinOp(left, ast.BitOr(), right):
                return self.of(right if _is_none(left) else left, module, depth + 1)
            case ast.Subscript(value, inside):
                return self._generic(value, inside, module, depth)
            case ast.Call(function, arguments):
                return self._called(function, arguments, module)
            case _:
                return self._named(node, module)

    def _named(self, node: ast.expr, module: str) -> ParameterType:
        last = _last(node)
        if last in _SIMPLE:
            return ParameterType(_SIMPLE[last])
        if last in _MANY:
            return ParameterType(is_many=True)
        name = self._references.of(node, module)
        return ParameterType(choices=tuple(self._members(name)) if name else ())

    def _generic(self, value: ast.expr, inside: ast.expr, module: str, depth: int) -> ParameterType:
        last = _last(value)
        first = inside.elts[0] if isinstance(inside, ast.Tuple) and inside.elts else inside
        if last == "Literal":
            written = inside.elts if isinstance(inside, ast.Tuple) else [inside]
            return ParameterType(choices=_choices([literal(each) for each in written]))
        found = self.of(first, module, depth + 1)
        return found._replace(is_many=True) if last in _MANY else found

    def _called(self, function: ast.expr, arguments: list[ast.expr], module: str) -> ParameterType:
        if _last(function) != "Choice":
            return self._named(function, module)
        written = literal(arguments[0]) if arguments else None
        if isinstance(written, list | tuple):
            return ParameterType(choices=_choices(cast("list[object]", written)))
        name = self._references.of(arguments[0], module) if arguments else None
        return ParameterType(choices=tuple(self._members(name)) if name else ())

    def _members(self, name: str) -> Iterator[str]:
        """List the values of an enumeration in the package."""
        module, own = self._references.split(name)
        source = self._references.modules.get(module)
        for node in statements(source.tree.body) if source else ():
            if isinstance(node, ast.ClassDef) and node.name == own and _is_enum(node):
                for each in node.body:
                    if isinstance(each, ast.Assign) and isinstance(value := literal(each.value), str):
                        yield value


def of_value(value: object) -> ParameterType:
    """Return the type of a default value."""
    return ParameterType(_JSON.get(type(value), "string"), is_many=isinstance(value, list | tuple))


def _choices(values: list[object]) -> Choices:
    return tuple(each for each in values if isinstance(each, str | int | float | bool))


def _is_enum(node: ast.ClassDef) -> bool:
    return any((_last(base) or "").endswith("Enum") for base in node.bases)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _parsed(written: str) -> ast.expr | None:
    try:
        return ast.parse(written, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _last(node: ast.expr) -> str | None:
    match node:
        case ast.Name(name) | ast.Attribute(attr=name):
            return name
        case _:
            return None
