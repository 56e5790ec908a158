"""What commands that write rules share: the names they take, the file they edit, and how to undo it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatch
from typing import TYPE_CHECKING, NamedTuple

import click

from remit.bootstrap import open_installer
from remit.catalog.contexts import ALL_CLIENTS
from remit.cli import render
from remit.cli.options import explained_name, known_names, name_change
from remit.cli.output.explanation_output import unasked_hint
from remit.cli.scan_command import refresh_client_rules
from remit.configuration.config_model import ConfigurationLayer
from remit.configuration.rule_edits import patterns_with
from remit.decision.context import Context, shorten
from remit.decision.globs import tool_globs
from remit.decision.kinds import Kind
from remit.errors import PolicyError
from remit.files.bounded_reader import FileError, read_text
from remit.sessions.install_notices import not_installed

if TYPE_CHECKING:
    from remit.configuration.editable_file import EditableFile
    from remit.configuration.rule_edits import RuleSetting
    from remit.decision.tools import Tool
    from remit.registry import Registry

FLAGS = {
    ConfigurationLayer.LOCAL: "",
    ConfigurationLayer.PROJECT: " --shared",
    ConfigurationLayer.MACHINE: " --everywhere",
}
NAMES = click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=known_names)
EVERYWHERE = click.option("--everywhere", is_flag=True, help="In all your projects on this machine.")
SHARED = click.option("--shared", is_flag=True, help="For everyone in this project: in `remit.toml`.")


class RuleSubject(NamedTuple):
    """What a name on the command line stands for: the pattern of a rule, and the tools it covers."""

    name: str
    pattern: str
    tools: Sequence[Tool]

    def __str__(self) -> str:
        tools = [tool for tool in self.tools if tool.kind is not Kind.MCP_SERVER]
        if "*" not in self.pattern or not tools:
            return f"`{render.printable(self.name)}`"
        tokens = sum(tool.tokens or 0 for tool in tools)
        cost = f", about {render.rounded(tokens)} tokens" if tokens else ""
        return f"`{render.printable(self.name)}` ({render.plural(len(tools), 'tool')}{cost})"


def chosen_layer(*, everywhere: bool, shared: bool) -> ConfigurationLayer:
    """Return the layer whose file a command edits."""
    if everywhere and shared:
        raise click.UsageError("pass --everywhere or --shared, not both")
    if everywhere:
        return ConfigurationLayer.MACHINE
    return ConfigurationLayer.PROJECT if shared else ConfigurationLayer.LOCAL


def find_subject(name: str, registry: Registry, context: Context) -> RuleSubject:
    """Find what a name stands for.

    Raises:
        PolicyError: it matches nothing that is known here.
        ToolError: several servers have a tool of this name.
    """
    listed = registry.tools(context)
    explained = None if "*" in name else explained_name(name, registry, context)
    if explained is not None and explained.tool is None:
        near = " or ".join(f"`{each}`" for each in explained.suggestions)
        unasked = unasked_hint(explained) or "`remit tools --all` lists the known tools"
        hint = f"did you mean {near}?" if near else unasked
        raise PolicyError(f"`{name}` matches no known tool", hint=hint)
    if explained is not None and explained.tool is not None and explained.tool.kind is Kind.PLUGIN:
        raise PolicyError(f"`{name}` is a plugin", hint="name its servers, skills or commands")
    pattern = name if explained is None else explained.name
    forms = tool_globs(pattern)
    covered = {item.tool.name: item.tool for item in listed if any(f.matches(item.tool.name) for f in forms)}
    if explained is None and not covered:
        raise PolicyError(f"`{name}` matches no known tool", hint="`remit tools --all` lists the known tools")
    return RuleSubject(name, pattern, tuple(covered.values()))


def write_rules(file: EditableFile, after: str, command: str, layer: ConfigurationLayer) -> bool:
    """Write a file, if that changes it, and bring the client's own rules in step."""
    if after == file.text:
        return False
    name_change(command)
    file.write(after)
    if layer is ConfigurationLayer.MACHINE:
        refresh_client_rules()
    return True


def rules_for(subject: RuleSubject, text: str, setting: RuleSetting) -> tuple[str, ...]:
    """List the patterns in a text that have a setting for exactly the subject."""
    pattern = subject.pattern
    return tuple(
        rule
        for rule in patterns_with(text, setting)
        if rule == subject.name or any("*".join(form.parts) == pattern for form in tool_globs(rule))
    )


def place(path: str, context: Context) -> str:
    """Write the path of a file for people."""
    return render.printable(shorten(path, context))


def warn_of_missing_install(context: Context, names: Sequence[str], *, asks: bool) -> None:
    """Warn that a rule has no effect on the client yet, because Remit is not installed in it."""
    if context.workspace.team is not None:  # only gateways serve it
        return
    installer, client = open_installer(), context.client or ALL_CLIENTS
    if client in installer.clients and not installer.is_installed(client) and not context.starts_servers:
        render.notices([not_installed(client, installer.title(client), names, asks=asks)])


def hint_undo(opposite: str, file: EditableFile, layer: ConfigurationLayer) -> None:
    """Say how to take a change back, and that a new file of the user's own is not to be committed."""
    render.note(f"hint: `remit undo` takes this back; so does `{opposite}`")
    if file.was_created and layer is ConfigurationLayer.LOCAL and not _is_ignored(file.path):
        name = os.path.basename(file.path)
        render.note(f"hint: `{name}` is yours alone; add it to `.gitignore` to keep it out of commits")


def _is_ignored(path: str) -> bool:
    """Return whether git ignores a new file, by the files that a repository has for that at its root."""
    checkout, name = os.path.split(path)
    if not os.path.lexists(os.path.join(checkout, ".git")):
        return True
    for place in (".gitignore", ".git/info/exclude"):
        try:
            text = read_text(os.path.join(checkout, place), limit=2**20, within=(os.path.realpath(checkout),))
        except FileError:
            continue
        if any(fnmatch(name, line.strip().removeprefix("/")) for line in (text or "").splitlines()):
            return True
    return False
