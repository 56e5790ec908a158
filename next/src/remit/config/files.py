"""Configuration files: where they are, who owns them, and their text, read within bounds.

Hooks load this to look for changes, so nothing here parses TOML until a file changed.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple, cast

from remit.decision import MCP, RuleStrength, Workspace, ancestors, normalise
from remit.files import ANYWHERE, FileError, Machine, read_start, read_text, take_fingerprints

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.config.fields import Mistake

SHARED = "remit.toml"
LOCAL = "remit.local.toml"
LOCK = "remit.lock"

_MANAGED = {
    "linux": "/etc/remit",
    "darwin": "/Library/Application Support/Remit",
    "win32": "C:\\Program Files\\Remit",
}
_LIMIT = 2**20  # bytes of a file
_PROJECT_LIMIT = 2**18  # bytes of a project's file
_PROJECT_RULES = 1_000  # tables and list items in a project's file
_SETTLED = 2_000_000_000  # nanoseconds in which an editor fills a file that it emptied
_LISTS = ("allow", "block", "pinned", "tools")  # keys with patterns of tools


class Layer(NamedTuple):
    """Files with one owner."""

    name: str
    strength: RuleStrength
    paths: Callable[[Workspace], Iterable[str]] | None = None  # of an extension's layer
    read: Callable[[str], str | None] | None = None  # the text of a path that is no file
    check: "Callable[[Mapping[str, Any]], Iterable[Mistake]] | None" = None  # what its files may not set

    @property
    def is_projects(self) -> bool:
        """Whether its files are in the repository, so others write them."""
        return self.strength is RuleStrength.NARROWING


MACHINE = Layer("machine", RuleStrength.MACHINE)
LOCKS = Layer("lock", RuleStrength.NARROWING)
PROJECT = Layer("project", RuleStrength.NARROWING)
LOCALS = Layer("local", RuleStrength.NARROWING)
PERSONAL = Layer("personal", RuleStrength.MACHINE)
MANAGED = Layer("managed", RuleStrength.MANAGED)


class ConfigFile(NamedTuple):
    """A configuration file, which may not exist."""

    layer: Layer
    path: str
    dir: str | None = None  # the base of its relative paths; None: the workspace and its checkout

    @property
    def owner(self) -> str:
        """The file for messages."""
        return "Remit itself" if not self.path else f"the {self.layer.name} file {self.path}"


def machine_path(machine: Machine) -> str:
    """Return the path of the user's own file."""
    path = machine.variables.get("REMIT_CONFIG")
    return os.path.abspath(path) if path else os.path.join(_directory(machine), SHARED)


def personal_path(workspace: Workspace, machine: Machine) -> str:
    """Return the path of the user's own file for one project, which is outside of it."""
    return os.path.join(_directory(machine), "projects", f"{workspace.project.short_name}.toml")


def shared_path(workspace: Workspace) -> str:
    """Return the path of the file that everybody in a project shares."""
    return os.path.join(workspace.checkout, SHARED)


def managed_path(machine: Machine) -> str:
    """Return the path of the administrator's file."""
    directory = machine.root + _MANAGED.get(machine.platform, _MANAGED["linux"])
    return os.path.join(directory, SHARED)


def data_directory(machine: Machine) -> str:
    """Return Remit's data directory: `REMIT_HOME`, else the platform's directory for user data."""
    home, variables, platform, _ = machine
    if path := variables.get("REMIT_HOME"):
        return path
    if platform == "win32":
        return os.path.join(variables.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local"), "remit")
    if platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "remit")
    return os.path.join(variables.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share"), "remit")


def _directory(machine: Machine) -> str:
    home, variables, platform, _ = machine
    if platform == "win32":
        return os.path.join(variables.get("APPDATA") or os.path.join(home, "AppData", "Roaming"), "remit")
    return os.path.join(variables.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "remit")


def config_files(workspace: Workspace, machine: Machine, layers: Sequence[Layer] = ()) -> list[ConfigFile]:
    """List the files of a workspace, whether they exist or not, weakest first."""
    dirs = reversed(ancestors(workspace.dir, up_to=workspace.checkout)) if workspace.has_files else ()
    files = [ConfigFile(MACHINE, machine_path(machine))]
    files += [ConfigFile(layer, path) for layer in layers if layer.paths for path in layer.paths(workspace)]
    if workspace.has_files:
        files.append(ConfigFile(LOCKS, os.path.join(workspace.checkout, LOCK), workspace.checkout))
    for dir in dirs:
        files.append(ConfigFile(PROJECT, os.path.join(dir, SHARED), dir))
        files.append(ConfigFile(LOCALS, os.path.join(dir, LOCAL), dir))
    files.append(ConfigFile(PERSONAL, personal_path(workspace, machine)))
    files.append(ConfigFile(MANAGED, managed_path(machine)))
    # `REMIT_CONFIG` may name a project's file, which counts once, or `/dev/null`, which is none.
    unique = {file.path: file for file in reversed(files) if file.path != os.devnull}
    return [file for file in files if unique.get(file.path) is file]


def config_paths(workspace: Workspace, machine: Machine, layers: Sequence[Layer] = ()) -> list[str]:
    """List the paths of the files of a workspace, whether they exist or not."""
    return [file.path for file in config_files(workspace, machine, layers) if file.layer.read is None]


def fingerprints(files: Iterable[ConfigFile], machine: Machine, *, now_ns: int) -> dict[str, str]:
    """Return the fingerprint of each file; empty if it does not exist."""
    stored: dict[str, str] = {}
    for file in files:
        if file.layer.read is None:
            stored |= take_fingerprints([file.path], machine, now_ns=now_ns).stored
        else:
            text = file.layer.read(file.path)
            stored[file.path] = "" if text is None else sha256(text.encode()).hexdigest()
    return stored


class Document(NamedTuple):
    """A parsed file, or its problem."""

    content: Mapping[str, Any]
    places: Mapping[str, Sequence[int]]  # by keys joined with NUL: line and column of key and value
    text: str = ""
    problem: str = ""
    place: str = ""


def read_document(file: ConfigFile, workspace: Workspace) -> Document | None:
    """Read and parse a file; None if it does not exist."""
    from remit.files import parse_toml, positions  # only for changed files

    is_ruling = file.layer.is_projects and file.layer is not LOCKS
    limit = _PROJECT_LIMIT if is_ruling else _LIMIT
    text: str | None = ""
    try:
        text = _text(file, workspace, limit)
        if text is None:
            return None
        content = parse_toml(text)
        if is_ruling and _rules(content) > _PROJECT_RULES:
            return Document({}, {}, text, f"more than {_PROJECT_RULES:,} rules")
        places = {"\0".join(path): place for path, place in positions(text).items()}
        return Document(content, {} if file.layer is LOCKS else places, text)
    except FileError as error:
        text = text or _start(file, workspace, limit)
        hint = _quoted_header(text, error.place)
        return Document({}, {}, text, f"{error.reason}; {hint}" if hint else error.reason, error.place)


def _text(file: ConfigFile, workspace: Workspace, limit: int) -> str | None:
    if file.layer.read is not None:
        return file.layer.read(file.path)
    return read_text(file.path, limit=limit, within=_roots(file, workspace))


def _start(file: ConfigFile, workspace: Workspace, limit: int) -> str:
    """Read the start of a file that is too large; empty if it cannot be read at all."""
    try:
        data = read_start(file.path, size=limit, within=_roots(file, workspace))
    except FileError:
        return ""
    return (data or b"").decode(errors="replace")


def _roots(file: ConfigFile, workspace: Workspace) -> Sequence[str]:
    return (workspace.checkout,) if file.layer.is_projects else ANYWHERE


def is_filling(path: str, text: str, *, now_ns: int) -> bool:
    """Tell whether a file is empty and just changed, so an editor may still be writing it."""
    if text.strip():
        return False
    try:
        status = os.stat(path)
    except OSError:
        return False
    return now_ns - max(status.st_mtime_ns, status.st_ctime_ns) <= _SETTLED


def _rules(content: Mapping[str, object]) -> int:
    """Count the rules of a project's file, because each is compared with all tools."""
    entries = [entry for section in content.values() for entry in _inside(section)]
    return len(entries) + sum(len(_inside(field)) for entry in entries for field in _inside(entry))


def _inside(value: object) -> Sequence[object]:
    if isinstance(value, dict):
        return tuple(cast("dict[str, object]", value).values())
    return cast("list[object]", value) if isinstance(value, list) else ()


def _quoted_header(text: str, place: str) -> str:
    """Say how to write the header of a table whose name needs quotes; empty if that is not the mistake."""
    import re

    line = re.match(r"line (\d+)", place)
    lines = text.splitlines()
    header = re.match(_BARE_HEADER, lines[int(line[1]) - 1]) if line and int(line[1]) <= len(lines) else None
    return f'quote it: `[{header[1]}."{header[2]}"]`' if header else ""


_BARE_HEADER = r"(?m)^[ \t]*+\[([a-z]+)\.([\w.:/-]*\*[\w.:/*-]*)\]"  # a pattern as a bare key


def named_patterns(text: str) -> dict[str, int]:
    """Find the patterns of tools that an invalid file names, each with its line, table by table."""
    import re  # only for invalid files

    from remit.files import parse_toml

    patterns: dict[str, int] = {}
    line = 1
    for block in re.split(r"(?m)^(?=[ \t]*\[[^\[\]\n]+\])", text):
        readable = re.sub(_BARE_HEADER, r'[\1."\2"]', block)
        try:
            content: Mapping[str, Any] = parse_toml(readable)
        except FileError:
            content = _scanned(readable)
        for pattern in _patterns(content, ()):
            patterns.setdefault(pattern, line)
        line += block.count("\n")
    return patterns


def _scanned(block: str) -> dict[str, Any]:
    """Read what can be read of a table with errors: its name, its keys, and the texts of its lists."""
    import re

    from remit.files import positions

    content: dict[str, Any] = {}
    for path in positions(block):
        table = content
        for name in path:
            table = table.setdefault(name, {})
    for key, listed in re.findall(rf"(?m)^[ \t]*({'|'.join(_LISTS)})[ \t]*=[ \t]*\[([^\]]*)", block):
        tables: list[dict[str, Any]] = [content]
        while tables:
            table = tables.pop()
            if key in table:
                table[key] = re.findall(r"[\"']([^\"'\n]+)[\"']", listed)
            tables += [inner for inner in table.values() if isinstance(inner, dict)]
    return content


def _patterns(content: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    """Yield the patterns that a part of a file names: rules, lists, and all tools of a named server."""
    for name, value in content.items():
        inner = (*path, name)
        if len(inner) == 2 and path[0] == "tools":
            yield name
        elif len(inner) == 2 and path[0] == "servers":
            yield f"{MCP}{'*'.join(map(normalise, name.split('*')))}__*"
        elif isinstance(value, dict):
            yield from _patterns(cast("dict[str, Any]", value), inner)
        elif isinstance(value, list) and name in _LISTS:
            yield from (item for item in cast("list[object]", value) if isinstance(item, str) and item)
