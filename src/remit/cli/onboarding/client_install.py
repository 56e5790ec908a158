"""Installs Remit in a client, with the questions and warnings that a person needs to see."""

import os
import shlex
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from remit.bootstrap import open_registry
from remit.cli import render
from remit.cli.options import agrees, name_change
from remit.cli.output import server_output
from remit.cli.render import note
from remit.clients.install_targets import PLACES
from remit.decision.context import Context
from remit.decision.decide import ToolDecision
from remit.decision.kinds import COULD_RUN, ConfigStatus
from remit.decision.problems import Severity
from remit.decision.tool_names import SERVER
from remit.doctor.diagnosis import diagnose
from remit.doctor.served_servers import kept_servers
from remit.errors import RemitError
from remit.install.installer import FileChange, Installer
from remit.install.own_command import short_lived
from remit.registry import Registry
from remit.settings import KEY
from remit.trust.trust_rule import ServerTrust

NARROWED = "claude-code"  # the client with a list of allowed servers: it loads only Remit afterwards
_INSTEAD = {
    KEY: "put the key into a file, set REMIT_EMBEDDINGS_KEY_FILE to its path, and install again",
    "PGPASSWORD": "put the password into `~/.pgpass`, or into the file that `store_password_file` names",
}


def install_in(installer: Installer, client: str, *, yes: bool, asks_trust: bool = True) -> bool:
    """Install Remit in a client, if the user agrees, and offer to trust the servers of projects."""
    title, changes = installer.title(client), installer.plan(client)
    if any(change.is_change for change in changes):
        if installer.is_new(client):
            note(f"{title} is not configured yet; its file would be created.")
        note(f"This changes {paths(changes)}. To see how: remit install {client} --dry-run")
        explain_takeover(installer, client)
        warn_of_vanishing(client, title)
        if not agrees(f"Install Remit in {title}?", yes=yes):
            note(f"{title} was not changed.")
            return False
        name_change(f"remit install {client}")
        summarize_install(installer.install(client), installer, client)
    else:
        installer.install(client)  # restores a lost record
        render.out(f"Already installed in {title}; nothing was changed.")
    is_more = asks_trust and offer_trust(installer, client, yes=yes, is_asked=True)
    if is_more and PLACES[client].takes_over:
        installer.install(client)  # Remit serves more now
    _after(installer, client)
    return True


def explain_takeover(installer: Installer, client: str) -> None:
    """Say before anything is written what becomes of the client's own servers."""
    title, switched = installer.title(client), installer.switched(client)
    if client == NARROWED:
        note("Scripts with `claude -p --allowedTools mcp__NAME` lose that permission, because Remit makes")
        note("the calls. Instead, add `mcp__NAME` to `permissions.allow` in ~/.claude/settings.json.")
        note("`claude mcp add` will be blocked; use `remit add`.")
    if switched:
        them = "it" if len(switched) == 1 else "them"
        note(f"Remit serves {render.quoted(switched)}, so {title} stops loading {them} itself.")
        entries = "Its entry stays: it is" if len(switched) == 1 else "Their entries stay: they are"
        note(f"{entries} only switched off, and `remit uninstall {client}` restores every byte.")
    elif not PLACES[client].takes_over:
        note(f"{title} has no setting in its files that Remit could use to switch off your servers, so it")
        note(f"keeps loading them next to Remit. After the install, {PLACES[client].steps}.")


def summarize_install(changes: Sequence[FileChange], installer: Installer, client: str) -> None:
    """Say in a few lines what was changed, what was not, and how to undo it."""
    title, switched = installer.title(client), installer.switched(client)
    others = "Remit serves them" if PLACES[client].takes_over else f"{title} still loads them, too"
    render.out(f"Installed in {title}.")
    render.out(f"  changed    {paths(changes)}")
    if switched:
        render.out(f"  served     {render.quoted(switched)}, now through Remit and switched off in {title}")
    else:
        render.out(f"  unchanged  the entries of your other servers: {others}")
    render.out(f"  starts     the next time you start {title}")
    render.out(f"  undo       remit uninstall {client}")


def paths(changes: Sequence[FileChange]) -> str:
    """Name the changed files."""
    found = [shortened(change.path) for change in changes if change.is_change]
    return " and ".join(map(render.printable, found)) or "nothing"


def shortened(path: str) -> str:
    """Write a path relative to the home directory where it can be."""
    home = os.path.expanduser("~")
    return f"~{path.removeprefix(home)}" if path.startswith(home + os.sep) else path


def warn_of_unrecorded(names: Sequence[str]) -> None:
    """Warn about variables that the installed processes will not have."""
    for name in names:
        note(f"warning: {name} holds a secret, so it is not recorded: the installed Remit runs without it")
        note(f"hint: {_INSTEAD.get(name, f'set {name} to a proxy without a password')}")


def warn_of_private(path: str) -> None:
    """Warn about a Python that only its owner can run: the hooks of all others would block every call."""
    folders = (folder for each in (path, os.path.realpath(path)) for folder in Path(each).parents)
    if os.name != "nt" and not all(folder.stat().st_mode & stat.S_IXOTH for folder in folders):
        note(f"warning: other users cannot run {path}: their calls would all be blocked")
        note("hint: install Remit in a directory that all users can read, such as /opt/remit; run that one")


def warn_of_vanishing(client: str, title: str) -> None:
    """Warn about an environment that may be deleted while the client still starts Remit from it."""
    found = short_lived(sys.prefix)
    if found is not None:
        note(f"warning: this Remit is in {found.kind}, {found.path}")
        note(f"  {title} cannot start Remit once that is deleted or moved")
        note(f"hint: {found.lasting}; then run `remit install {client}`")


def offer_trust(installer: Installer, client: str, *, yes: bool, is_asked: bool) -> bool:
    """Ask which projects' servers, already approved in the client, Remit may start; True if any."""
    is_any = False
    with open_registry() as registry:
        for context, servers in _approved(installer, registry, client):
            note("")
            note(f"Servers of {context.workspace.dir} that the client may start:")
            server_output.entries(servers, context, {}, to_stderr=True)
            if not is_asked:
                note("hint: you will be asked about each of them")
                continue
            agreed = [server for server in servers if not yes and _is_agreed(server)]
            registry.trust.grant(agreed, context)
            is_any = is_any or bool(agreed)
            for server in agreed:
                render.out(f"trusted: {_label(server)}")
            if left := [_label(server) for server in servers if server not in agreed]:
                note(f"warning: not trusted, so not available to agents: {', '.join(left)}")
                note(f"hint: in that directory, run `remit trust {shlex.join(left)}`")
    return is_any


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
        setups = registry.examine(here)
        is_loaded = any(map(_could_run, registry.tools(here)))
    findings = [item for item in diagnose(setups) if item.check == "install"]
    kept = [each for setup in setups for each in kept_servers(setup)]
    for finding in findings:
        word = "error" if finding.severity is Severity.ERROR else "warning"
        note(f"{word}: {finding.reason}")
        note(f"hint: {finding.fix}")
    if client != NARROWED:
        if not is_loaded:
            note(f"warning: {title} does not load it here: `remit why remit --client {client}` says why")
        for server, why in kept if PLACES[client].takes_over else ():
            note(f"`{server.server}` stays with {title}: {why}")
        if not PLACES[client].takes_over:
            note(f"hint: {title} still loads its own servers: {PLACES[client].steps}")
        return
    for label in installer.kept(client):
        note(f"{label} stays with the client: Remit does not serve it")
    note("hint: remote servers that need OAuth: run `remit login SERVER`")
    note("hint: `claude mcp add` is now blocked; use `remit add`")


def _could_run(item: ToolDecision) -> bool:
    """Tell whether a client loads Remit, now or after its user trusts the directory."""
    tool = item.tool
    return tool.server == SERVER and tool.config_status in COULD_RUN and tool.shadowed_by is None
