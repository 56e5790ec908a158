"""Reads the options and arguments of click and typer commands from source code."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from remit.names.name_tree import Form, Parameter
from remit.names.parameter_types import Types, of_value
from remit.names.references import References, keywords, literal, text

_YES = Parameter("yes", Form.FLAG, "--yes", type="boolean", help="Confirm the action without prompting.")


class ClickParameters:
    """Reads the parameters of click commands from their decorators."""

    def __init__(self, references: References, libraries: Sequence[str]) -> None:
        self._references = references
        self._types = Types(references)
        self._libraries = tuple(f"{library}." for library in libraries)

    def of(self, decorators: Sequence[ast.expr], module: str) -> Iterator[Parameter]:
        """List the parameters of a command in source order."""
        for decorator in decorators:
            node, home = self._shared(decorator, module)
            call = node if isinstance(node, ast.Call) else None
            name = self._references.of(node.func if isinstance(node, ast.Call) else node, home) or ""
            if not name.startswith(self._libraries):
                continue
            kind = name.rpartition(".")[2]
            if kind == "confirmation_option":
                yield _YES
            elif call is not None and kind in ("option", "argument"):
                yield from self.parameter(call, kind, home)

    def _shared(self, node: ast.expr, module: str) -> tuple[ast.expr, str]:
        """Resolve a decorator that is the name of a shared option, and return it with its module."""
        if isinstance(node, ast.Call) or (name := self._references.of(node, module)) is None:
            return node, module
        found = self._references.value(name)
        return (node, module) if found is None else (found[1], found[0])

    def parameter(self, call: ast.Call, kind: str, module: str) -> Iterator[Parameter]:
        """Read an option or argument; skip those that agents should not pass."""
        said = keywords(call)
        words = [word for each in call.args if (word := text(each)) is not None]
        if not words or any(literal(said.get(key)) is True for key in ("hidden", "hide_input")):
            return
        if literal(said.get("is_eager")) is True and literal(said.get("is_flag")) is True:
            return  # it prints something and exits, as `--version` does
        made = self._argument if kind == "argument" else self._option
        parameter = made(words, said, module)
        if parameter is not None:
            yield parameter

    def _argument(self, words: Sequence[str], said: Mapping[str, ast.expr], module: str) -> Parameter:
        amount = literal(said.get("nargs"))
        is_many = isinstance(amount, int) and amount != 1
        needed = literal(said.get("required"))
        type_ = self._types.of(said.get("type"), module)
        return Parameter(
            words[0].replace("-", "_").lower(),
            Form.ARGUMENT,
            type=type_.name,
            choices=type_.choices,
            is_required=needed if isinstance(needed, bool) else "default" not in said and amount != -1,
            is_many=is_many,
            help=text(said.get("help")) or "",
        )

    def _option(self, words: Sequence[str], said: Mapping[str, ast.expr], module: str) -> Parameter | None:
        flag, off = longest_flag(words)
        if not flag:
            return None
        amount = literal(said.get("nargs"))
        own = [word for word in words if word.isidentifier()]
        default = literal(said.get("default"))
        type_ = self._types.of(said["type"], module) if "type" in said else of_value(default)
        is_flag = literal(said.get("is_flag")) is True or "flag_value" in said or bool(off)
        parameter = Parameter(
            own[0] if own else flag.lstrip("-/").replace("-", "_").lower(),
            Form.OPTION,
            flag,
            type=type_.name,
            choices=type_.choices,
            is_required=literal(said.get("required")) is True or "prompt" in said,
            is_many=literal(said.get("multiple")) is True,
            help=text(said.get("help")) or "",
        )
        if literal(said.get("count")) is True:
            return parameter._replace(form=Form.COUNT, type="integer")
        if is_flag:
            return parameter._replace(form=Form.FLAG, off=off, type="boolean", is_required=False)
        if isinstance(amount, int) and amount != 1:
            return parameter._replace(is_many=True, is_spread=True)
        return parameter


def longest_flag(words: Sequence[str]) -> tuple[str, str]:
    """Return the long flag of an option, and the flag that negates it."""
    flags = [word for word in words if word.startswith("-")]
    chosen = next((word for word in flags if word.startswith("--")), flags[0] if flags else "")
    on, _, off = chosen.partition("/")
    return on.strip(), off.strip()


Function = ast.FunctionDef | ast.AsyncFunctionDef

_CONTEXTS = ("Context", "CallbackParam")


class _Said(NamedTuple):
    """The `typer.Option` or `typer.Argument` of a parameter."""

    kind: str  # `Option` or `Argument`
    call: ast.Call
    default: ast.expr | None
    words: tuple[str, ...]


class TyperParameters:
    """Reads the parameters of typer commands from their signatures."""

    def __init__(self, references: References) -> None:
        self._references = references
        self._types = Types(references)

    def of(self, function: Function, module: str) -> Iterator[Parameter]:
        """List the parameters of a command in source order."""
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
        """Find the bare type of a parameter, and its `typer.Option` or `typer.Argument`."""
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
