"""`remit.lock`: the project's servers and definitions as its team reviewed them.

A lock can only withhold tools: what differs from it is hidden until the lock or the server follows.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from remit.decision import Kind, Scope, is_at_or_below

if TYPE_CHECKING:
    from remit.decision import Declaration, Definition, Tool
    from remit.store import CatalogRow

LOCK = "remit.lock"
VERSION = 4
ENTRY, INSTRUCTIONS = "entry", "instructions"  # the texts of a server besides those of its tools
_HEADER = "# Written by `remit lock`. Compare it with `remit lock --check`.\n"
_PLUGIN = "plugin"  # instead of the file of a plugin, which has another path on each machine
_LONGEST_TEXT = 8_000  # characters of one definition
_MOST_TEXT = 250_000  # of all: the lock can be merged by hand, and read with bounds
_INDENT = "    "
_UNSHOWN = "in a part that the lock does not show"

_NO_TEXTS: Mapping[str, Sequence[str]] = {}

Place = tuple[str, str]  # the file that declares a server, relative to the checkout, and the server's name
Texts = Mapping[str, Sequence[str]]


class LockedServer(NamedTuple):
    """A server of a project as it is locked."""

    place: Place
    entry: str  # digest
    tools: Mapping[str, str] | None = None  # pins by canonical name; None: unknown
    instructions: str | None = None  # pin; None: none, or unknown like the tools
    texts: Texts = _NO_TEXTS  # what people read, which no decision uses


class Lock(NamedTuple):
    """The content of a lock, or what is wrong with it."""

    root: str  # the checkout
    servers: Mapping[Place, LockedServer] = {}
    problem: str = ""  # empty: it can be used

    @classmethod
    def read(cls, table: Mapping[str, object] | None, root: str, problem: str = "") -> Lock:
        """Read a parsed file; `problem` says why it could not be parsed."""
        if table is None or problem:
            return cls(root, problem=problem or "it cannot be read")
        if table.get("version") != VERSION:
            return cls(root, problem=f"it is not of version {VERSION}; run `remit lock` to write it anew")
        try:
            servers = [*_read_servers(table)]
        except (AttributeError, KeyError, TypeError, ValueError):
            return cls(root, problem="it is not as `remit lock` writes it; run `remit lock` to write it anew")
        return cls(root, {server.place: server for server in servers})

    def objection(self, row: CatalogRow) -> str | None:
        """Return how a server of the project, or its tool, differs from the lock; None if it does not."""
        tool = row.tool
        place = lock_place(tool, self.root)
        if place is None or tool.kind not in (Kind.MCP_SERVER, Kind.MCP_TOOL):
            return None
        if self.problem:
            return f"`{LOCK}` is invalid, so the servers of this project are unavailable until it is fixed"
        server, is_server = self.servers.get(place), tool.kind is Kind.MCP_SERVER
        if server is None:
            return f"{'it' if is_server else 'its server'} is not in `{LOCK}`"
        if tool.scope is not Scope.PLUGIN and server.entry != row.entry:  # a plugin's has a machine's path
            return f"{'its entry' if is_server else 'the entry of its server'} differs from `{LOCK}`"
        if is_server or server.tools is None or row.pin is None:
            return None
        if tool.name not in server.tools:
            return f"it is not in `{LOCK}`"
        return None if server.tools[tool.name] == row.pin else f"its definition differs from `{LOCK}`"

    def instructions_objection(self, row: CatalogRow) -> str | None:
        """Return how the instructions of a server differ from the lock; those that it lacks match none."""
        place = lock_place(row.tool, self.root)
        server = None if place is None else self.servers.get(place)
        if server is None or server.tools is None or row.pin is None:
            return self.objection(row)
        return None if server.instructions == row.pin else f"its instructions differ from `{LOCK}`"


def lock_place(item: Tool | Declaration, root: str) -> Place | None:
    """Return where a lock has a server, the same on every machine; None if it is not the project's."""
    server = item.server or ""
    if item.scope is Scope.PLUGIN and item.project_hash is not None:
        plugin = (item.plugin or "").replace("/", ":")  # a path of the project looks otherwise
        return f"{_PLUGIN} {plugin}".strip(), server
    if item.scope is not Scope.PROJECT:
        return None
    source = item.source
    path = os.path.relpath(source, root) if is_at_or_below(source, root) else source
    return path.replace(os.sep, "/"), server


def lock_server(
    declaration: Declaration,
    root: str,
    tools: Iterable[tuple[str, Definition]] | None,
    instructions: tuple[str, Definition] | None = None,
) -> LockedServer | None:
    """Lock a server as just read and listed; None if it is not the project's.

    Each definition comes with its pin. Without `tools`, they are unknown.
    """
    from remit.trust.entries import entry_lines
    from remit.trust.pins import lines_of

    place, launch = lock_place(declaration, root), declaration.launch
    if place is None or declaration.kind is not Kind.MCP_SERVER or launch is None:
        return None
    listed = None if tools is None else [*tools]
    texts = {ENTRY: entry_lines(launch)}
    if instructions is not None:
        texts[INSTRUCTIONS] = lines_of(instructions[1])
    for _, definition in listed or ():
        texts[definition.name] = [line for line in lines_of(definition) if not line.startswith("name: ")]
    is_plugin = declaration.scope is Scope.PLUGIN
    entry = launch._replace(variables={}).digest if is_plugin else declaration.digest or ""
    if is_plugin:  # its folder on this machine
        texts[ENTRY] = entry_lines(launch._replace(variables={}))
    pins = None if listed is None else {definition.name: pin for pin, definition in listed}
    return LockedServer(place, entry, pins, None if instructions is None else instructions[0], texts)


def build_lock(servers: Iterable[LockedServer], root: str) -> Lock:
    """Build a lock; of a file that several clients read, the first server whose tools are known counts.

    A long text, and what exceeds the size of a lock, has only its digest.
    """
    locked: dict[Place, LockedServer] = {}
    for server in servers:
        if server.place not in locked or locked[server.place].tools is None:
            locked[server.place] = server
    left = _MOST_TEXT
    for place, server in sorted(locked.items()):
        texts: dict[str, Sequence[str]] = {}
        for part, lines in server.texts.items():
            size = sum(map(len, lines))
            if lines and size <= min(left, _LONGEST_TEXT):
                left -= size
                texts[part] = lines
        locked[place] = server._replace(texts=texts)
    return Lock(root, locked)


def losses(before: Lock | None, now: Lock) -> list[str]:
    """List why a new lock must not be written: it would be empty, or lose tools that were reviewed."""
    if not now.servers:  # it would withhold each server that is added later
        return ["the files of this project declare no servers"]
    reviewed = [] if before is None else [item for item in before.servers.values() if item.tools is not None]
    unknown = {place for place, server in now.servers.items() if server.tools is None}
    return [
        f"{_title(server.place)}: its tools are not known now"
        for server in reviewed
        if server.place in unknown
    ]


def differences(before: Lock, now: Lock, unread: Collection[str] = ()) -> list[str]:
    """List how a project differs from its lock, in lines for people.

    What is not known now is no difference: a plugin that is not installed here, the tools of a server that
    cannot be listed, and the servers of the files in `unread`, which cannot be read.
    """
    if before.problem:
        return [f"`{LOCK}` is invalid: {before.problem}"]
    lines: list[str] = []
    for place in sorted({*before.servers, *now.servers}):
        old, new = before.servers.get(place), now.servers.get(place)
        if new is None and (_is_of_plugin(place) or place[0] in unread):
            continue
        if new is None:
            lines.append(f"{_title(place)}: removed")
        elif old is None:
            lines += [f"{_title(place)}: added", *_changed(None, new, ENTRY)]
        else:
            for line, text in _server_differences(old, new):
                lines += [f"{_title(place)}: {line}", *text]
    return lines


def lock_text(lock: Lock) -> str:
    """Write a lock as TOML, with one line for each text, so changes can be read and merged."""
    return _HEADER + "\n".join(_toml(lock)) + "\n"


def _read_servers(table: Mapping[str, object]) -> Iterator[LockedServer]:
    for source, of_file in _table(table.get("servers", {})).items():
        for name, fields in _table(of_file).items():
            server = _table(fields)
            said = server.get("instructions")
            texts = {part: _lines(lines) for part, lines in _table(server.get("text", {})).items()}
            tools = None
            if "tools" in server:
                tools = {tool: _string(pin) for tool, pin in _table(server["tools"]).items()}
            instructions = None if said is None else _string(said)
            yield LockedServer((source, name), _string(server["entry"]), tools, instructions, texts)


def _table(value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise TypeError
    return cast("Mapping[str, object]", value)


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _lines(value: object) -> list[str]:
    if not isinstance(value, list):
        raise TypeError
    return [_string(line) for line in cast("list[object]", value)]


def _title(place: Place) -> str:
    source, name = place
    return f"{name} ({source})"


def _is_of_plugin(place: Place) -> bool:
    return place[0].partition(" ")[0] == _PLUGIN and "/" not in place[0]


def _server_differences(old: LockedServer, new: LockedServer) -> Iterator[tuple[str, Sequence[str]]]:
    if old.entry != new.entry:
        yield "its entry changed", _changed(old, new, ENTRY)
    if new.tools is None:
        return
    if old.tools is None:
        yield "its tools are not locked", ()
        return
    if old.instructions != new.instructions:
        yield "its instructions changed", _changed(old, new, INSTRUCTIONS)
    for name in sorted({*old.tools, *new.tools}):
        if name not in new.tools:
            yield f"- {name}", ()
        elif name not in old.tools:
            yield f"+ {name}", _changed(None, new, name)
        elif old.tools[name] != new.tools[name]:
            yield f"~ {name}: its definition changed", _changed(old, new, name)


def _changed(old: LockedServer | None, new: LockedServer, part: str) -> list[str]:
    """List the lines of a text that changed; all that are there now if the lock has none."""
    from remit.trust.pins import line_diff

    before = None if old is None else old.texts.get(part)
    lines = line_diff(before or (), new.texts.get(part, ()))
    if not lines and old is not None:
        lines = [_UNSHOWN]
    return [_INDENT + line for line in lines]


def _toml(lock: Lock) -> Iterator[str]:
    yield f"version = {VERSION}"
    for (source, name), server in sorted(lock.servers.items()):
        table = f"servers.{_key(source)}.{_key(name)}"
        yield from ("", f"[{table}]", f"entry = {_text(server.entry)}")
        if server.instructions is not None:
            yield f"instructions = {_text(server.instructions)}"
        if server.tools is not None:
            pins = (f"{_key(tool)} = {_text(pin)}" for tool, pin in sorted(server.tools.items()))
            yield from ("", f"[{table}.tools]", *pins)
        if server.texts:
            yield from ("", f"[{table}.text]")
            for part, lines in sorted(server.texts.items()):
                yield from (f"{_key(part)} = [", *(f"{_INDENT}{_text(line)}," for line in lines), "]")


def _key(key: str) -> str:
    is_bare = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if is_bare else _text(key)


def _text(text: str) -> str:
    """Write a string of TOML in which every character can be seen."""
    from remit.store import storable
    from remit.text import make_visible

    return make_visible(json.dumps(storable(text), ensure_ascii=False))
