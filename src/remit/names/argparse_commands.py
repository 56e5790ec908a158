"""Finds argparse commands in source files: parsers and subparsers that one scope builds."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from remit.names.command_parameters import longest_flag
from remit.names.name_tree import Command, Form, Parameter, ScanWarning, Start
from remit.names.parameter_types import Types
from remit.names.references import References, keywords, literal, text
from remit.names.source_files import Module

_PARSER = "argparse.ArgumentParser"
_FLAGS = ("store_true", "store_false", "store_const")
_IGNORED = ("help", "version")
_MANY = ("*", "+")

Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Parser:
    """A parser with its subparsers."""

    description: str = ""
    parameters: list[Parameter] = field(default_factory=list[Parameter])
    commands: "dict[str, Parser]" = field(default_factory=dict[str, "Parser"])
    has_commands: bool = False


class _Subparsers:
    """The result of `add_subparsers`; its parsers become commands of `parser`."""

    def __init__(self, parser: Parser) -> None:
        self.parser = parser


class ArgparseScan:
    """Finds the argparse parsers that modules and their functions build."""

    def __init__(self, references: References) -> None:
        self._references = references
        self._types = Types(references)
        self.warnings: list[ScanWarning] = []

    def scan(self, module: Module) -> Iterator[Command]:
        """List the commands of a module."""
        if not self._references.imports("argparse", module.name):
            return
        for scope in ast.walk(module.tree):
            if isinstance(scope, Scope):
                for parser in _Flow(self, module).run(scope):
                    if parser.has_commands or module.command_path:
                        yield from self._commands(parser, scope, module)

    def parameter(self, call: ast.Call, module: str) -> Parameter | None:
        """Read an `add_argument` call."""
        said = keywords(call)
        words = [word for each in call.args if (word := text(each)) is not None]
        action = text(said.get("action")) or ""
        if not words or action in _IGNORED:
            return None
        type_ = self._types.of(said.get("type"), module)
        choices = literal(said.get("choices"))
        amount = literal(said.get("nargs"))
        is_many = amount in _MANY or isinstance(amount, int)
        parameter = Parameter(
            words[0],
            Form.ARGUMENT,
            type=type_.name,
            choices=tuple(choices) if isinstance(choices, list | tuple) else (),  # pyright: ignore[reportUnknownArgumentType] - a literal
            is_required=amount not in ("?", "*") and "default" not in said,
            is_many=is_many,
            help=text(said.get("help")) or "",
        )
        flag, _ = longest_flag(words)
        return _option(parameter, flag, action, said, is_many) if flag else parameter

    def _commands(self, parser: Parser, scope: Scope, module: Module) -> Iterator[Command]:
        start, target = _start(scope, module, self._references)
        if start is Start.UNKNOWN:
            line = getattr(scope, "lineno", 0)
            self.warnings.append(
                ScanWarning(
                    module.file,
                    line,
                    "cannot tell how this parser is started; set its command in the scopes",
                )
            )
        if parser.has_commands:
            yield from _leaves(parser, (), start, target)
        else:
            yield Command(module.own_name, start, target, (), parser.description, tuple(parser.parameters))


class _Flow:
    """Follows the statements of one scope."""

    def __init__(self, scan: ArgparseScan, module: Module) -> None:
        self._scan = scan
        self._module = module
        self._known: dict[str, Parser | _Subparsers] = {}
        self._tops: list[Parser] = []

    def run(self, scope: Scope) -> list[Parser]:
        for node in _in_order(scope.body):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                made = self._value(node.value)
                if made is not None:
                    self._known[node.targets[0].id] = made
            elif isinstance(node, ast.Expr):
                self._value(node.value)
        return self._tops

    def _value(self, node: ast.expr) -> "Parser | _Subparsers | None":
        if isinstance(node, ast.Name):
            return self._known.get(node.id)
        if not isinstance(node, ast.Call):
            return None
        if self._scan._references.of(node.func, self._module.name) == _PARSER:  # pyright: ignore[reportPrivateUsage] - one module
            parser = Parser(_words(keywords(node)))
            self._tops.append(parser)
            return parser
        if not isinstance(node.func, ast.Attribute):
            return None
        return self._method(self._value(node.func.value), node.func.attr, node)

    def _method(
        self, owner: "Parser | _Subparsers | None", name: str, call: ast.Call
    ) -> "Parser | _Subparsers | None":
        match owner, name:
            case Parser(), "add_subparsers":
                owner.has_commands = True
                return _Subparsers(owner)
            case _Subparsers(), "add_parser" if call.args and (own := text(call.args[0])):
                return owner.parser.commands.setdefault(own, Parser(_words(keywords(call))))
            case Parser(), "add_argument":
                if parameter := self._scan.parameter(call, self._module.name):
                    owner.parameters.append(parameter)
            case Parser(), "add_argument_group" | "add_mutually_exclusive_group":
                return owner
            case _:
                pass
        return None


def _option(
    parameter: Parameter, flag: str, action: str, said: Mapping[str, ast.expr], is_many: bool
) -> Parameter:
    plain = parameter._replace(
        name=text(said.get("dest")) or flag.lstrip("-").replace("-", "_"),
        form=Form.OPTION,
        flag=flag,
        is_required=literal(said.get("required")) is True,
        is_spread=is_many,
    )
    written = said.get("action")
    if action in _FLAGS:
        return plain._replace(form=Form.FLAG, type="boolean", is_required=False)
    if written is not None and ast.unparse(written).endswith("BooleanOptionalAction"):
        return plain._replace(form=Form.FLAG, type="boolean", off=f"--no-{flag.lstrip('-')}")
    if action == "count":
        return plain._replace(form=Form.COUNT, type="integer")
    return plain._replace(is_many=True) if action in ("append", "extend") else plain


def _leaves(parser: Parser, words: tuple[str, ...], start: Start, target: str) -> Iterator[Command]:
    for name, each in parser.commands.items():
        below = (*words, name)
        if each.commands:
            yield from _leaves(each, below, start, target)
        else:
            yield Command(".".join(below), start, target, below, each.description, tuple(each.parameters))


def _start(scope: Scope, module: Module, references: References) -> tuple[Start, str]:
    """Return how to start the program whose parser a scope builds."""
    own = module.name.rpartition(".")[2]
    if own == "__main__":
        return Start.MODULE, module.name.rpartition(".")[0] or module.name
    if isinstance(scope, ast.FunctionDef) and scope.name in ("main", "cli", "run"):
        return Start.CALL, f"{module.name}:{scope.name}"
    if any(isinstance(each, ast.FunctionDef) and each.name == "main" for each in module.tree.body):
        return Start.CALL, f"{module.name}:main"
    if "__main__" in ast.dump(module.tree):
        return Start.MODULE, module.name
    package = module.name.partition(".")[0]
    if f"{package}.__main__" in references.modules:
        return Start.MODULE, package
    return Start.UNKNOWN, module.name


def _in_order(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.With | ast.Try):
            yield from _in_order(node.body)
            yield from _in_order(getattr(node, "orelse", []))


def _words(said: Mapping[str, ast.expr]) -> str:
    return " ".join((text(said.get("description")) or text(said.get("help")) or "").split())
