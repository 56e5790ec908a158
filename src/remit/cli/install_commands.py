"""`remit install` and `remit uninstall`."""

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import click

from remit.bootstrap import has_managed_install, open_installer, open_registry, uses_shared_store
from remit.cli import render
from remit.cli.approvals.person_check import require_person
from remit.cli.onboarding import client_install, leftovers
from remit.cli.onboarding.client_install import paths
from remit.cli.options import NOTHING_DONE, YES, confirm, name_change
from remit.cli.render import note
from remit.decision.tool_names import SERVER
from remit.errors import FileChangeError, InstallError, StoreError
from remit.files.bounded_reader import this_machine
from remit.files.safe_changes import is_writable
from remit.files.text_diff import TextDifference, differences
from remit.install.install_record import Edit
from remit.install.installer import FileChange, Installer
from remit.install.recorded_environment import unrecorded
from remit.text.redaction import HIDDEN, redact_url
from remit.text.secrets import may_be_secret

_DRY_RUN = click.option("--dry-run", is_flag=True, help="Show the changes without making them.")
_MANAGED = click.option(
    "--managed",
    is_flag=True,
    help="For every user of this machine; needs an administrator (Claude Code only).",
)
_STRING = re.compile(r'"(?:\\.|[^"\\])*+"')


@click.command()
@click.argument("client", metavar="CLIENT", required=False)
@_MANAGED
@_DRY_RUN
@YES
def install(client: str | None, *, managed: bool, dry_run: bool, yes: bool) -> None:
    """Install Remit in a client.

    CLIENT is claude-code, codex, gemini-cli, opencode, claude-desktop, cursor or vscode. Remit becomes one of
    the client's servers; in Claude Code it also gets hooks. In the first four, Remit serves all other servers
    in the client's place: their entries stay and are only switched off. The other three have no such switch:
    the command says how to do that by hand. Asks for confirmation, then about each project server that the
    client has approved; with --yes, those are only listed.

    With --managed, Remit goes into the client's managed settings and its managed-mcp.json: users and
    repositories cannot disable it, and the client loads no other server. Run it as an administrator,
    and again after you change the administrator's remit.toml.
    """
    if client is None:
        names = ", ".join(f"`{each}`" for each in open_installer(is_managed=managed).clients)
        raise click.UsageError(f"name a CLIENT: {names}")
    if managed:
        _install_for_all(client, dry_run=dry_run, yes=yes)
        return
    installer = open_installer()
    name = installer.client(client)
    changes = installer.plan(name)
    client_install.warn_of_unrecorded(unrecorded(os.environ, is_shared=uses_shared_store()))
    if has_managed_install(name):
        note("warning: an administrator already installed Remit for every user of this machine")
        note(f"hint: `remit install {name}` adds a second set of hooks; you do not need it")
    if dry_run:
        _summarize(changes, installer.edits(name))
        client_install.explain_takeover(installer, name)
        _diff(changes)
        client_install.offer_trust(installer, name, yes=False, is_asked=False)
        return
    if not client_install.install_in(installer, name, yes=yes):
        sys.exit(NOTHING_DONE)


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
    if client is None:
        name = _only_installed(installer, option=" --managed" if managed else "")
    else:
        name = installer.client(client, verb="removed from")
    changes = installer.plan_removal(name)
    if dry_run:
        _diff(changes)
        return
    require_person("uninstall Remit")
    if managed:
        _require_administrator(changes)
    title = installer.title(name)
    note(f"This changes {paths(changes)}. To see how: remit uninstall {name} --dry-run")
    confirm(
        f"Remove Remit from {title}?",
        yes=yes,
        declined=f"Remit stays installed in {title}; nothing was changed.",
    )
    name_change(f"remit uninstall {name}")
    changes = installer.uninstall(name)
    render.out(f"Removed from {title}: restored {paths(changes)}.")
    for change in changes:
        for key in change.left:
            where = render.printable(change.path)
            note(f"warning: `{key}` in {where} changed after the install: only Remit's part was removed")
            note(f"hint: check what is left of `{key}`")
    if not managed:
        _show_what_stays(installer)


def _only_installed(installer: Installer, *, option: str) -> str:
    """Return the only client that Remit is installed in; if there is none or a choice, end the command."""
    found = [name for name in installer.clients if installer.is_installed(name)]
    if len(found) == 1:
        return found[0]
    choice = "Nothing was changed. Remit is installed in several clients; choose one:"
    render.out(choice if found else "Remit is not installed in any client.")
    for name in found:
        render.out(f"  {installer.title(name)}: remit uninstall {name}{option}")
    sys.exit(NOTHING_DONE)


def _show_what_stays(installer: Installer) -> None:
    """List what of Remit's stays on the disk, and how to remove it once no client needs it."""
    found = list(leftovers.leftovers(_known_projects(), this_machine()))
    leftovers.show(found)
    if uses_shared_store():
        note("Your PostgreSQL store stays as it is, too.")
    try:
        left = [installer.title(name) for name in installer.clients if installer.is_installed(name)]
    except FileChangeError:  # the record of another client, which may be installed
        return
    if left:
        note(f"Remit is still installed in {', '.join(left)}, which needs them.")
    else:
        leftovers.hint_removal(found)


def _known_projects() -> list[str]:
    try:
        with open_registry() as registry:
            return [project.path for project in registry.projects.all()]
    except StoreError:  # uninstalling must not need a store that works
        return []


def _install_for_all(client: str, *, dry_run: bool, yes: bool) -> None:
    installer = open_installer(is_managed=True)
    name = installer.client(client)
    changes = installer.plan(name)
    if dry_run:
        _diff(changes)
        return
    _require_administrator(changes)
    title = installer.title(name)
    if any(change.is_change for change in changes):
        note(f"Remit changes {paths(changes)}; `remit install {name} --managed --dry-run` shows how.")
        client_install.warn_of_vanishing(name, title)
        client_install.warn_of_private(sys.executable)
        confirm(f"Install Remit in {title}?", yes=yes)
        render.out(f"Installed in {title}: changed {paths(installer.install(name))}.")
    else:
        installer.install(name)  # restores a lost record
        render.out(f"Already installed in {title}; nothing was changed.")
    note("hint: hooks of users and repositories still run; to stop them, set `allowManagedHooksOnly` to true")
    note("hint: a repository's `deniedMcpServers` can still remove the gateway; the hooks report that")


def _require_administrator(changes: Sequence[FileChange]) -> None:
    """Fail before anything is asked or changed.

    Raises:
        InstallError: this user cannot change the files.
    """
    for change in changes:
        if change.is_change and not is_writable(change.path):
            raise InstallError(
                f"you cannot write {change.path}: --managed needs an administrator",
                hint="run it as an administrator (`sudo`), or omit --managed to install it only for you",
            )


def _summarize(changes: Sequence[FileChange], edits: Mapping[str, Sequence[Edit]]) -> None:
    """Say what would change in each file, before the exact text."""
    for change in changes:
        if not change.is_change:
            continue
        marks = [line[0] for each in _differences(change) for line in _hunk(each)]
        count = f"{render.plural(marks.count('+'), 'line')} added, {marks.count('-'):,} removed"
        path, is_new = render.printable(client_install.shortened(change.path)), change.before is None
        note(f"{'Would create' if is_new else 'Would change'} {path}: {count}.")
        for line in _outline(edits.get(change.path, ())):
            for each in render.wrapped(line, "  ", "    "):
                note(each)


def _outline(edits: Sequence[Edit]) -> Iterator[str]:
    """Sum up what would be written: the server, the hooks by name, the rules, and other keys."""
    own = [each for each in edits if each.switches is None]
    servers = [each.path[-1] for each in own if len(each.path) == 2 and each.path[-1] == SERVER]
    hooks = list(dict.fromkeys(each.path[1] for each in own if each.path[0] == "hooks"))
    rules = Counter(each.path[1] for each in own if each.path[0] == "permissions")
    others = dict.fromkeys(
        ".".join(each.path) for each in own if each.path[0] not in ("hooks", "permissions")
    )
    if servers:
        yield f"1 server: `{SERVER}`"
    if hooks:
        yield f"{render.plural(len(hooks), 'hook')}: {', '.join(hooks)}"
    if rules:
        counts = ", ".join(f"{count} `{word}`" for word, count in rules.items())
        yield f"{render.plural(rules.total(), 'permission rule')}: {counts}"
    for key in others:
        if key.rpartition(".")[2] != SERVER:
            yield _MEANINGS.get(key, f"`{key}`")
    if switched := [each.switches for each in edits if each.switches is not None]:
        yield f"switched off, because Remit serves them: {render.quoted(switched)}"


_MEANINGS = {
    "allowedMcpServers": "`allowedMcpServers`: the client itself loads only Remit",
    "disabledMcpjsonServers": "`disabledMcpjsonServers`: no project can bring a server called `remit`",
}


def _diff(changes: Sequence[FileChange]) -> None:
    """Print only the changed parts: the rest of a file may hold secrets."""
    lines: list[str] = []
    for change in changes:
        if not change.is_change:
            continue
        path = render.printable(change.path)
        lines.append(f"--- {path if change.before is not None else 'no file'}")
        lines.append(f"+++ {path if change.after is not None else 'no file'}")
        lines += [line for difference in _differences(change) for line in _hunk(difference)]
    render.page(lines or ["Nothing would change."])


def _differences(change: FileChange) -> Iterator[TextDifference]:
    return differences(change.before or "", change.after or "")


def _hunk(difference: TextDifference) -> Iterator[str]:
    yield f"@@ line {difference.line}, column {difference.column} @@"
    for mark, text in (("-", _redacted(difference.removed)), ("+", difference.inserted)):
        for line in text.splitlines():
            yield mark + "\t".join(map(render.printable, line.split("\t")))


def _redacted(text: str) -> str:
    return _STRING.sub(_string, text)


def _string(match: re.Match[str]) -> str:
    try:
        value = str(json.loads(match[0]))
    except ValueError:
        return match[0]
    shown = redact_url(value) if "://" in value else HIDDEN if may_be_secret(value) else value
    return match[0] if shown == value else json.dumps(shown, ensure_ascii=False)
