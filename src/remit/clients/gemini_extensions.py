"""Gemini CLI's extensions: which are enabled here, and their servers."""

import os
import re

from remit.clients.parsing.client_reader import ClientReader, EntryOrigin, off_status, plugin_row
from remit.clients.parsing.entry_fields import EntryError, EntryFields
from remit.clients.parsing.layered_files import FileLayer
from remit.decision.scopes import Scope

NAME = "gemini-cli"


def extension_layers(reader: ClientReader, root: str) -> list[FileLayer]:
    """Read the user's extensions; of two servers with one name, the first wins."""
    switches = reader.fields(os.path.join(root, "extension-enablement.json"))
    layers = [_layer(reader, os.path.join(root, name), switches) for name in reader.names_in(root)]
    return [layer for layer in reversed(layers) if layer is not None]


def _layer(reader: ClientReader, folder: str, switches: EntryFields) -> FileLayer | None:
    path = os.path.join(_place(reader, folder), "gemini-extension.json")
    manifest = reader.fields(path)
    if "name" not in manifest:
        return None
    layer = None
    with reader.part(path) as parsed:
        name = manifest.text("name")
        origin = EntryOrigin(client=NAME, source=path, scope=Scope.PLUGIN, place="mcpServers")
        is_on = _is_on(switches, name, reader.workspace.dir)
        parsed.declarations.append(plugin_row(origin, name, own_status=off_status(not is_on)))
        if is_on:
            layer = FileLayer(origin=origin, servers=dict(manifest.fields("mcpServers").items()))
    return layer


def _place(reader: ClientReader, folder: str) -> str:
    """Return the folder of an extension, following a linked one."""
    record = reader.fields(os.path.join(folder, ".gemini-extension-install.json"))
    try:
        return record.text("source") if record.text("type") == "link" else folder
    except EntryError:
        return folder


def _is_on(switches: EntryFields, name: str, dir: str) -> bool:
    """Apply the rules of an extension: the last that matches the directory wins; `!` disables."""
    is_on = True
    try:
        rules = switches.fields(name).texts("overrides")
    except EntryError:
        return True
    place = "/" + dir.replace("\\", "/").strip("/") + "/"
    for rule in rules:
        if _pattern(rule.removeprefix("!")).fullmatch(place):
            is_on = not rule.startswith("!")
    return is_on


def _pattern(glob: str) -> re.Pattern[str]:
    """Compile a path pattern; `*` matches anything, including the slash before it."""
    return re.compile(re.sub(r"(/?)\\\*", r"(\1.*)?", re.escape(glob)), re.DOTALL)
