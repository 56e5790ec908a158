"""What Remit writes into the other clients: its gateway's entry, and switches of the servers it serves."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from remit.clients.claude_install import TargetFile, Wanted
from remit.clients.table import CLIENTS, File, place
from remit.decision import SERVER, Declaration, Scope, VariableSyntax, full_label
from remit.errors import InstallError
from remit.files import ANYWHERE, Edit, FileError, Format, Machine, parse_jsonc, read_text
from remit.text import as_object

TAKING_OVER = ("codex", "gemini-cli", "opencode")  # clients that stop loading what Remit serves
STEPS = {  # how a user switches servers off where Remit cannot
    "claude-desktop": "in the tools menu of a chat, turn off every server except `remit`",
    "cursor": "in Cursor Settings, under MCP, turn off every server except `remit`",
    "vscode": "in the Extensions view, under MCP Servers, disable every server except `remit`",
}
_ALLOWED = ("mcp", "allowed")  # Gemini CLI's list of allowed servers
_LIMIT = 16 * 2**20
_PLUGIN_COPY = re.compile(r"[/\\]plugins[/\\]cache[/\\]([^/\\]+)[/\\]([^/\\]+)[/\\]")  # marketplace, plugin
_NAMED = re.compile(r"\$\{named:([^}]+)\}")
_FIELDS: dict[str, dict[str, Any]] = {  # what a client wants in an entry besides the command line
    "klaude": {"type": "stdio"},
    "vscode": {"type": "stdio"},
    "zed": {"source": "custom"},
    "copilot-cli": {"type": "local", "tools": ["*"]},
}


def client_edits(client: str, words: Sequence[str], wanted: Wanted, machine: Machine) -> list[TargetFile]:
    """Return the file to edit; `words` is the gateway's command line.

    Raises:
        InstallError: Remit cannot edit the client's file.
    """
    program, *args = words
    entry: dict[str, Any] = {"command": program, "args": args}
    match client:
        case "codex":
            return [_codex(entry, wanted, machine)]
        case "gemini-cli":
            return [_gemini_cli(entry, wanted, machine)]
        case "opencode":
            return [_opencode(words, wanted, machine)]
        case "continue":
            path = place(
                f"$CONTINUE_GLOBAL_DIR/mcpServers/{SERVER}.json | ~/.continue/mcpServers/{SERVER}.json",
                machine,
            )
            return [TargetFile(path, Format.JSON, [Edit(("mcpServers", SERVER), entry)])]
        case "goose":
            raise InstallError(
                "Remit cannot edit goose's configuration, which is YAML",
                hint=f"run `goose configure`, and add a command-line extension `{SERVER}`: {' '.join(words)}",
            )
        case _:
            path, file = _own_file(client, machine)
            format = Format.JSONC if file.format == "jsonc" else Format.JSON
            fields = _FIELDS.get(client, {})
            return [TargetFile(path, format, [Edit((*file.keys, SERVER), {**fields, **entry})])]


def _own_file(client: str, machine: Machine) -> tuple[str, File]:
    """Choose the strongest of the user's own files that exists, else the strongest."""
    files = [
        file
        for file in CLIENTS[client].files
        if file.scope is Scope.GLOBAL and "*" not in file.path
        if not file.platforms or machine.platform in file.platforms
    ]
    files = [file for file in files if not file.is_settings] or files  # settings may be another client's
    choices = [(place(file.path, machine), file) for file in reversed(files)]
    return next((choice for choice in choices if os.path.exists(choice[0])), choices[0])


def _codex(entry: dict[str, Any], wanted: Wanted, machine: Machine) -> TargetFile:
    path = place("$CODEX_HOME/config.toml | ~/.codex/config.toml", machine)
    # Codex sends its first request without servers that take more than a second, except required ones.
    entry["required"] = True
    # A server gets only the variables its entry names, so Remit's entry names those of all others.
    if variables := sorted(set[str]().union(*map(_variables, wanted.declared))):
        entry["env_vars"] = variables
    switches: list[Edit] = []
    for item in _switchable(wanted.served):
        if item.scope is Scope.PLUGIN and (copy := _PLUGIN_COPY.search(item.source)):
            switches.append(_flag(("plugins", f"{copy[2]}@{copy[1]}", "mcp_servers"), item))
        elif item.scope is Scope.GLOBAL:  # Codex fails elsewhere if an entry has no command there
            switches.append(_flag(("mcp_servers",), item))
    return TargetFile(path, Format.TOML, [*switches, Edit(("mcp_servers", SERVER), entry)])


def _variables(server: Declaration) -> Iterator[str]:
    launch = server.launch
    if launch is not None and VariableSyntax.NAMED in launch.syntaxes:
        for value in (*launch.env.values(), *launch.headers.values()):
            yield from _NAMED.findall(value)


def _gemini_cli(entry: dict[str, Any], wanted: Wanted, machine: Machine) -> TargetFile:
    path = place("$GEMINI_CLI_HOME/.gemini/settings.json | ~/.gemini/settings.json", machine)
    edits = [Edit(("mcpServers", SERVER), entry)]
    if isinstance(as_object(_content(path).get(_ALLOWED[0])).get(_ALLOWED[1]), list):
        edits.append(Edit(_ALLOWED, SERVER, is_item=True))  # the client loads nothing else
    for item in _switchable(wanted.served):
        if (item.server or "").strip().lower() != SERVER:  # the client compares without case and spaces
            edits.append(Edit(("mcp", "excluded"), item.server, is_item=True, switches=_label(item)))
    return TargetFile(path, Format.JSONC, edits)


def _opencode(words: Sequence[str], wanted: Wanted, machine: Machine) -> TargetFile:
    paths = [place(f"$XDG_CONFIG_HOME/{file} | ~/.config/{file}", machine) for file in _OPENCODE]
    path = next(filter(os.path.exists, paths), paths[-1])
    newer = as_object(as_object(_content(path).get("mcp")).get("servers"))
    if "type" in newer or isinstance(newer.get("enabled"), bool):
        newer = {}  # a server of that name
    entry = Edit(("mcp", SERVER), {"type": "local", "command": [*words], "enabled": True})
    switches = [
        _flag(("mcp", "servers") if item.server in newer else ("mcp",), item)
        for item in _switchable(wanted.served)
    ]
    return TargetFile(path, Format.JSONC, [entry, *switches])


_OPENCODE = ("opencode/opencode.jsonc", "opencode/opencode.json")  # strongest first


def _content(path: str) -> dict[str, Any]:
    try:
        return as_object(parse_jsonc(read_text(path, limit=_LIMIT, within=ANYWHERE) or "{}"))
    except FileError:
        return {}


def _switchable(served: Iterable[Declaration]) -> list[Declaration]:
    """List the servers once each, without the administrator's and any that has the gateway's name."""
    labels = {_label(item): item for item in served if item.scope is not Scope.MANAGED}
    return [item for item in labels.values() if item.server not in (None, "", SERVER)]


def _label(item: Declaration) -> str:
    return full_label(item.server or "", item.plugin)


def _flag(parents: tuple[str, ...], item: Declaration) -> Edit:
    return Edit((*parents, item.server or "", "enabled"), value=False, switches=_label(item))
