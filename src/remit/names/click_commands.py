"""Finds click and typer commands and groups in source files, and links commands to their groups."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from remit.names.command_parameters import ClickParameters, Function, TyperParameters
from remit.names.name_tree import Parameter, ScanWarning
from remit.names.references import References, keywords, literal, statements, text
from remit.names.source_files import Module

CLICK = ("click", "rich_click", "asyncclick")
TYPER = "typer"
_GROUPS = frozenset({"Group", "MultiCommand", "CommandCollection", "TyperGroup", "RichGroup"})
_SUFFIXES = re.compile(r"_(command|cmd|group|grp)$")
_LOOPED = 200  # commands added by one loop


class CommandLibrary(StrEnum):
    """The library that defines a command."""

    CLICK = "click"
    TYPER = "typer"


@dataclass
class FoundCommand:
    """A command or group found in source code."""

    id: str  # `package.module.object`
    flavour: CommandLibrary
    is_group: bool
    name: str | None = None  # explicit, or derived from the function
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    is_hidden: bool = False
    runs_alone: bool = False  # a group that runs without a subcommand
    of_class: str | None = None
    has_callback: bool = False  # for typer: the app itself takes options
    children: "list[tuple[str | None, str]]" = field(default_factory=list["tuple[str | None, str]"])


class ClickScan:
    """Collects the commands and groups that modules define."""

    def __init__(self, references: References) -> None:
        self._references = references
        self._click = ClickParameters(references, CLICK)
        self._typer = TyperParameters(references)
        self._bases: dict[str, list[str]] = {}
        self._of_classes: list[tuple[str, str | None, str]] = []
        self._linked: set[tuple[str, str | None, str]] = set()
        self._edges: list[tuple[str, str | None, str]] = []
        self._unclear: list[tuple[str, ScanWarning]] = []
        self.found: dict[str, FoundCommand] = {}

    def scan(self, modules: Sequence[Module]) -> list[ScanWarning]:
        """Collect the commands of all modules, and return warnings about unclear code."""
        for module in modules:
            self._classes(module)
        for module in modules:
            self._objects(module)
        for module in modules:
            if module.mentions(b"command", b"group", b"callback"):
                for function in _functions(module.tree):
                    self._decorated(function, module)
        for module in modules:
            if module.mentions(b"add_command", b"add_typer"):
                self._added(module)
        for parent, name, child in (*self._edges, *self._of_their_classes()):
            self._link(parent, name, child)
        return [warned for parent, warned in self._unclear if parent not in self.found]

    def _classes(self, module: Module) -> None:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                bases = [self._references.of(base, module.name) for base in node.bases]
                self._bases[f"{module.name}.{node.name}"] = [*filter(None, bases)]

    def _objects(self, module: Module) -> None:
        """Find groups and apps that are instances of a class."""
        for node in statements(module.tree.body):
            target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
            value = getattr(node, "value", None)
            if not isinstance(target, ast.Name) or not isinstance(value, ast.Call):
                continue
            kind = self._references.of(value.func, module.name) or ""
            flavour = self._group_of(kind)
            if flavour is not None:
                self._object(f"{module.name}.{target.id}", kind, flavour, value, module.name)

    def _object(self, id: str, kind: str, flavour: CommandLibrary, call: ast.Call, module: str) -> None:
        said = keywords(call)
        first = text(call.args[0]) if call.args and flavour is CommandLibrary.CLICK else None
        found = FoundCommand(
            id=id,
            flavour=flavour,
            is_group=True,
            name=text(said.get("name")) or first,
            description=_one_paragraph(text(said.get("help")) or ""),
            is_hidden=literal(said.get("hidden")) is True,
            of_class=kind,
            has_callback="callback" in said,
        )
        self.found[id] = found
        commands = said.get("commands")
        if isinstance(commands, ast.Dict):
            pairs = zip(commands.keys, commands.values, strict=True)
            self._edges += [
                (id, text(key), child)
                for key, value in pairs
                if (child := self._references.of(value, module))
            ]
        self._lazy(found, literal(said.get("lazy_subcommands")))

    def _lazy(self, found: FoundCommand, written: object) -> None:
        """Follow the import paths of lazily loaded commands."""
        if isinstance(written, Mapping):
            for name, place in written.items():  # pyright: ignore[reportUnknownVariableType] - checked below
                if isinstance(name, str) and isinstance(place, str):
                    child = self._references.follow(place.replace(":", "."))
                    self._edges.append((found.id, name, child))

    def _group_of(self, kind: str, depth: int = 0) -> CommandLibrary | None:
        """Return the library of a group class, which may be a subclass; None for other classes."""
        library, _, name = kind.rpartition(".")
        if library.partition(".")[0] == TYPER and name == "Typer":
            return CommandLibrary.TYPER
        if library.partition(".")[0] in (*CLICK, TYPER) and name in _GROUPS:
            return CommandLibrary.CLICK
        if depth > 10:
            return None
        bases = self._bases.get(kind, ())
        return next(filter(None, (self._group_of(base, depth + 1) for base in bases)), None)

    def _decorated(self, function: Function, module: Module) -> None:
        id = f"{module.name}.{function.name}"
        if id in self.found:  # a file may reuse a function name for each group
            id = f"{id}#{function.lineno}"
        for node in function.decorator_list:
            call = node if isinstance(node, ast.Call) else None
            maker = call.func if call is not None else node
            if not isinstance(maker, ast.Attribute | ast.Name):
                continue
            whole = self._references.of(maker, module.name)
            if whole is not None and whole.rpartition(".")[0] in CLICK:
                if (kind := whole.rpartition(".")[2]) in ("command", "group"):
                    self._command(id, function, call, kind, CommandLibrary.CLICK, module)
            elif isinstance(maker, ast.Attribute) and maker.attr in ("command", "group", "callback"):
                self._of_group(id, function, call, maker, module)

    def _of_group(
        self, id: str, function: Function, call: ast.Call | None, maker: ast.Attribute, module: Module
    ) -> None:
        """Read a decorator that is a group's method, such as `@cli.command()`."""
        parent = self._references.of(maker.value, module.name)
        if parent is None or not self._may_be_group(parent):
            reason = f"the group of the command `{function.name}` is unclear; it is left out"
            if self._takes_parameters(function, module) and maker.attr != "callback":
                self._unclear.append((parent or "", ScanWarning(module.file, function.lineno, reason)))
            return
        known = self.found.get(parent)
        flavour = CommandLibrary.CLICK if known is None else known.flavour
        if maker.attr == "callback":
            if known is not None and flavour is CommandLibrary.TYPER:
                self._callback(known, function, call)
            return
        name = self._command(id, function, call, maker.attr, flavour, module)
        self._edges.append((parent, name, id))

    def _may_be_group(self, id: str) -> bool:
        """Return whether an object is a known group, or a function with a group decorator."""
        if id in self.found:
            return self.found[id].is_group
        module, name = self._references.split(id)
        source = self._references.modules.get(module)
        functions = _functions(source.tree) if source is not None else ()
        return any(each.name == name and _makes_group(each) for each in functions)

    def _takes_parameters(self, function: Function, module: Module) -> bool:
        return any(self._click.of(function.decorator_list, module.name))

    def _callback(self, app: FoundCommand, function: Function, call: ast.Call | None) -> None:
        said = keywords(call)
        app.has_callback = True
        app.description = app.description or _one_paragraph(ast.get_docstring(function) or "")
        app.runs_alone = literal(said.get("invoke_without_command")) is True

    def _command(
        self,
        id: str,
        function: Function,
        call: ast.Call | None,
        kind: str,
        flavour: CommandLibrary,
        module: Module,
    ) -> str:
        said = keywords(call)
        first = text(call.args[0]) if call is not None and call.args else None
        name = first or text(said.get("name")) or _derived(function.name, flavour)
        if flavour is CommandLibrary.TYPER:
            parameters = tuple(self._typer.of(function, module.name))
        else:
            parameters = tuple(self._click.of(function.decorator_list, module.name))
        self.found[id] = FoundCommand(
            id=id,
            flavour=flavour,
            is_group=kind == "group",
            name=name,
            description=_one_paragraph(text(said.get("help")) or ast.get_docstring(function) or ""),
            parameters=parameters,
            is_hidden=literal(said.get("hidden")) is True,
            runs_alone=kind == "group" and literal(said.get("invoke_without_command")) is True,
        )
        cls = said.get("cls")
        self.found[id].of_class = None if cls is None else self._references.of(cls, module.name)
        self._lazy(self.found[id], literal(said.get("lazy_subcommands")))
        return name

    def _added(self, module: Module) -> None:
        """Find commands added by calls such as `cli.add_command(x)`, also in loops and in group classes."""
        for owner, node in _calls(module.tree):
            maker = node.func
            if not isinstance(maker, ast.Attribute) or maker.attr not in ("add_command", "add_typer"):
                continue
            is_own = isinstance(maker.value, ast.Name) and maker.value.id == "self" and owner is not None
            parent = None if is_own else self._references.of(maker.value, module.name)
            said = keywords(node)
            child = node.args[0] if node.args else said.get("cmd") or said.get("typer_instance")
            named = node.args[1] if len(node.args) > 1 else said.get("name")
            for each in _looped(child, module.tree):
                id = self._references.of(each, module.name)
                if id is None or (parent is None and not is_own):
                    reason = f"`{ast.unparse(node)[:80]}` cannot be followed; it is left out"
                    self._unclear.append(("", ScanWarning(module.file, node.lineno, reason)))
                elif is_own:
                    self._of_classes.append((f"{module.name}.{owner}", text(named), id))
                elif parent is not None:
                    self._edges.append((parent, text(named), id))

    def _of_their_classes(self) -> Iterator[tuple[str, str | None, str]]:
        for found in self.found.values():
            ancestry = set(self._ancestry(found.of_class)) if found.of_class else set[str]()
            for owner, name, child in self._of_classes:
                if owner in ancestry:
                    yield found.id, name, child

    def _ancestry(self, kind: str, depth: int = 0) -> Iterator[str]:
        yield kind
        for base in self._bases.get(kind, ()) if depth < 10 else ():
            yield from self._ancestry(base, depth + 1)

    def _link(self, parent: str, name: str | None, child: str) -> None:
        group = self.found.get(self._references.follow(parent))
        if group is None or child not in self.found or (group.id, name, child) in self._linked:
            return
        self._linked.add((group.id, name, child))
        group.children.append((name, child))


def _functions(tree: ast.AST) -> list[Function]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def _makes_group(function: Function) -> bool:
    makers = [node.func if isinstance(node, ast.Call) else node for node in function.decorator_list]
    return any(isinstance(each, ast.Attribute) and each.attr == "group" for each in makers) or any(
        isinstance(each, ast.Name) and each.id == "group" for each in makers
    )


def _calls(tree: ast.Module) -> Iterator[tuple[str | None, ast.Call]]:
    """List every call with its enclosing class."""
    inside = {
        call: node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for call in ast.walk(node)
        if isinstance(call, ast.Call)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield inside.get(node), node


def _looped(child: ast.expr | None, tree: ast.Module) -> Iterable[ast.expr]:
    """Unroll a loop over commands, such as `for each in (a, b): cli.add_command(each)`."""
    if child is None:
        return ()
    if not isinstance(child, ast.Name):
        return (child,)
    for node in ast.walk(tree):
        match node:
            case ast.For(ast.Name(name), ast.Tuple(items) | ast.List(items)) if name == child.id:
                if any(each is child for each in ast.walk(node)):
                    return items[:_LOOPED]
            case _:
                pass
    return (child,)


def _derived(name: str, flavour: CommandLibrary) -> str:
    plain = name.lower()
    if flavour is CommandLibrary.CLICK:
        plain = _SUFFIXES.sub("", plain)
    return plain.replace("_", "-")


def _one_paragraph(words: str) -> str:
    return " ".join(words.split("\f", 1)[0].strip().split("\n\n", 1)[0].split())
