"""Copilot CLI: the user's file, two project files, and the user's trusted folders."""

import os

from remit.clients.parsing.client_reader import Client, ClientReader, ConfigFile, ParsedFile
from remit.clients.parsing.entry_fields import EntryFields
from remit.clients.parsing.server_entries import EntryRule
from remit.clients.parsing.server_files import ServerFiles
from remit.decision.declared_launch import Transport, VariableSyntax
from remit.decision.projects import Workspace
from remit.decision.scopes import Scope, is_at_or_below
from remit.decision.settings_rules import ApprovalPrompt, ClientBehavior, Effect, SettingsLevel, SettingsRule
from remit.files.formats import parse_jsonc

NAME = "copilot-cli"
HOME = "COPILOT_HOME"

SERVERS = ServerFiles(
    client=NAME,
    read_entry=EntryRule(
        types={
            "local": Transport.STDIO,
            "stdio": Transport.STDIO,
            "http": Transport.HTTP,
            "streamable-http": Transport.HTTP,
            "sse": Transport.SSE,
        }
    ),
)


def read(reader: ClientReader) -> None:
    """Read all files that apply to a workspace."""
    home = reader.machine.variables.get(HOME) or os.path.join(reader.machine.home, ".copilot")
    reader.read(ConfigFile(path=os.path.join(home, "config.json"), parse=parse_trust, format=parse_jsonc))
    SERVERS.read(reader, os.path.join(home, "mcp-config.json"), Scope.GLOBAL)
    SERVERS.read_in_project(reader, ".github", "mcp.json")
    SERVERS.read_in_project(reader, ".mcp.json")  # wins over the other file of its directory


def parse_trust(state: EntryFields, into: ParsedFile, workspace: Workspace) -> None:
    """Read whether the user trusts the launch directory, which enables its project's servers."""
    trusted = (*state.texts("trusted_folders"), *state.texts("trustedFolders"))
    if any(is_at_or_below(workspace.dir, os.path.normpath(folder)) for folder in trusted):
        approval = SettingsRule(
            source=into.source, level=SettingsLevel.USER, effect=Effect.APPROVES_ALL, subject="true"
        )
        into.rules.append(approval)


CLIENT = Client(
    name=NAME,
    read=read,
    syntaxes=(VariableSyntax.DEFAULTS, VariableSyntax.BARE),
    behavior=ClientBehavior(asks=ApprovalPrompt.ALWAYS),
)
