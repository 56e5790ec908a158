"""The child process that imports a program, to describe its commands or to run one of them.

It never runs inside a server or a command of Remit's own.
"""

import argparse
import asyncio
import inspect
import json
import os
import runpy
import sys
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import redirect_stdout
from enum import Enum
from importlib import import_module
from types import FunctionType, ModuleType, NoneType, TracebackType
from typing import Any, TypeGuard

from remit.errors import RemitError
from remit.names.command_line import Form, Parameter
from remit.text import one_line

_MAINS = ("main", "cli", "run")  # names of the function that parses a command line
_USUAL = ("main", "run", "execute", "command", "handler")  # names of the function that is the command
_TYPES = {"integer": "integer", "float": "number", "boolean": "boolean"}  # click's
_PYTHON_TYPES: Mapping[object, str] = {int: "integer", float: "number", bool: "boolean"}
_DEEPEST = 16  # nested groups
_LONGEST = 300  # characters of a problem
_UNCLEAR = "cannot tell which function is the command: mark it with `@tool`, or name it like the file"

Found = dict[str, Any]  # a command, as JSON, with `program`, the name of what contains it


def main() -> None:
    """Describe the modules of `read`, whose names are on stdin, or run the command of `run`."""
    sys.excepthook = _write_message
    if sys.argv[1] == "read":
        output = os.dup(1)
        os.dup2(2, 1)  # what modules print goes to stderr
        asked = json.load(sys.stdin)
        sys.path.insert(0, asked["source"])
        with os.fdopen(output, "w", encoding="utf-8") as stream:
            json.dump(_read(asked["modules"], asked["tree"]), stream)
            stream.flush()
            os._exit(0)  # threads that modules started do not matter
    source, start, target = sys.argv[2:5]
    sys.path.insert(0, source)
    _run(start, target, sys.argv[5:])


def _write_message(kind: type[BaseException], error: BaseException, _: TracebackType | None) -> None:
    """Write the error's own message instead of a traceback: a model reads it."""
    text = str(error) if isinstance(error, RemitError) else f"{kind.__name__}: {error}"
    sys.stderr.write(f"{text.rstrip(': ')}\n")


def _run(start: str, target: str, words: list[str]) -> None:
    module, _, name = target.partition(":")
    sys.argv = [module.partition(".")[0], *words]
    if start == "module":
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        return
    if start == "call":
        sys.exit(_attribute(import_module(module), name)())
    from remit.python_tools import define, marks_of, result_text

    given = json.load(sys.stdin)
    with redirect_stdout(sys.stderr):
        function = _attribute(import_module(module), name)
        result = define(function, marks_of(function).options).run(given)
        result = asyncio.run(_awaited(result)) if inspect.isawaitable(result) else result
    sys.stdout.write(result_text(result))


async def _awaited(result: Any) -> object:
    return await result


def _attribute(module: object, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part)
    return module


class _ParsedError(BaseException):
    """Stops a program where it parses its command line; no `except Exception` of its own catches it."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self.parser = parser


def _read(names: list[str], in_tree: list[str]) -> dict[str, Any]:
    """Import modules, and describe their commands, or why one cannot be imported."""

    def stop(parser: argparse.ArgumentParser, *_: object, **__: object) -> typing.NoReturn:
        raise _ParsedError(parser)

    argparse.ArgumentParser.parse_known_args = stop  # type: ignore[method-assign, assignment] - in this process alone
    modules: dict[str, ModuleType] = {}
    found: dict[str, list[Found]] = {name: [] for name in names}
    problems: dict[str, str] = {}
    for name in names:
        try:
            modules[name] = import_module(name)
        except _ParsedError as parsed:
            found[name] = [*_argparse_commands(parsed.parser, "module", name)]
        except BaseException as error:  # whatever a module does, the others are read
            problems[name] = one_line(f"{type(error).__name__}: {error}".rstrip(": "), _LONGEST)
    programs = _Programs(modules)
    for name, module in modules.items():
        found[name] += programs.commands_of(module)
        found[name] += [*_argparse_program(module), *_marked_functions(module)]
        if not found[name] and name in in_tree and name not in programs.reached:
            function = _only_function(module)
            if isinstance(function, str):
                problems[name] = function
            elif function is not None:
                found[name].append(_function(function, module))
    return {"found": found, "problems": problems, "groups": programs.groups, "reached": [*programs.reached]}


class _Programs:
    """The click and typer programs of all modules: groups and commands that no other group contains."""

    def __init__(self, modules: Mapping[str, ModuleType]) -> None:
        self.groups: dict[str, str] = {}
        self.reached: set[str] = set()  # modules whose commands belong to a group
        self._commands: dict[str, list[Found]] = {}
        objects = [(name, *item) for name, module in modules.items() for item in _named_programs(module)]
        below = {id(child) for _, _, program in objects for child in _children(program)}
        seen: set[int] = set()
        for module, name, program in sorted(objects, key=lambda item: not _is_home(item[0], item[2])):
            if id(program) not in below and id(program) not in seen:
                seen.add(id(program))
                self._commands.setdefault(module, []).extend(self._walk(module, name, program))

    def commands_of(self, module: ModuleType) -> list[Found]:
        """Return the commands of the programs that a module defines."""
        return self._commands.get(module.__name__, [])

    def _walk(self, module: str, name: str, program: Any) -> Iterator[Found]:
        try:
            command = _as_click(program)
        except Exception:  # an app without commands
            return
        for words, leaf in _leaves(command, (), self.groups):
            if words:
                self.reached.add(getattr(leaf.callback, "__module__", ""))
            label = ".".join(words) or leaf.name or name
            yield {
                "name": label,
                "program": command.name or name,
                "start": "call",
                "target": f"{module}:{name}",
                "words": list(words),
                "description": _text(leaf.help or leaf.short_help),
                "parameters": [*filter(None, (_click_parameter(item, leaf) for item in leaf.params))],
            }


def _named_programs(module: ModuleType) -> Iterator[tuple[str, Any]]:
    for name, value in [*vars(module).items()]:
        if _is_typer(value) or (_is_command(value) and not isinstance(value, type)):
            yield name, value


def _is_home(module: str, program: Any) -> bool:
    """Tell whether a module defines a program, instead of importing it."""
    return getattr(getattr(program, "callback", None), "__module__", None) == module


def _is_typer(value: object) -> bool:
    return type(value).__name__ == "Typer" and type(value).__module__.startswith("typer")


def _is_command(value: object) -> bool:
    """Tell a command of click, or of the copy of click that typer carries."""
    return all(hasattr(type(value), name) for name in ("make_context", "invoke", "get_params"))


def _as_click(program: Any) -> Any:
    if not _is_typer(program):
        return program
    return import_module("typer.main").get_command(program)


def _children(program: Any) -> Iterator[Any]:
    """Yield everything that a program contains."""
    if _is_typer(program):
        for info in program.registered_groups:
            yield info.typer_instance
            yield from _children(info.typer_instance)
        return
    for _, child in _subcommands(program):
        yield child
        yield from _children(child)


def _subcommands(group: Any) -> Iterator[tuple[str, Any]]:
    if not hasattr(group, "list_commands"):
        return
    context = group.context_class(group, info_name=group.name)
    for name in group.list_commands(context):
        if (command := group.get_command(context, name)) is not None:
            yield name, command


def _leaves(
    command: Any, words: tuple[str, ...], groups: dict[str, str]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    is_group = hasattr(command, "list_commands")
    if command.hidden or len(words) > _DEEPEST:
        return
    if is_group and words:
        groups.setdefault(".".join(words), _text(command.help))
    if not is_group or (words and command.invoke_without_command):
        yield words, command
    for name, child in _subcommands(command):
        yield from _leaves(child, (*words, name), groups)


def _click_parameter(item: Any, command: Any) -> Found | None:
    if not item.expose_value or getattr(item, "hidden", False) or getattr(item, "hide_input", False):
        return None
    type_, choices = _click_type(item, command)
    is_option = item.param_type_name == "option"
    is_flag, is_counted = getattr(item, "is_flag", False), getattr(item, "count", False)
    form = Form.OPTION if is_option else Form.ARGUMENT
    if is_counted or is_flag:
        form, type_, choices = (Form.COUNT, "integer", ()) if is_counted else (Form.FLAG, "boolean", ())
    is_spread = is_option and item.nargs != 1 and not is_flag
    parameter = Parameter(
        item.name,
        form,
        flag=_longest(item.opts) if is_option else "",
        off=_longest(item.secondary_opts) if is_flag else "",
        type=type_,
        choices=choices,
        is_required=bool(item.required),
        is_many=bool(getattr(item, "multiple", False)) or item.nargs != 1,
        is_spread=is_spread,
        help=_text(getattr(item, "help", None)),
    )
    return parameter._asdict()


def _click_type(item: Any, command: Any) -> tuple[str, tuple[Any, ...]]:
    """Return the JSON type and the choices of a parameter; typer's has only the hint of its function."""
    if hasattr(item, "type"):
        choices = getattr(item.type, "choices", ())
        choices = [choice.name if isinstance(choice, Enum) else choice for choice in choices]
        return _TYPES.get(item.type.name.removesuffix(" range"), "string"), tuple(choices)
    try:
        hints: Mapping[str, Any] = typing.get_type_hints(inspect.unwrap(command.callback))
    except (NameError, TypeError):
        return "string", ()
    hint: Any = hints.get(item.name, str)
    while arguments := [part for part in typing.get_args(hint) if part not in (NoneType, Ellipsis)]:
        if typing.get_origin(hint) is typing.Literal:
            return "string", tuple(arguments)
        hint = arguments[0]
    if inspect.isclass(hint) and issubclass(hint, Enum):
        return "string", tuple(member.value for member in hint)
    return _PYTHON_TYPES.get(hint, "string"), ()


def _argparse_program(module: ModuleType) -> Iterator[Found]:
    """Describe the parser of a module, which its main function uses where there is one."""
    values = [*vars(module).values()]
    if not any(value is argparse or value is argparse.ArgumentParser for value in values):
        return
    for name in _MAINS:
        function = getattr(module, name, None)
        if _defines(function, module) and _takes_nothing(function):
            if (parser := _parser_of(function)) is not None:
                yield from _argparse_commands(parser, "call", f"{module.__name__}:{name}")
            return
    for value in values:
        if isinstance(value, argparse.ArgumentParser):
            yield from _argparse_commands(value, "module", module.__name__)


def _defines(value: object, module: ModuleType) -> TypeGuard[FunctionType]:
    return inspect.isfunction(value) and value.__module__ == module.__name__


def _takes_nothing(function: Callable[..., object]) -> bool:
    parameters = inspect.signature(function).parameters.values()
    return all(item.default is not item.empty or item.kind in (2, 4) for item in parameters)


def _parser_of(function: Callable[[], object]) -> argparse.ArgumentParser | None:
    """Call a main function up to where it parses its command line."""
    try:
        function()
    except _ParsedError as parsed:
        return parsed.parser
    except BaseException:  # it needs more than a command line
        return None
    return None


def _argparse_commands(
    parser: Any, start: str, target: str, words: tuple[str, ...] = (), text: str = ""
) -> Iterator[Found]:
    actions: list[argparse.Action] = parser._actions
    groups: list[Any] = [action for action in actions if hasattr(action, "add_parser")]
    program = target.partition(":")[0].rpartition(".")[2]
    if not groups:
        yield {
            "name": ".".join(words) or program,
            "program": program,
            "start": start,
            "target": target,
            "words": list(words),
            "description": _text(parser.description or text),
            "parameters": [*filter(None, map(_argparse_parameter, actions))],
        }
    for group in groups:
        helps: dict[str, str | None] = {action.dest: action.help for action in group._choices_actions}
        known: set[int] = set()
        for name, child in group.choices.items():
            if id(child) not in known:  # else it is an alias
                known.add(id(child))
                yield from _argparse_commands(child, start, target, (*words, name), helps.get(name) or "")


def _argparse_parameter(action: argparse.Action) -> Found | None:
    kind = type(action).__name__
    if kind in ("_HelpAction", "_VersionAction") or action.help == argparse.SUPPRESS:
        return None
    is_number = isinstance(action.nargs, int) and action.nargs > 0
    is_many = is_number or action.nargs in ("*", "+", argparse.REMAINDER)
    choices = tuple(action.choices or ())
    parameter = Parameter(
        action.dest,
        Form.ARGUMENT,
        type=_PYTHON_TYPES.get(action.type, "string"),
        choices=choices if all(isinstance(item, str | int | float) for item in choices) else (),
        is_required=action.required,
        is_many=is_many,
        help=_text(action.help),
    )
    if not action.option_strings:
        return parameter._asdict()
    has_off = kind == "BooleanOptionalAction"
    off = [flag for flag in action.option_strings if has_off and flag.startswith("--no-")]
    flag = _longest(flag for flag in action.option_strings if flag not in off)
    parameter = parameter._replace(form=Form.OPTION, flag=flag, is_spread=is_many)
    if kind in ("_AppendAction", "_ExtendAction"):
        parameter = parameter._replace(is_many=True)
    elif kind == "_CountAction":
        parameter = parameter._replace(form=Form.COUNT, type="integer")
    elif action.nargs == 0:
        parameter = parameter._replace(form=Form.FLAG, type="boolean", off=_longest(off))
    return parameter._asdict()


def _marked_functions(module: ModuleType) -> Iterator[Found]:
    """Describe the functions that are marked with `@tool`."""
    if "remit.python_tools.tools" not in sys.modules:  # no module of the program uses it
        return
    from remit.python_tools import marks_of

    for value in [*vars(module).values()]:
        if _defines(value, module) and marks_of(value).is_tool:
            yield _function(value, module)


def _only_function(module: ModuleType) -> Callable[..., object] | str | None:
    """Find the public function that is the command of a file; a text says why none is."""
    functions = {
        name.rstrip("_"): value
        for name, value in vars(module).items()
        if _defines(value, module) and not name.startswith("_")
    }
    if len(functions) <= 1:
        return next(iter(functions.values()), None)
    own = module.__name__.rpartition(".")[2].rstrip("_")
    return next((functions[name] for name in (own, *_USUAL) if name in functions), _UNCLEAR)


def _function(function: Callable[..., object], module: ModuleType) -> Found:
    from remit.python_tools import define, marks_of

    marks = marks_of(function)
    try:
        tool = define(function, marks.options)
    except RemitError as error:
        tool = None
        problem = str(error)
    else:
        problem = ""
    name = function.__name__.rstrip("_") if tool is None else tool.name
    found: Found = {
        "name": name,
        "program": module.__name__.rpartition(".")[2],
        "is_explicit": bool(marks.options.get("name") or marks.options.get("namespace")),
        "start": "function",
        "target": f"{module.__name__}:{function.__qualname__}",
        "problem": problem,
    }
    if tool is not None:
        settings = {"danger": tool.danger, "approval": tool.approval, "ai_enabled": tool.ai_enabled}
        settings = {key: value for key, value in settings.items() if value is not None}
        rules = [table for table in (settings, *map(_table, tool.needs)) if table]
        found |= {"description": _text(tool.description), "schema": tool.input_schema, "rules": rules}
    return found


def _table(condition: Any) -> dict[str, Any]:
    """Write a condition as a table of a scopes file."""
    parts = {
        "states": _filled(condition.states),
        "when": condition.when,
        "location": _filled(condition.location),
    }
    return {key: value for key, value in parts.items() if value is not None}


def _filled(scope: Any) -> dict[str, list[str]] | None:
    if scope is None:
        return None
    return {key: [*value] for key, value in scope._asdict().items() if value}


def _longest(flags: Iterable[str]) -> str:
    return max(flags, key=len, default="")


def _text(text: str | None) -> str:
    return " ".join((text or "").partition("\f")[0].split())


if __name__ == "__main__":
    main()
