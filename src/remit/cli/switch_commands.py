"""`remit enable`, `remit disable`, `remit prune` and `remit undo`: edits of Remit's configuration files."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from remit.bootstrap import open_configuration_file, open_registry
from remit.bootstrap_install import open_installer, open_journal
from remit.cli import render
from remit.cli.approvals.person_check import require_person
from remit.cli.json_output import Shape, asked_for
from remit.cli.listing.explanation_output import unasked_hint
from remit.cli.options import (
    CLIENT,
    NOTHING_DONE,
    PROJECT,
    WorkspaceOptions,
    confirm,
    explained_name,
    for_a_workspace,
    known_names,
    name_change,
)
from remit.cli.scan_commands import refresh_client_rules
from remit.configuration import rule_edits
from remit.configuration.config_model import ConfigurationLayer
from remit.configuration.policy_compiler import disabling_rules
from remit.decision.context import Context, shorten
from remit.decision.globs import tool_globs
from remit.decision.kinds import Kind
from remit.errors import PolicyError

if TYPE_CHECKING:
    from remit.configuration.config_model import ConfigurationFile
    from remit.configuration.editable_file import EditableFile
    from remit.decision.tools import Tool
    from remit.install.change_journal import JournalEntry
    from remit.registry import Registry
    from remit.usage.reports import PruneProposal

_FLAGS = {
    ConfigurationLayer.LOCAL: "",
    ConfigurationLayer.PROJECT: " --shared",
    ConfigurationLayer.MACHINE: " --everywhere",
}
_NAMES = click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=known_names)
_EVERYWHERE = click.option("--everywhere", is_flag=True, help="In all your projects on this machine.")
_SHARED = click.option("--shared", is_flag=True, help="For everyone in this project: in `remit.toml`.")
_YES = click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
_NOTHING_TO_PRUNE = """\
Nothing to prune.
A tool is suggested when it was not used in two weeks or five sessions, or when its calls only fail."""
_CHOICE = re.compile(r"(\d+)(?:-(\d+))?")


class _Subject(NamedTuple):
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


@click.command()
@_NAMES
@_EVERYWHERE
@_SHARED
@PROJECT
@CLIENT
def disable(
    *, names: Sequence[str], everywhere: bool, shared: bool, project: str, client: str | None
) -> None:
    """Disable tools or servers.

    NAME is a tool, a server, a skill, a command, or a pattern such as `mcp__github__delete_*`. The rule is
    written to `remit.local.toml` at the root of this project, which applies only to you.
    """
    layer = _layer(everywhere=everywhere, shared=shared)
    with open_registry() as registry:
        context = WorkspaceOptions(project, client).context(registry)
        subjects = [_subject(name, registry, context) for name in names]
        file = open_configuration_file(layer, context.workspace)
        known = rule_edits.disabled_patterns(file.text)
        after = rule_edits.disable(file.text, [each.pattern for each in subjects])
        is_changed = _write(file, after, f"remit disable {shlex.join(names)}", layer)
    for subject in subjects:
        word = "Already disabled" if subject.pattern in known else "Disabled"
        render.out(f"{word} in {_place(file.path, context)}: {subject}")
    if is_changed:
        _hint_undo(f"remit enable {shlex.join(names)}{_FLAGS[layer]}")


@click.command()
@_NAMES
@_EVERYWHERE
@_SHARED
@PROJECT
@CLIENT
def enable(*, names: Sequence[str], everywhere: bool, shared: bool, project: str, client: str | None) -> None:
    """Enable tools or servers that were disabled.

    NAME is a tool, a server, a skill, a command, or a pattern. The rule that disables it is removed from
    `remit.local.toml` at the root of this project. Other files that still hide it are named.
    """
    require_person("enable a tool")
    layer = _layer(everywhere=everywhere, shared=shared)
    with open_registry() as registry:
        context = WorkspaceOptions(project, client).context(registry)
        subjects = [_subject(name, registry, context) for name in names]
        file = open_configuration_file(layer, context.workspace)
        found = {each: _rules_for(each, file.text) for each in subjects}
        after = rule_edits.enable(file.text, [rule for rules in found.values() for rule in rules])
        is_changed = _write(file, after, f"remit enable {shlex.join(names)}", layer)
        for subject, rules in found.items():
            where = _place(file.path, context)
            render.out(f"Enabled in {where}: {subject}" if rules else f"Not disabled in {where}: {subject}")
            for line in _still_hidden(subject, registry, context):
                render.note(line)
    if is_changed:
        _hint_undo(f"remit disable {shlex.join(names)}{_FLAGS[layer]}")


@click.command()
@for_a_workspace
@_YES
def prune(*, options: WorkspaceOptions, yes: bool, as_json: bool) -> None:
    """Suggest tools to disable, and disable those you choose.

    Suggests tools that were never used in two weeks or five sessions, and tools whose calls only fail.
    Without a terminal it disables nothing; with --yes, all of them.
    """
    with open_registry() as registry:
        context = options.context(registry)
        found = registry.usage.proposals(context)
    file = open_configuration_file(ConfigurationLayer.LOCAL, context.workspace)
    if as_json:
        render.data({**pruning_shape(found, context), "file": file.path})
    else:
        _show_proposals(found, context)
    if not found or (not yes and (as_json or not sys.stdin.isatty())):
        if found and not as_json:
            render.note("hint: `remit disable NAME` disables one of them, `remit prune --yes` all of them")
        return
    chosen = found if yes else _ask(found)
    after = rule_edits.disable(file.text, [each.name for each in chosen])
    is_changed = _write(file, after, "remit prune", ConfigurationLayer.LOCAL)
    if not as_json:
        render.out(
            f"Disabled in {_place(file.path, context)}: {render.plural(len(chosen), 'tool or server')}"
        )
        if is_changed:
            _hint_undo("remit enable NAME")


_UNINSTALL = "remit uninstall "
MOST_CHANGES = 10  # that `remit undo --list` shows


@click.command()
@click.option("--list", "is_listed", is_flag=True, help="List the last changes; undo nothing.")
@_YES
def undo(*, is_listed: bool, yes: bool) -> None:
    """Undo the last change Remit made to your files.

    Restores every byte of the files that the last command changed: `enable`, `disable`, `prune`, `install`,
    and so on. Repeat it to go further back. Nothing is undone if one of the files changed since. Changes that
    leave nothing to undo are skipped.
    """
    journal = open_journal()
    if is_listed:
        _list_changes(journal.entries())
        return
    require_person("undo a change of the rules")
    for entry in journal.drop_settled():
        render.note(f"Skipped `{render.printable(entry.command)}`: it leaves nothing to undo.")
    entries = journal.last()
    if not entries:
        render.out("Nothing to undo.")
        sys.exit(NOTHING_DONE)
    last = entries[-1]
    command = render.printable(last.command)
    render.note(f"Last change: `{command}`, {render.local_time(last.at)}")
    for path in last.paths:
        render.note(f"  {path}")
    client = last.command.removeprefix(_UNINSTALL) if last.command.startswith(_UNINSTALL) else None
    if client is not None:
        render.note(f"Undoing it installs Remit in {open_installer().title(client)} again.")
    confirm("Undo it?", yes=yes)
    journal.undo()
    render.out(f"Undone: `{command}`")
    if client is not None:
        render.out(f"Remit is installed in {open_installer().title(client)} again.")
    refresh_client_rules()


def _list_changes(entries: Sequence[JournalEntry]) -> None:
    """Show the last changes, the next to undo first."""
    if not entries:
        render.out("Nothing to undo.")
        return
    rows = [
        (render.local_time(entry.at), entry.command, ", ".join(entry.paths))
        for entry in entries[:MOST_CHANGES]
    ]
    render.table("", ("time", "change", "files"), rows)
    if len(entries) > MOST_CHANGES:
        render.out(f"\nand {render.plural(len(entries) - MOST_CHANGES, 'earlier change')}")


def _layer(*, everywhere: bool, shared: bool) -> ConfigurationLayer:
    if everywhere and shared:
        raise click.UsageError("pass --everywhere or --shared, not both")
    if everywhere:
        return ConfigurationLayer.MACHINE
    return ConfigurationLayer.PROJECT if shared else ConfigurationLayer.LOCAL


def _subject(name: str, registry: Registry, context: Context) -> _Subject:
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
    return _Subject(name, pattern, tuple(covered.values()))


def _write(file: EditableFile, after: str, command: str, layer: ConfigurationLayer) -> bool:
    """Write a file, if that changes it, and bring the client's own rules in step."""
    if after == file.text:
        return False
    name_change(command)
    file.write(after)
    if layer is ConfigurationLayer.MACHINE:
        refresh_client_rules()
    return True


def _rules_for(subject: _Subject, text: str) -> tuple[str, ...]:
    """List the patterns in a text that disable exactly the subject."""
    pattern = subject.pattern
    return tuple(
        rule
        for rule in rule_edits.disabled_patterns(text)
        if rule == subject.name or any("*".join(form.parts) == pattern for form in tool_globs(rule))
    )


def _still_hidden(subject: _Subject, registry: Registry, context: Context) -> Iterator[str]:
    """Say what else hides a subject, and how to change that."""
    loaded = registry.configuration.current(context.workspace).loaded
    rules = disabling_rules(loaded, subject.pattern)
    for file, pattern in rules:
        where = _place(file.path, context)
        yield f"still hidden: the rule for `{pattern}` in {where} disables it"
        yield f"hint: {_way(file, pattern, context)}"
    explained = registry.explain(subject.pattern, context)
    if not rules and explained.tool is not None and not explained.decision.is_available:
        yield f"still hidden: {explained.decision.full_reason}"
        if explained.decision.unlock:
            yield f"hint: {explained.decision.unlock}"


def _way(file: ConfigurationFile, pattern: str, context: Context) -> str:
    if file.layer is ConfigurationLayer.MANAGED:
        return "only your administrator can change that"
    if file.dir in (None, context.workspace.checkout):
        return f"run `remit enable {shlex.quote(pattern)}{_FLAGS[file.layer]}`"
    return f"remove the rule from {file.path}"


def _show_proposals(found: Sequence[PruneProposal], context: Context) -> None:
    render.out(render.heading(context))
    if not found:
        render.out(_NOTHING_TO_PRUNE)
        return
    render.out()
    rows = [
        (str(at), each.name, "" if each.tokens is None else f"{each.tokens:,}", each.reason)
        for at, each in enumerate(found, 1)
    ]
    render.table("", ("", "tool", "tokens", "why"), rows, numbers=("", "tokens"))
    saved = sum(each.tokens or 0 for each in found)
    if saved:
        render.out(f"\nDisabling all of them saves about {render.rounded(saved)} tokens per request.")


def _ask(found: Sequence[PruneProposal]) -> list[PruneProposal]:
    def read(answer: str) -> list[int]:
        return chosen_numbers(answer, len(found))

    question = "Disable which? (`all`, `none`, or numbers such as 1,3-5)"
    numbers: list[int] = click.prompt(question, default="none", value_proc=read, err=True)
    if not numbers:
        render.out("Nothing changed.")
        sys.exit(NOTHING_DONE)
    return [found[number - 1] for number in numbers]


def chosen_numbers(answer: str, count: int) -> list[int]:
    """Read a choice among numbered lines: `all`, `none`, or numbers and ranges.

    Raises:
        click.BadParameter: it is none of these, or a number is too large.
    """
    if answer.strip().lower() in ("all", "none", ""):
        return list(range(1, count + 1)) if answer.strip().lower() == "all" else []
    numbers: set[int] = set()
    for part in filter(None, re.split(r"[\s,]+", answer)):
        found = _CHOICE.fullmatch(part)
        first, last = (0, 0) if found is None else (int(found[1]), int(found[2] or found[1]))
        if not 1 <= first <= last <= count:
            raise click.BadParameter(
                f"`{part}` must be a number from 1 to {count}, or a range such as 1-{count}"
            )
        numbers.update(range(first, last + 1))
    return sorted(numbers)


def pruning_shape(found: Iterable[PruneProposal], context: Context) -> Shape:
    """Return the JSON of `remit prune`, except for the file that it would write."""
    proposals = [each._asdict() for each in found]
    names = [each["name"] for each in proposals]
    return {**asked_for(context), "names": names, "proposals": proposals}


def _place(path: str, context: Context) -> str:
    return render.printable(shorten(path, context))


def _hint_undo(opposite: str) -> None:
    render.note(f"hint: `remit undo` takes this back; so does `{opposite}`")
