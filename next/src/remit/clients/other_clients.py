"""What the rows of klaude, Copilot CLI and Continue cannot say: agents, trusted folders, lists of servers."""

import os
from functools import partial

from remit.clients.fields import EntryError, EntryFields
from remit.clients.reader import ClientReader, Part, origin
from remit.clients.server_files import declare_servers, read_entry
from remit.clients.settings import Effect, Level
from remit.clients.table import CLIENTS, place
from remit.decision import Kind, Scope, ancestors, is_at_or_below
from remit.files import parse_jsonc, parse_yaml

_BLOCKS = {".yaml": parse_yaml, ".yml": parse_yaml, ".json": parse_jsonc}


def read(reader: ClientReader) -> None:
    """Read the files of a client that its row does not name."""
    {"klaude": _read_klaude, "copilot-cli": _read_copilot, "continue": _read_continue}[reader.client](reader)


def _read_klaude(reader: ClientReader) -> None:
    from remit.clients.claude_markdown import ToolFolder, read_folder

    home, root, hash = reader.machine.home, reader.workspace.checkout, reader.workspace.project.hash
    own = ToolFolder("", Scope.PROJECT, reader.client, hash, root)
    for base, target in ((root, own), (home, ToolFolder("", Scope.GLOBAL, reader.client))):
        if base != home or target is not own:
            read_folder(reader, target, Kind.SUBAGENT, os.path.join(base, ".claude", "agents"))


def _read_copilot(reader: ClientReader) -> None:
    """Read whether the user trusts the launch directory, which enables its project's servers."""
    path = place("$COPILOT_HOME/config.json | ~/.copilot/config.json", reader.machine)
    content = reader.content(path, parse_jsonc)
    with reader.part(path):
        state = EntryFields({} if content is None else content[0])
        trusted = (*state.texts("trusted_folders"), *state.texts("trustedFolders"))
        if any(is_at_or_below(reader.workspace.dir, os.path.normpath(folder)) for folder in trusted):
            reader.rule(path, Level.USER, Effect.APPROVES_ALL, "true")


def _read_continue(reader: ClientReader) -> None:
    home = place("$CONTINUE_GLOBAL_DIR | ~/.continue", reader.machine)
    _read_blocks(reader, os.path.join(home, "mcpServers"), Scope.GLOBAL)
    _read_servers(reader, os.path.join(home, "config.yaml"), Scope.GLOBAL)
    for dir in ancestors(reader.workspace.dir, up_to=reader.workspace.checkout):
        blocks = os.path.join(dir, ".continue", "mcpServers")
        if blocks not in reader.inputs:  # already read if the checkout is the home directory
            _read_blocks(reader, blocks, Scope.PROJECT, dir)


def _read_blocks(reader: ClientReader, folder: str, scope: Scope, dir: str | None = None) -> None:
    for name in reversed(reader.names_in(folder)):  # the first of two equal servers wins
        if os.path.splitext(name)[1] in _BLOCKS:
            _read_servers(reader, os.path.join(folder, name), scope, dir)


def _read_servers(reader: ClientReader, path: str, scope: Scope, dir: str | None = None) -> None:
    """Read a list of named servers, a map, or a single server."""
    content = reader.content(path, _BLOCKS[os.path.splitext(path)[1]])
    if content is None:
        return
    with reader.part(path) as part:
        top = EntryFields(content[0])
        is_list = isinstance(top.value("mcpServers"), list)
        servers = _listed(top, part) if is_list else _mapped(top, path)
        target = origin(reader, path, scope, dir, place="mcpServers")
        declare_servers(servers, target, part, partial(read_entry, CLIENTS[reader.client].entry))


def _listed(top: EntryFields, part: Part) -> EntryFields:
    servers: dict[str, object] = {}
    for at, item in enumerate(top.items_of("mcpServers")):
        with part.section(f"mcpServers[{at}]"):
            entry = EntryFields(item)
            if "uses" not in entry:  # a block on the hub, not on this machine
                servers[entry.text("name")] = item
    return EntryFields(servers)


def _mapped(top: EntryFields, path: str) -> EntryFields:
    if "mcpServers" in top or not path.endswith(".json"):
        return top.fields("mcpServers")
    if "command" not in top and "url" not in top:
        raise EntryError("`mcpServers` is missing")
    return EntryFields({os.path.splitext(os.path.basename(path))[0]: top.content})
