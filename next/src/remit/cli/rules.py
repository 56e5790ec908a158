"""`remit enable`, `disable`, `ask` and `undo`: edit Remit's configuration, and take changes back."""

import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from remit.bootstrap import open_journal, open_registry, refresh_copies
from remit.cli import render
from remit.cli.options import (
    NOTHING_DONE,
    YES,
    Here,
    confirm,
    known_names,
    name_change,
    require_person,
    with_here,
)
from remit.config import (
    machine_path,
    managed_path,
    personal_path,
    read_table,
    remove_key,
    set_key,
    shared_path,
)
from remit.decision import (
    Context,
    Face,
    Gate,
    Kind,
    Status,
    Tool,
    ToolDecision,
    Verdict,
    client_title,
    shorten,
    tool_globs,
)
from remit.errors import InstallError, PolicyError
from remit.files import Machine, this_machine
from remit.text import as_object, local_time, plural, rounded

if TYPE_CHECKING:
    from remit.catalog import Registry
    from remit.files import JournalEntry

_MOST_CHANGES = 10  # that `remit undo --list` shows
_MOST_HIDDEN = 3  # tools of a pattern that are explained
_UNINSTALL = "remit uninstall "


class _Rule(NamedTuple):
    """A setting of a rule, as commands write it."""

    key: str
    value: bool


_DISABLED, _ASKED = _Rule("ai_enabled", value=False), _Rule("approval", value=True)


class _Subject(NamedTuple):
    """What a name on the command line stands for."""

    name: str
    pattern: str  # of the rule
    tools: Sequence[Tool]  # that it covers

    def __str__(self) -> str:
        tools = [tool for tool in self.tools if tool.kind is not Kind.MCP_SERVER]
        if "*" not in self.pattern or not tools:
            return f"`{self.name}`"
        tokens = sum(tool.tokens or 0 for tool in tools)
        cost = f", about {rounded(tokens):,} tokens" if tokens else ""
        return f"`{self.name}` ({plural(len(tools), 'tool')}{cost})"


class _Target(NamedTuple):
    """The file that a command edits, and the option that selects it."""

    path: str
    option: str = ""


def _with_rule(command: Callable[..., None]) -> Callable[..., None]:
    """Add the names that a rule is about, and the file that has it."""
    everywhere = click.option("--everywhere", is_flag=True, help="In all your projects on this machine.")
    shared = click.option("--shared", is_flag=True, help="For everyone in this project: in `remit.toml`.")
    names = click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=known_names)
    return names(with_here(shared(everywhere(command))))


@click.command()
@_with_rule
def disable(*, names: Sequence[str], here: Here, everywhere: bool, shared: bool) -> None:
    """Disable tools or servers.

    NAME is a tool, a server, a skill, a command, or a pattern such as `mcp__github__delete_*`. The rule is
    written to your own file for this project, outside of it.
    """
    with open_registry() as registry:
        context = here.context(registry)
        target = _target(context, everywhere=everywhere, shared=shared)
        subjects = [_find(name, registry, context) for name in names]
        _refuse_itself(subjects)
        known = _patterns(target.path, _DISABLED)
        new = [subject.pattern for subject in subjects if subject.pattern not in known]
        _write(new, _DISABLED, target, f"remit disable {shlex.join(names)}")
        for subject in subjects:
            word = "Disabled" if subject.pattern in new else "Already disabled"
            render.out(f"{word} in {shorten(target.path, context)}: {subject}")
        if new:
            follow(registry, context)
    _warn_of_missing_install(context, "still offers what Remit's rules hide")
    if new:
        _hint_undo("enable", names, target)


@click.command()
@_with_rule
def enable(*, names: Sequence[str], here: Here, everywhere: bool, shared: bool) -> None:
    """Enable tools or servers that were disabled.

    NAME is a tool, a server, a skill, a command, or a pattern. The rule that disables it is removed from your
    own file for this project. Other files that still hide it are named.
    """
    require_person("enable a tool", yes=True)
    with open_registry() as registry:
        context = here.context(registry)
        target = _target(context, everywhere=everywhere, shared=shared)
        subjects = [_find(name, registry, context) for name in names]
        rules = {subject.name: _rules_for(subject, target.path, _DISABLED) for subject in subjects}
        removed = [rule for found in rules.values() for rule in found]
        _remove(removed, _DISABLED, target, f"remit enable {shlex.join(names)}")
        where = shorten(target.path, context)
        for subject in subjects:
            is_new = bool(rules[subject.name])
            render.out(
                f"Enabled in {where}: {subject}" if is_new else f"{subject} is not disabled in {where}"
            )
            render.note(_still_hidden(subject, registry, context))
        if removed:
            follow(registry, context)
    if removed:
        _hint_undo("disable", names, target)


@click.command()
@_with_rule
@click.option("--off", is_flag=True, help="Stop asking: remove the rule.")
def ask(*, names: Sequence[str], here: Here, everywhere: bool, shared: bool, off: bool) -> None:
    """Ask a person before each call of a tool.

    NAME is a tool, a server, or a pattern such as `mcp__deploy__*`. Each call then waits for `remit approve`,
    or for your answer in the client. The rule is written to your own file for this project, outside of it.
    """
    if off:
        require_person("stop asking before a call", yes=True)
    with open_registry() as registry:
        context = here.context(registry)
        target = _target(context, everywhere=everywhere, shared=shared)
        subjects = [_find(name, registry, context) for name in names]
        rules = {subject: _rules_for(subject, target.path, _ASKED) for subject in subjects}
        if off:
            changed = [rule for found in rules.values() for rule in found]
            _remove(changed, _ASKED, target, f"remit ask --off {shlex.join(names)}")
        else:
            changed = [subject.pattern for subject, found in rules.items() if not found]
            _write(changed, _ASKED, target, f"remit ask {shlex.join(names)}")
        for subject, found in rules.items():
            told = _told(is_asked=bool(found), off=off)
            render.out(f"{told} in {shorten(target.path, context)}: {subject}")
            decision = registry.explain(subject.pattern, context, for_person=True).decision
            if off and decision.verdict is Verdict.ASK:
                render.note(f"still asks: {decision.full_reason}")
        if changed:
            follow(registry, context)
    if not off:
        _warn_of_missing_install(context, "does not ask for Remit")
    if changed:
        _hint_undo("ask" if off else "ask --off", names, target)


def _told(*, is_asked: bool, off: bool) -> str:
    if off:
        return "No longer asks" if is_asked else "No rule asks"
    return "Already asks" if is_asked else "Asks before each call"


def _target(context: Context, *, everywhere: bool, shared: bool) -> _Target:
    if everywhere and shared:
        raise click.UsageError("pass --everywhere or --shared, not both")
    machine = this_machine()
    if everywhere:
        return _Target(machine_path(machine), " --everywhere")
    if shared:
        return _Target(shared_path(context.workspace), " --shared")
    return _Target(personal_path(context.workspace, machine))


def _find(name: str, registry: "Registry", context: Context) -> _Subject:
    """Find what a name stands for.

    Raises:
        PolicyError: it matches nothing that is known here, or a plugin as a whole.
        ToolError: several servers have a tool of this name.
    """
    from remit.cli.why import explain

    pattern = name
    if "*" not in name:
        explained = explain(name, registry, context, for_person=True)
        if explained.tool is None:
            near = " or ".join(f"`{other}`" for other in explained.suggestions)
            hint = f"did you mean {near}?" if near else "`remit tools --all` lists the known tools"
            raise PolicyError(f"`{name}` matches no known tool", hint=hint)
        if explained.tool.kind is Kind.PLUGIN:
            raise PolicyError(f"`{name}` is a plugin", hint="name its servers, skills or commands")
        pattern = explained.name if explained.is_assumed else explained.tool.name
    covered = _covered(pattern, registry.tools(context))
    if not covered and "*" in name:
        raise PolicyError(f"`{name}` matches no known tool", hint="`remit tools --all` lists the known tools")
    return _Subject(name, pattern, tuple({item.tool.name: item.tool for item in covered}.values()))


def _refuse_itself(subjects: Iterable[_Subject]) -> None:
    """Refuse a rule about Remit's own gateway, which would do nothing.

    Raises:
        PolicyError: a subject is the gateway.
    """
    for subject in subjects:
        for tool in subject.tools:
            if tool.kind is Kind.MCP_SERVER and tool.status is Status.ITSELF and "*" not in subject.name:
                hint = f"`remit uninstall {tool.client}` removes it"
                raise PolicyError(f"`{subject.name}` is Remit itself, which no rule hides", hint=hint)


def _covered(pattern: str, listed: Iterable[ToolDecision]) -> list[ToolDecision]:
    forms = tool_globs(pattern)
    return [item for item in listed if any(form.matches(item.tool.name) for form in forms)]


def _patterns(path: str, rule: _Rule) -> list[str]:
    """List the patterns in a file that have a setting."""
    rules = as_object(read_table(path).get("tools"))
    return [name for name, table in rules.items() if as_object(table).get(rule.key) is rule.value]


def _rules_for(subject: _Subject, path: str, rule: _Rule) -> list[str]:
    """List the patterns in a file that have a setting for exactly the subject."""
    return [
        pattern
        for pattern in _patterns(path, rule)
        if pattern == subject.name
        or any("*".join(form.parts) == subject.pattern for form in tool_globs(pattern))
    ]


def _write(patterns: Iterable[str], rule: _Rule, target: _Target, command: str) -> None:
    name_change(command + target.option)
    for pattern in dict.fromkeys(patterns):
        set_key(target.path, ("tools", pattern, rule.key), rule.value)


def _remove(patterns: Iterable[str], rule: _Rule, target: _Target, command: str) -> None:
    name_change(command + target.option)
    for pattern in dict.fromkeys(patterns):
        remove_key(target.path, ("tools", pattern, rule.key))


def follow(registry: "Registry", context: Context, *, everywhere: bool = True) -> None:
    """Bring the copies of rules in the client's own files in step; of a state, those in the project."""
    try:
        if refresh_copies(registry, context, everywhere=everywhere):
            render.note("Changed Claude Code's own settings, too.")
    except InstallError as error:
        render.warning(error)


def _still_hidden(subject: _Subject, registry: "Registry", context: Context) -> Iterator[str]:
    """Say what else hides a subject, and how to change that."""
    rules = registry.catalog(context).context.rules
    hidden = [item for item in _covered(subject.pattern, registry.tools(context)) if _is_hidden(item)]
    told: set[str] = set()
    for tool, decision in hidden:
        if decision.full_reason in told or len(told) == _MOST_HIDDEN:
            continue
        told.add(decision.full_reason)
        refusal = rules.refusal(tool, ()) if decision.gate is Gate.POLICY else None
        way = decision.unlock if refusal is None else _way(refusal.origin.path, subject, context)
        yield f"still hidden: {decision.full_reason}"
        if way:
            yield f"hint: {way}"


def _is_hidden(item: ToolDecision) -> bool:
    return item.decision.verdict is Verdict.HIDDEN and not item.decision.frees_name


def _way(path: str, subject: _Subject, context: Context) -> str:
    """Say how to lift a rule: by a command only where Remit writes the file and the rule is about no more."""
    machine = this_machine()
    if path == managed_path(machine):
        return "only your administrator can change that"
    for option, own in _own_files(context, machine):
        if path == own and _rules_for(subject, path, _DISABLED):
            return f"run `remit enable {shlex.quote(subject.name)}{option}`"
    return f"edit {shorten(path, context)}: Remit changes no such rule"


def _own_files(context: Context, machine: Machine) -> Iterator[tuple[str, str]]:
    yield "", personal_path(context.workspace, machine)
    yield " --everywhere", machine_path(machine)
    yield " --shared", shared_path(context.workspace)


def _warn_of_missing_install(context: Context, what: str) -> None:
    client = context.client
    if client is not None and context.face is Face.CLIENT:
        render.note(f"warning: {client_title(client)} {what}, until you run `remit install {client}`")


def _hint_undo(opposite: str, names: Sequence[str], target: _Target) -> None:
    render.note(
        f"hint: `remit undo` takes this back; so does `remit {opposite} {shlex.join(names)}{target.option}`"
    )


@click.command()
@click.option("--list", "is_listed", is_flag=True, help="List the last changes; undo nothing.")
@YES
def undo(*, is_listed: bool, yes: bool) -> None:
    """Undo the last change Remit made to your files.

    Restores every byte of the files that the last command changed: `enable`, `disable`, `ask`, `install`, and
    so on. Repeat it to go further back. Nothing is undone if one of the files changed since. Changes that
    leave nothing to undo are skipped.
    """
    journal = open_journal()
    if is_listed:
        render.out(change_lines(journal.entries()))
        return
    require_person("undo a change of the rules", yes=yes)
    for entry in journal.drop_settled():
        render.note(f"Skipped `{entry.command}`: it leaves nothing to undo.")
    entries = journal.last()
    if not entries:
        render.out("Nothing to undo.")
        sys.exit(NOTHING_DONE)
    last = entries[-1]
    render.note(f"Last change: `{last.command}`, {local_time(last.at)}")
    render.note(f"  {path}" for path in last.paths)
    if last.command.startswith(_UNINSTALL):
        client = last.command.removeprefix(_UNINSTALL).partition(" ")[0]
        render.note(f"Undoing it installs Remit in {client_title(client)} again.")
    confirm("Undo it?", yes=yes)
    journal.undo()
    render.out(f"Undone: `{last.command}`")
    with open_registry() as registry:
        follow(registry, registry.at())


def change_lines(entries: Sequence["JournalEntry"]) -> Iterator[render.Line]:
    """List the last changes, the next to undo first."""
    if not entries:
        yield "Nothing to undo."
        return
    rows = [
        (local_time(entry.at), entry.command, ", ".join(entry.paths)) for entry in entries[:_MOST_CHANGES]
    ]
    yield from render.table(("time", "change", "files"), rows)
    if len(entries) > _MOST_CHANGES:
        yield f"and {plural(len(entries) - _MOST_CHANGES, 'earlier change')}"
