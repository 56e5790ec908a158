"""The options and arguments of a typer command, from its function's signature."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from remit.names.click_parameters import longest_flag
from remit.names.name_tree import Form, Parameter
from remit.names.parameter_types import Types, of_value
from remit.names.references import References, keywords, literal, text

Function = ast.FunctionDef | ast.AsyncFunctionDef

_CONTEXTS = ("Context", "CallbackParam")


class _Said(NamedTuple):
    """What is said of a parameter besides its type and its default."""

    kind: str  # `Option` or `Argument`
    call: ast.Call
    default: ast.expr | None
    words: tuple[str, ...]


class TyperParameters:
    """Reads the signatures of commands."""

    def __init__(self, references: References) -> None:
        self._references = references
        self._types = Types(references)

    def of(self, function: Function, module: str) -> Iterator[Parameter]:
        """List what a command takes, in the order in which it is written."""
        for each, default in signature(function):
            written = each.annotation
            if isinstance(written, ast.Name | ast.Attribute) and ast.unparse(written).endswith(_CONTEXTS):
                continue
            parameter = self._parameter(each.arg, written, default, module)
            if parameter is not None:
                yield parameter

    def _parameter(
        self, name: str, written: ast.expr | None, default: ast.expr | None, module: str
    ) -> Parameter | None:
        bare, said = self._said(written, default, module)
        if said is not None:
            if any(
                literal(keywords(said.call).get(key)) is True for key in ("hidden", "hide_input", "is_eager")
            ):
                return None
            default = said.default
        is_required = default is None or (isinstance(default, ast.Constant) and default.value is ...)
        type_ = self._types.of(bare, module) if bare is not None else of_value(literal(default))
        about = keywords(None if said is None else said.call)
        parameter = Parameter(
            name,
            Form.ARGUMENT,
            type=type_.name,
            choices=type_.choices,
            is_required=is_required,
            is_many=type_.is_many,
            help=text(about.get("help")) or "",
        )
        if said.kind == "Argument" if said is not None else is_required:
            return parameter
        return _option(parameter, said)

    def _said(
        self, written: ast.expr | None, default: ast.expr | None, module: str
    ) -> tuple[ast.expr | None, _Said | None]:
        """Find what `typer.Option` or `typer.Argument` says, and the type without it."""
        if isinstance(written, ast.Subscript) and ast.unparse(written.value).endswith("Annotated"):
            inside = written.slice
            if isinstance(inside, ast.Tuple) and inside.elts:
                for each in inside.elts[1:]:
                    if (kind := self._kind(each, module)) and isinstance(each, ast.Call):
                        words = (text(word) for word in each.args)
                        return inside.elts[0], _Said(kind, each, default, (*filter(None, words),))
                return inside.elts[0], None
        if (kind := self._kind(default, module)) and isinstance(default, ast.Call):
            first = default.args[0] if default.args else keywords(default).get("default")
            words = (text(word) for word in default.args[1:])
            given = first if first is not None else ast.Constant(...)
            return written, _Said(kind, default, given, (*filter(None, words),))
        return written, None

    def _kind(self, node: ast.expr | None, module: str) -> str | None:
        if not isinstance(node, ast.Call):
            return None
        name = self._references.of(node.func, module)
        return name.rpartition(".")[2] if name in ("typer.Option", "typer.Argument") else None


def signature(function: Function) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    """List a function's parameters with their defaults."""
    given = function.args
    plain = [*given.posonlyargs, *given.args]
    missing = len(plain) - len(given.defaults)
    yield from zip(plain, (*[None] * missing, *given.defaults), strict=True)
    yield from zip(given.kwonlyargs, given.kw_defaults, strict=True)


def _option(parameter: Parameter, said: _Said | None) -> Parameter:
    flag, off = longest_flag(() if said is None else said.words)
    plain = parameter.name.replace("_", "-")
    if parameter.type == "boolean" and not parameter.is_many:
        if not flag:
            flag, off = f"--{plain}", f"--no-{plain}"
        return parameter._replace(form=Form.FLAG, flag=flag, off=off, is_required=False)
    return parameter._replace(form=Form.OPTION, flag=flag or f"--{plain}")
