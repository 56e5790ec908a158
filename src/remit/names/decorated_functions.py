"""Finds the functions of a package that are decorated as tools."""

import ast
from collections.abc import Iterator, Mapping
from typing import cast

from remit.names.command_parameters import Function, signature
from remit.names.name_tree import Command, Form, Label, Parameter, Start
from remit.names.parameter_types import Types, of_value
from remit.names.references import References, keywords, literal, statements, text
from remit.names.source_files import Module

_HOMES = ("remit.", "remit.python_tools.decorators.")
_PLACES = ("pages", "routes", "components", "elements")


class FunctionScan:
    """Finds tool functions in modules."""

    def __init__(self, references: References) -> None:
        self._references = references
        self._types = Types(references)

    def scan(self, module: Module) -> Iterator[tuple[Command, bool]]:
        """List the tool functions of a module, and whether each states its whole name."""
        for node in statements(module.tree.body):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                said = self._said(node, module.name)
                if "tool" in said:
                    given = keywords(said["tool"][0])
                    yield self._command(node, said, module), "name" in given or "namespace" in given

    def plain(self, function: Function, module: Module) -> Command:
        """Read a function without `@tool` as a command; nothing says that agents may use it."""
        return Command(
            function.name.rstrip("_"),
            Start.FUNCTION,
            f"{module.name}:{function.name}",
            description=ast.get_docstring(function) or ast.get_docstring(module.tree) or "",
            parameters=tuple(self._parameters(function, module.name)),
        )

    def _said(self, function: Function, module: str) -> Mapping[str, list[ast.Call | None]]:
        """Collect Remit's decorators of a function by name."""
        said: dict[str, list[ast.Call | None]] = {}
        for node in function.decorator_list:
            call = node if isinstance(node, ast.Call) else None
            name = self._references.of(node.func if isinstance(node, ast.Call) else node, module) or ""
            home, _, own = name.rpartition(".")
            if f"{home}." in _HOMES:
                said.setdefault(own, []).append(call)
        return said

    def _command(
        self, function: Function, said: Mapping[str, list[ast.Call | None]], module: Module
    ) -> Command:
        call = said["tool"][0]
        given = keywords(call)
        own = text(given.get("name")) or function.name.rstrip("_")
        namespace = text(given.get("namespace"))
        is_inside = namespace is None or own.startswith(f"{namespace}.")
        words = text(given.get("description")) or ast.get_docstring(function) or ""
        return Command(
            own if is_inside else f"{namespace}.{own}",
            Start.FUNCTION,
            f"{module.name}:{function.name}",
            description=words,
            parameters=tuple(self._parameters(function, module.name)),
            label=_label(given, said),
        )

    def _parameters(self, function: Function, module: str) -> Iterator[Parameter]:
        for each, default in signature(function):
            bare, help_ = _described(each.annotation)
            type_ = self._types.of(bare, module) if bare is not None else of_value(literal(default))
            yield Parameter(
                each.arg,
                Form.KEYWORD,
                type=type_.name,
                choices=type_.choices,
                is_required=default is None,
                is_many=type_.is_many,
                help=help_,
            )


def _label(given: Mapping[str, ast.expr], said: Mapping[str, list[ast.Call | None]]) -> Label:
    needs = [call for call in said.get("requires", ()) if call is not None]
    states = [name for call in needs for each in call.args if (name := text(each)) is not None]
    whens = [written for call in needs if (written := text(keywords(call).get("when"))) is not None]
    places = [keywords(call) for call in said.get("location_scope", ()) if call is not None]
    where = {name: _texts(place.get(name)) for place in places[:1] for name in _PLACES}
    enabled, approval = literal(given.get("ai_enabled")), literal(given.get("approval"))
    return Label(
        states=tuple(dict.fromkeys(states)),
        when=whens[0] if len(whens) == 1 else " && ".join(f"({each})" for each in whens) or None,
        danger=text(given.get("danger")),
        approval=approval if isinstance(approval, bool) else None,
        ai_enabled=enabled if isinstance(enabled, bool) else True,
        **where,
    )


def _texts(node: ast.expr | None) -> tuple[str, ...] | None:
    value = literal(node)
    if not isinstance(value, list | tuple):
        return None
    return tuple(each for each in cast("list[object]", value) if isinstance(each, str))


def _described(annotation: ast.expr | None) -> tuple[ast.expr | None, str]:
    """Split `Annotated[str, "..."]` into its type and its description."""
    if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value).endswith("Annotated"):
        inside = annotation.slice
        if isinstance(inside, ast.Tuple) and inside.elts:
            words = [word for each in inside.elts[1:] if (word := text(each)) is not None]
            return inside.elts[0], words[0] if words else ""
    return annotation, ""
