"""Gemini CLI's extensions: which are on here, and the servers they bring."""

import os
import re

from remit.clients.parsing.client_reader import Origin, Reader, off_status, plugin_row
from remit.clients.parsing.entry_fields import EntryError, Fields
from remit.clients.parsing.layered_files import Layer
from remit.decision.scopes import Scope

NAME = "gemini-cli"


def extension_layers(reader: Reader, root: str) -> list[Layer]:
    """Read the user's extensions; of two with a server of one name, the first counts."""
    switches = reader.fields(os.path.join(root, "extension-enablement.json"))
    layers = [_layer(reader, os.path.join(root, name), switches) for name in reader.names_in(root)]
    return [layer for layer in reversed(layers) if layer is not None]


def _layer(reader: Reader, folder: str, switches: Fields) -> Layer | None:
    path = os.path.join(_place(reader, folder), "gemini-extension.json")
    manifest = reader.fields(path)
    if "name" not in manifest:
        return None
    layer = None
    with reader.part(path) as parsed:
        name = manifest.text("name")
        origin = Origin(client=NAME, source=path, scope=Scope.PLUGIN, place="mcpServers")
        is_on = _is_on(switches, name, reader.workspace.dir)
        parsed.declarations.append(plugin_row(origin, name, own_status=off_status(not is_on)))
        if is_on:
            layer = Layer(origin=origin, servers=dict(manifest.fields("mcpServers").items()))
    return layer


def _place(reader: Reader, folder: str) -> str:
    """Follow an extension that was linked, not copied."""
    record = reader.fields(os.path.join(folder, ".gemini-extension-install.json"))
    try:
        return record.text("source") if record.text("type") == "link" else folder
    except EntryError:
        return folder


def _is_on(switches: Fields, name: str, dir: str) -> bool:
    """Go through the rules for an extension: the last that matches the directory counts, `!` means off."""
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
    """Read a path in which `*` stands for anything, together with the slash before it."""
    return re.compile(re.sub(r"(/?)\\\*", r"(\1.*)?", re.escape(glob)), re.DOTALL)
