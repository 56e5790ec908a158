"""`remit install` and `remit uninstall`."""

import json
import os
import re
import shlex
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from remit.bootstrap import (
    diagnose,
    has_managed_install,
    open_installer,
    open_registry,
)
from remit.cli import render, server_output
from remit.cli.options import confirm, name_change
from remit.decision.context import Context
from remit.decision.decide import ToolDecision
from remit.decision.kinds import COULD_RUN, ConfigStatus
from remit.decision.problems import Severity
from remit.decision.tool_names import SERVER
from remit.errors import InstallError, RemitError
from remit.files.safe_changes import is_writable
from remit.files.text_diff import TextDifference, differences
from remit.install.ground import unrecorded
from remit.install.installer import FileChange, Installer
from remit.registry import Registry
from remit.settings import KEY
from remit.text.redaction import HIDDEN, redact_url
from remit.text.secrets import may_be_secret
from remit.trust.trust_rule import ServerTrust

_DRY_RUN = click.option("--dry-run", is_flag=True, help="Print what would be changed, and change nothing.")
_YES = click.option("--yes", "-y", is_flag=True, help="Do not ask.")
_MANAGED = click.option(
    "--managed", is_flag=True, help="For every user of this machine; Claude Code only, by an administrator."
)
_INSTEAD = "put the key into a file, set REMIT_EMBEDDINGS_KEY_FILE to its path, and install again"
_STRING = re.compile(r'"(?:\\.|[^"\\])*+"')
_CACHE = re.compile(r"[\\/](?:archive-v\d+|environments-v\d+|pipx[\\/]\.cache)[\\/]")
_NARROWED = "claude-code"  # the client that loads only Remit afterwards


@click.command()
@click.argument("client")
@_MANAGED
@_DRY_RUN
@_YES
def install(client: str, *, managed: bool, dry_run: bool, yes: bool) -> None:
    """Install Remit in a client.

    CLIENT is claude-code, claude-desktop, cursor, vscode, codex or gemini-cli. Remit becomes one of the
    client's servers; in Claude Code it also gets hooks, and serves all other servers in the client's place.
    No declaration of a server is moved, copied or changed. Asks first, unless --yes is given. Then asks about
    each project server that the client has approved; with --yes, those are only listed.

    With --managed, the client's managed settings get the hooks, and its managed-mcp.json the server: no user
    and no repository can switch them off, and the client loads no other server. Run it as an administrator,
    and again after you change the administrator's remit.toml.
    """
    if managed:
        _install_for_all(client, dry_run=dry_run, yes=yes)
        return
    installer = open_installer()
    name = installer.client(client)
    changes = installer.plan(name)
    _warn_of_unrecorded(unrecorded(os.environ))
    if has_managed_install(name):
        _say("warning: an administrator has installed Remit for every user of this machine already")
        _say(f"hint: `remit install {name}` adds a second set of hooks; you do not need it")
    if dry_run:
        _diff(changes)
        _trust(installer, name, yes=False, is_asked=False)
        return
    title = installer.title(name)
    if any(change.is_change for change in changes):
        if installer.is_new(name):
            _say(f"{title} has no files here yet: they are made for it to find.")
        _say(f"Remit changes {_paths(changes)}; `remit install {name} --dry-run` shows how.")
        _warn_of_cache(sys.executable)
        confirm(f"Put Remit into {title}?", yes=yes)
        name_change(f"remit install {name}")
        changes = installer.install(name)
        render.out(f"Remit is in {title}: changed {_paths(changes)}.")
    else:
        installer.install(name)  # restores a lost record
        render.out(f"Remit is in {title} already; nothing was changed.")
    _trust(installer, name, yes=yes, is_asked=True)
    _after(installer, name)


@click.command()
@click.argument("client")
@_MANAGED
@_DRY_RUN
@_YES
def uninstall(client: str, *, managed: bool, dry_run: bool, yes: bool) -> None:
    """Remove Remit from a client.

    Files that nobody else wrote to since are restored to the last byte; from others only what Remit put in is
    taken out. Asks first, unless --yes is given. Exits with 1 when Remit is not in the client.
    """
    installer = open_installer(is_managed=managed)
    name = installer.client(client)
    changes = installer.plan_removal(name)
    if dry_run:
        _diff(changes)
        return
    if managed:
        _require_administrator(changes)
    title = installer.title(name)
    confirm(f"Take Remit out of {title}, which changes {_paths(changes)}?", yes=yes)
    name_change(f"remit uninstall {name}")
    changes = installer.uninstall(name)
    render.out(f"Remit is out of {title}: restored {_paths(changes)}.")
    for change in changes:
        for key in change.left:
            where = render.printable(change.path)
            _say(f"warning: `{key}` in {where} was changed since: only Remit's part was taken out of it")
            _say(f"hint: look at what is left of `{key}`")


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
        _say(f"Remit changes {_paths(changes)}; `remit install {name} --managed --dry-run` shows how.")
        _warn_of_cache(sys.executable)
        _warn_of_private(sys.executable)
        confirm(f"Install Remit in {title}?", yes=yes)
        render.out(f"Installed in {title}: changed {_paths(installer.install(name))}.")
    else:
        installer.install(name)  # restores a lost record
        render.out(f"Already installed in {title}; nothing was changed.")
    _say("hint: hooks of users and repositories still run; to stop them, set `allowManagedHooksOnly` to true")
    _say("hint: a repository's `deniedMcpServers` can still remove the gateway; the hooks report that")


def _require_administrator(changes: Sequence[FileChange]) -> None:
    """Fail before anything is asked or changed.

    Raises:
        InstallError: this user cannot change the files.
    """
    for change in changes:
        if change.is_change and not is_writable(change.path):
            raise InstallError(
                f"you cannot write {change.path}: --managed needs an administrator",
                hint="run it as an administrator (`sudo`); leave --managed out to install it for you alone",
            )


def _warn_of_unrecorded(names: Sequence[str]) -> None:
    """Warn about variables that the installed processes will not have."""
    for name in names:
        _say(f"warning: {name} holds a secret, so it is not recorded: the installed Remit runs without it")
        _say(f"hint: {_INSTEAD if name == KEY else f'set {name} to a proxy without a password'}")


def _warn_of_private(path: str) -> None:
    """Warn about a Python that only its owner can run: the hooks of all others would block every call."""
    folders = (folder for each in (path, os.path.realpath(path)) for folder in Path(each).parents)
    if os.name != "nt" and not all(folder.stat().st_mode & stat.S_IXOTH for folder in folders):
        _say(f"warning: other users cannot run {render.printable(path)}: their calls would all be blocked")
        _say("hint: install Remit in a directory that all users can read, such as /opt/remit; run that one")


def _warn_of_cache(path: str) -> None:
    """Warn about a runner such as `uvx`, whose cache is temporary."""
    if _CACHE.search(path):
        _say(f"warning: this Remit is in a cache, which may be emptied: {render.printable(path)}")
        _say("hint: install it for good (`uv tool install remit`, `pipx install remit`), and run that one")


def _paths(changes: Sequence[FileChange]) -> str:
    paths = [render.printable(change.path) for change in changes if change.is_change]
    return " and ".join(paths) or "nothing"


def _diff(changes: Sequence[FileChange]) -> None:
    """Print only the changed parts: the rest of a file may hold secrets."""
    for change in changes:
        if not change.is_change:
            continue
        path = render.printable(change.path)
        render.out(f"--- {path if change.before is not None else 'no file'}")
        render.out(f"+++ {path if change.after is not None else 'no file'}")
        for difference in differences(change.before or "", change.after or ""):
            for line in _hunk(difference):
                render.out(line)
    if not any(change.is_change for change in changes):
        render.out("Nothing would be changed.")


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


def _trust(installer: Installer, client: str, *, yes: bool, is_asked: bool) -> None:
    """Ask which projects' servers, already approved in the client, Remit may start."""
    with open_registry() as registry:
        for context, servers in _approved(installer, registry, client):
            _say(f"\nServers of {render.printable(context.workspace.dir)} that the client may start:")
            server_output.entries(servers, context, to_stderr=True)
            if not is_asked:
                _say("hint: you will be asked about each of them")
                continue
            agreed = [server for server in servers if not yes and _is_agreed(server)]
            registry.trust.grant(agreed, context)
            for server in agreed:
                render.out(f"trusted: {_label(server)}")
            if left := [_label(server) for server in servers if server not in agreed]:
                _say(f"warning: not trusted, so no agent has them: {', '.join(left)}")
                _say(f"hint: in that directory, run `remit trust {shlex.join(left)}`")


def _approved(
    installer: Installer, registry: Registry, client: str
) -> Iterator[tuple[Context, list[ServerTrust]]]:
    directories = dict.fromkeys((*installer.projects(client), "."))
    seen: set[str] = set()
    for directory in directories:
        try:
            context = registry.at(directory, client)
        except RemitError:
            continue
        if context.workspace.dir in seen:
            continue
        seen.add(context.workspace.dir)
        found = [
            server
            for server in registry.trust.servers(context)
            if server.config_status is ConfigStatus.ENABLED
            and not server.is_trusted
            and server.declaration.launch is not None
        ]
        if found:
            yield context, found


def _is_agreed(server: ServerTrust) -> bool:
    agent = server.declaration.agent
    user = "Remit may start it" if agent is None else f"agent `{render.printable(agent)}` may use it"
    question = f"Trust `{_label(server)}`, so {user} as shown?"
    return sys.stdin.isatty() and click.confirm(question, err=True)


def _label(server: ServerTrust) -> str:
    return render.printable(server.declaration.server or server.declaration.name)


def _after(installer: Installer, client: str) -> None:
    """Print obstacles and next steps."""
    title = installer.title(client)
    with open_registry() as registry:
        here = registry.at(".", client)
        findings = [item for item in diagnose(registry, here) if item.check == "install"]
        is_loaded = any(map(_could_run, registry.tools(here)))
    for finding in findings:
        word = "error" if finding.severity is Severity.ERROR else "warning"
        _say(f"{word}: {render.printable(finding.reason)}")
        _say(f"hint: {render.printable(finding.fix)}")
    if client != _NARROWED:
        if not is_loaded:
            _say(f"warning: {title} does not load it here: `remit why remit --client {client}` says why")
        _say(f"hint: {title} goes on loading its own servers, too: switch off there what Remit serves")
        return
    _say(f"From its next start on, {title} has its servers through Remit.")
    for label in installer.kept(client):
        _say(f"{render.printable(label)} stays with the client: Remit does not serve it")
    _say("hint: a remote server that wants a sign-in wants one of Remit: `remit login SERVER`")
    _say("hint: add servers with `remit add`: `claude mcp add` takes none that its list does not name")


def _could_run(item: ToolDecision) -> bool:
    """Tell whether a client loads Remit, now or after its user trusts the directory."""
    tool = item.tool
    return tool.server == SERVER and tool.config_status in COULD_RUN and tool.shadowed_by is None


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
