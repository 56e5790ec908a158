"""`remit install` and `remit uninstall`: one summary of the change for consent, dry run and result."""

import json
import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from remit.bootstrap import clock, open_installer, open_registry
from remit.cli import render
from remit.cli.options import NO_TERMINAL, NOTHING_DONE, YES, confirm, name_change, require_person
from remit.cli.render import Line
from remit.cli.trust import label_of, project_servers, server_lines
from remit.clients import (
    STEPS,
    TAKING_OVER,
    Installer,
    InstallLevel,
    Plan,
    PlannedChange,
    Wanted,
    record_path,
    unrecorded,
)
from remit.config import data_directory, machine_path
from remit.decision import Context, Status
from remit.errors import FileChangeError, InstallError, NotFoundError, PolicyError, StoreError
from remit.files import differences, is_writable, this_machine
from remit.secrets import HIDDEN, may_be_secret, redact_url
from remit.trust import ServerTrust, grant

if TYPE_CHECKING:
    from remit.catalog import Registry

_CLAUDE_CODE = "claude-code"
_STRING = re.compile(r'"(?:\\.|[^"\\])*+"')
_MOST = 8  # rules or matchers that a summary names
_LEVELS = {
    InstallLevel.FULL: "the gateway serves your servers, and hooks make your rules count",
    InstallLevel.HOOKS: "hooks make your rules count; the client starts its servers itself",
    InstallLevel.CONTEXT: "a section at session start and the count of uses, nothing else",
}
_CHOICES = {"h": "[h]ooks only", "c": "[c]ontext only", "g": "[g]ateway and hooks"}
_DRY_RUN = click.option("--dry-run", is_flag=True, help="Show the changes without making them.")
_MANAGED = click.option(
    "--managed",
    is_flag=True,
    help="For every user of this machine; needs an administrator (Claude Code only).",
)


class Change(NamedTuple):
    """What an install would write: into the user's files, and into those of the project here."""

    client: str
    level: InstallLevel
    wanted: Wanted
    plan: Plan
    own: Wanted  # of the project
    own_plan: Plan
    is_managed: bool = False
    stays: Sequence[tuple[str, str]] = ()  # servers that stay with the client, and why
    refusal: InstallError | None = None  # why nothing is written into the project

    @property
    def files(self) -> list[PlannedChange]:
        """The changes of files."""
        return [change for plan in (self.plan, self.own_plan) for change in plan.changes if change.is_change]


@click.command()
@click.argument("client", metavar="CLIENT", required=False)
@click.option("--hooks-only", is_flag=True, help="Hooks and rules; the client starts its servers itself.")
@click.option(
    "--context-only", is_flag=True, help="Only the section at session start, and the count of uses."
)
@_MANAGED
@_DRY_RUN
@YES
def install(
    client: str | None, *, hooks_only: bool, context_only: bool, managed: bool, dry_run: bool, yes: bool
) -> None:
    """Install Remit in a client.

    Remit becomes one of the client's servers; in Claude Code it also gets hooks. In Claude Code, Codex,
    Gemini CLI and opencode, Remit serves the other servers in the client's place: their entries stay and are
    only switched off. Other clients have no such switch: the command says how to do that by hand. Shows the
    change and asks for confirmation, first about each project server that the client has approved; with
    --yes, those are only listed.

    With --managed, Remit goes into the client's managed settings and its managed-mcp.json: users and
    repositories cannot disable it, and the client loads no other server. Run it as an administrator, and
    again after you change the administrator's remit.toml.
    """
    if hooks_only and context_only:
        raise click.UsageError("pass --hooks-only or --context-only, not both")
    level = InstallLevel.HOOKS if hooks_only else InstallLevel.CONTEXT if context_only else InstallLevel.FULL
    installer = open_installer(is_managed=managed)
    if client is None:
        raise click.UsageError("name a CLIENT, such as claude-code or codex")
    name = installer.client(client)
    with open_registry() as registry:
        if dry_run:
            change = plan_install(registry, installer, name, level, is_managed=managed)
            render.note(summary_lines(change, installer))
            render.paged(diff_lines(change.files))
        elif not install_in(registry, installer, name, level, yes=yes, is_managed=managed):
            sys.exit(NOTHING_DONE)


def install_in(
    registry: "Registry",
    installer: Installer,
    client: str,
    level: InstallLevel = InstallLevel.FULL,
    *,
    yes: bool,
    is_managed: bool = False,
    asks_trust: bool = True,
) -> bool:
    """Install Remit in a client, if the user agrees to the change as it is shown.

    Raises:
        InstallError: Remit cannot be installed there.
        PolicyError: one of Remit's own files is invalid.
    """
    title = installer.title(client)
    if asks_trust and not is_managed and level is InstallLevel.FULL:
        offer_trust(registry, installer, client, yes=yes)
    _warn(client, title, is_managed=is_managed)
    while True:
        change = plan_install(registry, installer, client, level, is_managed=is_managed)
        if not change.files:
            installer.install(client, level, change.wanted)  # restores a lost record
            render.out(f"Already installed in {title}; nothing was changed.")
            return True
        if is_managed:
            _require_administrator(change.files)
        render.note(summary_lines(change, installer))
        chosen = level if yes else _ask(f"Install Remit in {title}?", change)
        if chosen is None:
            render.note(f"{title} was not changed.")
            return False
        if chosen is level:
            break
        level = chosen
    name_change(f"remit install {client}")
    installer.install(client, level, change.wanted)
    if change.own_plan.changes:
        installer.install(client, level, change.own, registry.at().workspace.project)
    render.out(f"Installed in {title}: changed {_paths(change.files)}.")
    render.out(f"It starts the next time you start {title}; `{_undo(client, is_managed)}` takes it back.")
    if client not in TAKING_OVER and client in STEPS:
        render.note(f"hint: {title} still loads its own servers: {STEPS[client]}")
    return True


def plan_install(
    registry: "Registry", installer: Installer, client: str, level: InstallLevel, *, is_managed: bool = False
) -> Change:
    """Return what an install would change.

    Raises:
        InstallError: Remit cannot be installed there.
        PolicyError: one of Remit's own files is invalid.
    """
    from remit.wanted import unserved_servers, wanted, wanted_of_project

    here = registry.at(client=client)
    if invalid := registry.catalog(here).configuration.invalid:
        raise PolicyError(
            f"{invalid[0]} is invalid, so nothing was installed", hint="`remit doctor` shows how to fix it"
        )
    directories = [*installer.projects(client), here.workspace.dir]
    base = wanted(registry, client, directories, is_managed=is_managed)
    plan, own, refusal = installer.plan(client, level, base), Wanted(), None
    own_plan = Plan(())
    if client == _CLAUDE_CODE and not is_managed and level is not InstallLevel.CONTEXT:
        own = wanted_of_project(registry, here)
        try:
            own_plan = installer.plan(client, level, own, here.workspace.project)
        except InstallError as error:
            refusal = error
    catalog = registry.catalog(here)
    reasons = unserved_servers(catalog, registry.tools(here), this_machine())
    stays = [(catalog.declarations[key].declaration.server or "", reason) for key, reason in reasons.items()]
    return Change(client, level, base, plan, own, own_plan, is_managed, stays, refusal)


def summary_lines(change: Change, installer: Installer) -> Iterator[Line]:
    """Write what an install changes: servers, hooks, permission rules and files, and what takes it back."""
    title, plan = installer.title(change.client), change.plan
    level = change.level if change.client == _CLAUDE_CODE else InstallLevel.FULL
    yield f"Remit in {title}: {_LEVELS[level] if change.client == _CLAUDE_CODE else 'its gateway'}"
    if plan.served:
        names = ", ".join(f"`{label}`" for label in plan.served)
        yield _row("serves", f"{names}; {title} stops loading them itself, and their entries stay")
    if level is InstallLevel.FULL:
        for label, reason in change.stays:
            yield _row("stays", f"`{label}` stays with {title}: {reason}")
    if plan.hooks:
        yield _row("hooks", "; ".join(_events(plan)))
    rules = [*dict.fromkeys([*plan.rules, *change.own_plan.rules])]
    for effect in dict.fromkeys(effect for effect, _ in rules):
        subjects = [subject for other, subject in rules if other == effect]
        yield _row("rules", f"{effect} {_first(subjects)}")
    yield _row("files", _paths(change.files))
    if change.refusal is not None:
        yield _row("warning", f"{change.refusal}; {change.refusal.hint or ''}".rstrip("; "))
    if level is InstallLevel.FULL and _has_levels(change):
        yield _row("instead", "--hooks-only: without the gateway; --context-only: without rules, too")
    yield _row("undo", _undo(change.client, change.is_managed))


def _row(label: str, text: str) -> Line:
    return ((f"  {label:<8} ", "dim"), (text, ""))


def _events(plan: Plan) -> Iterator[str]:
    """Name each event that runs Remit, with the tools it is limited to."""
    for event in dict.fromkeys(event for event, _ in plan.hooks):
        matchers = [matcher for other, matcher in plan.hooks if other == event and matcher]
        names = [name for matcher in matchers if matcher[0] != "^" for name in matcher.split("|")]
        others = ["tools of servers"] if any(matcher[0] == "^" for matcher in matchers) else []
        yield event + (f" ({_first([*names, *others])})" if matchers else "")


def _first(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST:,} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more


def _undo(client: str, is_managed: bool) -> str:
    return f"remit uninstall {client}" + (" --managed" if is_managed else "")


def _ask(question: str, change: Change) -> InstallLevel | None:
    """Ask about the change as it is shown; return its level, another to show instead, or None for no."""
    if not sys.stdin.isatty():
        raise click.ClickException(NO_TERMINAL)
    levels = {"h": InstallLevel.HOOKS, "c": InstallLevel.CONTEXT, "g": InstallLevel.FULL}
    others = [key for key, level in levels.items() if level is not change.level and _has_levels(change)]
    choices = click.Choice(["y", "n", "d", *others], case_sensitive=False)
    words = ", ".join(("[y]es, [n]o, [d]iff", *(_CHOICES[key] for key in others)))
    while True:
        answer = click.prompt(f"{question} {words}", type=choices, default="n", show_choices=False, err=True)
        if answer == "d":
            render.note(diff_lines(change.files))
        elif answer == "y":
            return change.level
        else:
            return levels.get(answer)


def _has_levels(change: Change) -> bool:
    return change.client == _CLAUDE_CODE and not change.is_managed


def offer_trust(registry: "Registry", installer: Installer, client: str, *, yes: bool) -> None:
    """Ask which projects' servers, already approved in the client, Remit may start; --yes only lists them."""
    for context, waiting in _approved(registry, installer, client):
        render.note(f"Servers of {context.workspace.dir} that the client may start:")
        for item in waiting:
            render.note(server_lines(item, context))
        agreed = [item for item in waiting if not yes and _is_agreed(item)]
        grant(registry.store, agreed, context, clock())
        for item in agreed:
            render.out(f"trusted: {label_of(item)}")
        if left := [label_of(item) for item in waiting if item not in agreed]:
            render.note(f"warning: not trusted, so Remit does not serve them: {', '.join(left)}")
            render.note("hint: in that directory, run `remit trust`")


def _approved(
    registry: "Registry", installer: Installer, client: str
) -> Iterator[tuple[Context, list[ServerTrust]]]:
    seen: set[str] = set()
    for directory in dict.fromkeys((*installer.projects(client), ".")):
        try:
            context = registry.at(directory, client)
        except NotFoundError:
            continue
        if context.workspace.dir not in seen:
            seen.add(context.workspace.dir)
            waiting = [
                item
                for item in project_servers(registry, context)
                if item.declaration.status is Status.ENABLED and not item.is_trusted and item.lines
            ]
            if waiting:
                yield context, waiting


def _is_agreed(item: ServerTrust) -> bool:
    question = f"Trust `{render.printable(label_of(item))}`, so Remit may start it as shown?"
    return sys.stdin.isatty() and click.confirm(question, err=True)


def _warn(client: str, title: str, *, is_managed: bool) -> None:
    """Warn of what the installed Remit would lack, and of a Python that may vanish."""
    from remit.installation import short_lived

    for name in [] if is_managed else unrecorded(os.environ):
        render.note(
            f"warning: {name} holds a secret, so it is not recorded: the installed Remit runs without it"
        )
    if (found := short_lived(sys.prefix)) is not None:
        render.note(f"warning: this Remit is in {found.kind}, {found.path}")
        render.note(f"  {title} cannot start Remit once that is deleted or moved")
        render.note(f"hint: {found.lasting}; then run `remit install {client}`")
    if is_managed and not _can_others_run(sys.executable):
        render.note(f"warning: other users cannot run {sys.executable}: their calls would all be blocked")
        render.note("hint: install Remit in a directory that all users can read, such as /opt/remit")
    if not is_managed and os.path.exists(record_path(client, this_machine(), is_managed=True)):
        render.note("warning: an administrator already installed Remit for every user of this machine")


def _can_others_run(path: str) -> bool:
    folders = (folder for each in (path, os.path.realpath(path)) for folder in Path(each).parents)
    return os.name == "nt" or all(folder.stat().st_mode & stat.S_IXOTH for folder in folders)


def _require_administrator(changes: Sequence[PlannedChange]) -> None:
    for change in changes:
        if not is_writable(change.path):
            raise InstallError(
                f"you cannot write {change.path}: --managed needs an administrator",
                hint="run it as an administrator (`sudo`), or omit --managed to install it only for you",
            )


def diff_lines(changes: Sequence[PlannedChange]) -> Iterator[Line]:
    """Write the changed parts alone, without secrets: the rest of a file may hold some."""
    if not changes:
        yield "Nothing would change."
    for change in changes:
        yield f"--- {change.path if change.before is not None else 'no file'}"
        yield f"+++ {change.path if change.after is not None else 'no file'}"
        for part in differences(change.before or "", change.after or ""):
            yield f"@@ line {part.line}, column {part.column} @@"
            yield from (f"-{line}" for line in _STRING.sub(_redacted, part.removed).splitlines())
            yield from (f"+{line}" for line in part.inserted.splitlines())


def _redacted(match: re.Match[str]) -> str:
    try:
        value = str(json.loads(match[0]))
    except ValueError:
        return match[0]
    shown = redact_url(value) if "://" in value else HIDDEN if may_be_secret(value) else value
    return match[0] if shown == value else json.dumps(shown, ensure_ascii=False)


def _paths(changes: Sequence[PlannedChange]) -> str:
    return " and ".join(from_home(change.path) for change in changes if change.is_change) or "nothing"


def from_home(path: str) -> str:
    """Write a path relative to the home directory where it can be."""
    home = os.path.expanduser("~") + os.sep
    return f"~{os.sep}{path.removeprefix(home)}" if path.startswith(home) else path


@click.command()
@click.argument("client", required=False)
@_MANAGED
@_DRY_RUN
@YES
def uninstall(client: str | None, *, managed: bool, dry_run: bool, yes: bool) -> None:
    """Remove Remit from a client.

    Files that did not change after the install are restored to the last byte; from other files, only Remit's
    part is removed. Asks for confirmation. Exits with 1 if Remit is not installed there. You can omit CLIENT
    if Remit is installed in one client only; otherwise this lists the clients and changes nothing.
    """
    installer = open_installer(is_managed=managed)
    name = _only_installed(installer, managed) if client is None else installer.client(client)
    try:
        plan = installer.plan_removal(name)
    except FileChangeError:
        raise
    except InstallError as error:  # there is nothing to remove
        raise NotFoundError(str(error)) from None
    if dry_run:
        render.paged(diff_lines([change for change in plan.changes if change.is_change]))
        return
    require_person("uninstall Remit", yes=yes)
    if managed:
        _require_administrator([change for change in plan.changes if change.is_change])
    title = installer.title(name)
    render.note(f"This changes {_paths(plan.changes)}. To see how: {_undo(name, managed)} --dry-run")
    confirm(f"Remove Remit from {title}?", yes=yes, declined=f"{title} was not changed.")
    name_change(_undo(name, managed))
    done = installer.uninstall(name)
    render.out(f"Removed from {title}: restored {_paths(done.changes)}.")
    for change in done.changes:
        for key in change.left:
            render.note(
                f"warning: `{key}` in {change.path} changed after the install: check what is left of it"
            )
    if not managed:
        render.note(leftover_lines(_known_projects()))


def _only_installed(installer: Installer, is_managed: bool) -> str:
    """Return the only client that Remit is installed in; if there is none or a choice, end the command."""
    from remit.clients import CLIENTS

    folder = os.path.dirname(record_path("", this_machine(), is_managed=is_managed))
    names = [name for name in CLIENTS if os.path.exists(os.path.join(folder, f"{name}.json"))]
    if len(names) == 1:
        return names[0]
    choice = "Nothing was changed. Remit is installed in several clients; choose one:"
    render.out(choice if names else "Remit is not installed in any client.")
    render.out(f"  {installer.title(name)}: {_undo(name, is_managed)}" for name in names)
    sys.exit(NOTHING_DONE)


def _known_projects() -> list[str]:
    try:
        with open_registry() as registry:
            return [project.path for project in registry.store.catalog.projects()]
    except StoreError:  # uninstalling must not need a store that works
        return []


def leftover_lines(projects: Sequence[str], *, data: bool = True) -> Iterator[Line]:
    """List what of Remit's stays on the disk, and how to remove it."""
    from remit.installation import own_environment

    machine = this_machine()
    rules = os.path.dirname(machine_path(machine))
    own = [(data_directory(machine), "history, trust, memory"), (rules, "your rules")] if data else []
    shared = [
        (os.path.join(project, file), "for everyone in this project")
        for project in projects
        for file in ("remit.toml", "remit.lock")
    ]
    found = [(path, content) for path, content in [*own, *shared] if os.path.lexists(path)]
    if found:
        yield "Still on the disk:"
        yield from (f"  {from_home(path)}: {content}" for path, content in found)
    if data:
        yield f"hint: to remove the command: {own_environment().remove_command()}"
