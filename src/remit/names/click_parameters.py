"""The options and arguments of a click command, from its decorators."""

import ast
from collections.abc import Iterator, Mapping, Sequence

from remit.names.name_tree import Form, Parameter
from remit.names.parameter_types import Types, of_value
from remit.names.references import References, keywords, literal, text

_YES = Parameter("yes", Form.FLAG, "--yes", type="boolean", help="Confirm the action without prompting.")


class ClickParameters:
    """Reads the decorators of commands."""

    def __init__(self, references: References, libraries: Sequence[str]) -> None:
        self._references = references
        self._types = Types(references)
        self._libraries = tuple(f"{library}." for library in libraries)

    def of(self, decorators: Sequence[ast.expr], module: str) -> Iterator[Parameter]:
        """List what a command takes, in the order in which it is written."""
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
        """Find the option that a name stands for, as where commands share one, and its module."""
        if isinstance(node, ast.Call) or (name := self._references.of(node, module)) is None:
            return node, module
        found = self._references.value(name)
        return (node, module) if found is None else (found[1], found[0])

    def parameter(self, call: ast.Call, kind: str, module: str) -> Iterator[Parameter]:
        """Read one option or argument; one that no agent should give is none."""
        said = keywords(call)
        words = [word for each in call.args if (word := text(each)) is not None]
        if not words or any(literal(said.get(key)) is True for key in ("hidden", "hide_input")):
            return
        if literal(said.get("is_eager")) is True and literal(said.get("is_flag")) is True:
            return  # it prints something and leaves, as `--version` does
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
    """Choose how an option is written: the long form, and what says no, where something does."""
    flags = [word for word in words if word.startswith("-")]
    chosen = next((word for word in flags if word.startswith("--")), flags[0] if flags else "")
    on, _, off = chosen.partition("/")
    return on.strip(), off.strip()
