"""Continue: a list in its configuration, and a directory of files, the user's and a project's."""

import os
from functools import partial

from remit.clients.parsing.client_reader import Client, ClientReader, ConfigFile, ParsedFile, declare_servers
from remit.clients.parsing.entry_fields import EntryError, EntryFields
from remit.clients.parsing.server_entries import EntryRule
from remit.clients.parsing.server_files import checkout_dirs, origin
from remit.decision.declared_launch import VariableSyntax
from remit.decision.projects import Workspace
from remit.decision.scopes import Scope
from remit.decision.settings_rules import NEVER_ASKS
from remit.files.formats import parse_jsonc, parse_yaml

NAME = "continue"
GLOBAL_DIR = "CONTINUE_GLOBAL_DIR"

_ENTRY = EntryRule()
_FORMATS = {".yaml": parse_yaml, ".yml": parse_yaml, ".json": parse_jsonc}
_BLOCKS = "mcpServers"


def read(reader: ClientReader) -> None:
    """Read all files that apply to a workspace."""
    home = reader.machine.variables.get(GLOBAL_DIR) or os.path.join(reader.machine.home, ".continue")
    _read_blocks(reader, os.path.join(home, _BLOCKS), Scope.GLOBAL)
    reader.read(file(os.path.join(home, "config.yaml"), Scope.GLOBAL))
    for dir in checkout_dirs(reader.workspace):
        blocks = os.path.join(dir, ".continue", _BLOCKS)
        if blocks not in reader.inputs:  # already read if the checkout is the home directory
            _read_blocks(reader, blocks, Scope.PROJECT, dir)


def _read_blocks(reader: ClientReader, blocks: str, scope: Scope, dir: str | None = None) -> None:
    for name in reversed(reader.names_in(blocks)):  # the first of two equal servers wins
        if os.path.splitext(name)[1] in _FORMATS:
            reader.read(file(os.path.join(blocks, name), scope, dir))


def file(path: str, scope: Scope, dir: str | None = None) -> ConfigFile:
    """Describe a file; its suffix determines the format."""
    parse = partial(_parse, scope=scope, dir=dir)
    return ConfigFile(path=path, parse=parse, format=_FORMATS[os.path.splitext(path)[1]])


def _parse(
    top: EntryFields, into: ParsedFile, workspace: Workspace, *, scope: Scope, dir: str | None
) -> None:
    """Read a list of named servers, a map, or a single server."""
    servers = _listed(top, into) if top.is_list("mcpServers") else _mapped(top, into.source)
    place = origin(NAME, into.source, workspace, scope, dir, place="mcpServers")
    declare_servers(servers, place, into, read_entry=_ENTRY)


def _listed(top: EntryFields, into: ParsedFile) -> EntryFields:
    servers: dict[str, object] = {}
    for at, item in enumerate(top.items_of("mcpServers")):
        with into.part(f"mcpServers[{at}]"):
            entry = EntryFields(item)
            if "uses" not in entry:  # a block on the hub, not on this machine
                servers[entry.text("name")] = item
    return EntryFields(servers)


def _mapped(top: EntryFields, path: str) -> EntryFields:
    if "mcpServers" in top or not path.endswith(".json"):
        return top.fields("mcpServers")
    if "command" not in top and "url" not in top:
        raise EntryError("`mcpServers` is missing")
    return EntryFields({os.path.splitext(os.path.basename(path))[0]: dict(top.items())})


CLIENT = Client(name=NAME, read=read, syntaxes=(VariableSyntax.SECRETS,), behavior=NEVER_ASKS)
