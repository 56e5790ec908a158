"""Commands that edit Remit's configuration files: `disable`, `enable`, `ask`, `prune` and `undo`."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from remit.bootstrap import open_configuration_file, open_installer, open_journal, open_registry
from remit.cli import render
from remit.cli.approvals.person_check import require_person
from remit.cli.options import (
    CLIENT,
    NOTHING_DONE,
    PROJECT,
    YES,
    WorkspaceOptions,
    confirm,
    for_a_workspace,
)
from remit.cli.output.json_output import Shape, asked_for
from remit.cli.rules.rule_targets import (
    EVERYWHERE,
    FLAGS,
    NAMES,
    SHARED,
    RuleSubject,
    chosen_layer,
    find_subject,
    hint_undo,
    place,
    rules_for,
    warn_of_missing_install,
    write_rules,
)
from remit.cli.scan_command import refresh_client_rules
from remit.configuration import rule_edits
from remit.configuration.config_model import ConfigurationLayer
from remit.configuration.policy_compiler import disabling_rules
from remit.decision.context import Context
from remit.decision.decide import Verdict
from remit.text.times import local_time

if TYPE_CHECKING:
    from remit.configuration.config_model import ConfigurationFile
    from remit.install.change_journal import JournalEntry
    from remit.registry import Registry
    from remit.usage.reports import PruneProposal


_NOTHING_TO_PRUNE = """\
Nothing to prune.
A tool is suggested when it was not used in two weeks or five sessions, or when its calls only fail."""
_CHOICE = re.compile(r"(\d+)(?:-(\d+))?")


@click.command()
@NAMES
@EVERYWHERE
@SHARED
@PROJECT
@CLIENT
def disable(
    *, names: Sequence[str], everywhere: bool, shared: bool, project: str, client: str | None
) -> None:
    """Disable tools or servers.

    NAME is a tool, a server, a skill, a command, or a pattern such as `mcp__github__delete_*`. The rule is
    written to `remit.local.toml` at the root of this project, which applies only to you.
    """
    layer = chosen_layer(everywhere=everywhere, shared=shared)
    with open_registry() as registry:
        context = WorkspaceOptions(project, client).context(registry)
        subjects = [find_subject(name, registry, context) for name in names]
        file = open_configuration_file(layer, context.workspace)
        known = rule_edits.patterns_with(file.text, rule_edits.DISABLED)
        after = rule_edits.write(file.text, [each.pattern for each in subjects], rule_edits.DISABLED)
        is_changed = write_rules(file, after, f"remit disable {shlex.join(names)}", layer)
    for subject in subjects:
        word = "Already disabled" if subject.pattern in known else "Disabled"
        render.out(f"{word} in {place(file.path, context)}: {subject}")
    warn_of_missing_install(context, names, asks=False)
    if is_changed:
        hint_undo(f"remit enable {shlex.join(names)}{FLAGS[layer]}", file, layer)


@click.command()
@NAMES
@EVERYWHERE
@SHARED
@PROJECT
@CLIENT
def enable(*, names: Sequence[str], everywhere: bool, shared: bool, project: str, client: str | None) -> None:
    """Enable tools or servers that were disabled.

    NAME is a tool, a server, a skill, a command, or a pattern. The rule that disables it is removed from
    `remit.local.toml` at the root of this project. Other files that still hide it are named.
    """
    require_person("enable a tool")
    layer = chosen_layer(everywhere=everywhere, shared=shared)
    with open_registry() as registry:
        context = WorkspaceOptions(project, client).context(registry)
        subjects = [find_subject(name, registry, context) for name in names]
        file = open_configuration_file(layer, context.workspace)
        found = {each: rules_for(each, file.text, rule_edits.DISABLED) for each in subjects}
        rules = [rule for rules in found.values() for rule in rules]
        after = rule_edits.remove(file.text, rules, rule_edits.DISABLED)
        is_changed = write_rules(file, after, f"remit enable {shlex.join(names)}", layer)
        for subject, rules in found.items():
            where = place(file.path, context)
            name = render.printable(subject.name)
            render.out(f"Enabled in {where}: {subject}" if rules else f"`{name}` is not disabled in {where}")
            for line in _still_hidden(subject, registry, context):
                render.note(line)
    if is_changed:
        hint_undo(f"remit disable {shlex.join(names)}{FLAGS[layer]}", file, layer)


@click.command()
@NAMES
@click.option("--off", is_flag=True, help="Stop asking: remove the rule.")
@EVERYWHERE
@SHARED
@PROJECT
@CLIENT
def ask(
    *, names: Sequence[str], off: bool, everywhere: bool, shared: bool, project: str, client: str | None
) -> None:
    """Ask a person before each call of a tool.

    NAME is a tool, a server, or a pattern such as `mcp__deploy__*`. Each call then waits for `remit approve`,
    or for your answer in the client. The rule is written to `remit.local.toml` at the root of this project,
    which applies only to you.
    """
    if off:
        require_person("stop asking before a call")
    layer = chosen_layer(everywhere=everywhere, shared=shared)
    with open_registry() as registry:
        context = WorkspaceOptions(project, client).context(registry)
        subjects = [find_subject(name, registry, context) for name in names]
        file = open_configuration_file(layer, context.workspace)
        found = {each: rules_for(each, file.text, rule_edits.ASKED) for each in subjects}
        if off:
            after = rule_edits.remove(
                file.text, [rule for rules in found.values() for rule in rules], rule_edits.ASKED
            )
        else:
            after = rule_edits.write(
                file.text, [each.pattern for each, rules in found.items() if not rules], rule_edits.ASKED
            )
        words = f"remit ask {'--off ' if off else ''}{shlex.join(names)}"
        is_changed = write_rules(file, after, words, layer)
        where = place(file.path, context)
        for subject, rules in found.items():
            render.out(f"{_said(is_asked=bool(rules), off=off)} in {where}: {subject}")
            decision = registry.explain(subject.pattern, context).decision
            if off and decision.verdict is Verdict.ASK:
                render.note(f"still asks: {decision.full_reason}")
    if not off:
        warn_of_missing_install(context, names, asks=True)
    if is_changed:
        hint_undo(f"remit ask {'' if off else '--off '}{shlex.join(names)}{FLAGS[layer]}", file, layer)


@click.command()
@for_a_workspace
@YES
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
    after = rule_edits.write(file.text, [each.name for each in chosen], rule_edits.DISABLED)
    is_changed = write_rules(file, after, "remit prune", ConfigurationLayer.LOCAL)
    if not as_json:
        render.out(f"Disabled in {place(file.path, context)}: {render.plural(len(chosen), 'tool or server')}")
        if is_changed:
            hint_undo("remit enable NAME", file, ConfigurationLayer.LOCAL)


_UNINSTALL = "remit uninstall "
MOST_CHANGES = 10  # that `remit undo --list` shows


@click.command()
@click.option("--list", "is_listed", is_flag=True, help="List the last changes; undo nothing.")
@YES
def undo(*, is_listed: bool, yes: bool) -> None:
    """Undo the last change Remit made to your files.

    Restores every byte of the files that the last command changed: `enable`, `disable`, `prune`, `install`,
    and so on. Repeat it to go further back. Nothing is undone if one of the files changed since. Changes that
    leave nothing to undo are skipped. `remit add` is not covered: the client writes its own file.
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
    render.note(f"Last change: `{command}`, {local_time(last.at)}")
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


def _said(*, is_asked: bool, off: bool) -> str:
    if off:
        return "No longer asks" if is_asked else "No rule asks"
    return "Already asks" if is_asked else "Asks before each call"


def _list_changes(entries: Sequence[JournalEntry]) -> None:
    """Show the last changes, the next to undo first."""
    if not entries:
        render.out("Nothing to undo.")
        return
    rows = [(local_time(entry.at), entry.command, ", ".join(entry.paths)) for entry in entries[:MOST_CHANGES]]
    render.table("", ("time", "change", "files"), rows)
    if len(entries) > MOST_CHANGES:
        render.out(f"\nand {render.plural(len(entries) - MOST_CHANGES, 'earlier change')}")


def _still_hidden(subject: RuleSubject, registry: Registry, context: Context) -> Iterator[str]:
    """Say what else hides a subject, and how to change that."""
    loaded = registry.configuration.current(context.workspace).loaded
    rules = disabling_rules(loaded, subject.pattern)
    for file, pattern in rules:
        where = place(file.path, context)
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
        return f"run `remit enable {shlex.quote(pattern)}{FLAGS[file.layer]}`"
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
