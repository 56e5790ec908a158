"""`remit init`: sets Remit up step by step, and shows each change before it asks."""

import sys
from typing import TYPE_CHECKING

import click

from remit.bootstrap import open_installer, open_registry
from remit.catalog import SortKey, group_tools
from remit.cli import render
from remit.cli.install import install_in, offer_trust
from remit.cli.options import NO_TERMINAL, NOTHING_DONE, YES, Here, agrees, name_change
from remit.cli.overview import (
    ask_servers,
    cost_lines,
    first_texts,
    is_startable,
    place,
    read_overview,
    saving,
)
from remit.config import machine_path, personal_path, read_table, set_key
from remit.decision import Context
from remit.errors import InstallError, NotFoundError
from remit.files import this_machine
from remit.text import plural
from remit.trust import entry_lines

if TYPE_CHECKING:
    from remit.catalog import Registry
    from remit.clients import Installer

_CLAUDE_CODE = "claude-code"
_NO_CLIENT = "No client was found on this machine: Remit looks for Claude Code, Cursor, VS Code and others."


@click.command()
@YES
def init(*, yes: bool) -> None:
    """Set up Remit, step by step.

    Finds your clients, starts their servers to list their tools, shows what the tools cost and what Remit
    would save, and installs Remit in the clients you choose. Asks before each step. --yes answers yes to all
    questions but two: servers of a project need `remit trust`, and memory stays off.
    """
    if not (yes or sys.stdin.isatty()):
        raise click.ClickException(NO_TERMINAL)
    installer = open_installer()
    with open_registry() as registry:
        overview = read_overview(registry, Here())
        context = overview.context
        if not overview.clients:
            render.out(_NO_CLIENT)
            render.note("hint: install one of them and add a server to it, or run `remit demo`")
            sys.exit(NOTHING_DONE)
        render.out(f"1. Clients on this machine, in {place(context)}")
        render.out(f"   {client.title}: {plural(client.servers, 'server')}" for client in overview.clients)
        render.out("")
        render.out("2. Tools and what they cost")
        client = context.client or _CLAUDE_CODE
        offer_trust(registry, installer, client, yes=yes)  # before the measurement, or they would not count
        _measure(registry, context, yes=yes)
        render.out("")
        render.out("3. Install")
        for found in overview.clients:
            _install(registry, installer, found.name, is_asked=found.name == client, yes=yes)
        render.out("")
        render.out("4. Memory")
        _offer_memory(context, yes=yes)


def _measure(registry: "Registry", context: Context, *, yes: bool) -> None:
    """Start the servers, if the user agrees, and show what each of them costs."""
    declared = registry.catalog(context).declarations
    startable = {
        tool.server or "": launch
        for tool, decision in registry.tools(context)
        if is_startable(tool) and decision.is_available and tool.is_trusted is not False
        if tool.key in declared and (launch := declared[tool.key].declaration.launch) is not None
    }
    if startable:
        render.out("   To list their tools, Remit starts each server once, as your client does:")
        render.out(f"     {label}: {entry_lines(launch)[0]}" for label, launch in startable.items())
        if agrees("   Start these servers now?", yes=yes):
            ask_servers(registry, context, [*startable])
    else:
        render.out("   No server can be started here.")
    cost = registry.request_cost(context, first_texts(registry, context))
    groups = group_tools(registry.tools(context), SortKey.TOKENS, costs=cost.by_server).servers
    rows = [
        (group.label, str(group.visible), f"{group.first.tokens or 0:,}")
        for group in groups
        if group.is_available and group.is_known
    ]
    render.out(render.table(("server", "tools", "tokens"), rows, numbers=("tools", "tokens"), indent=5))
    render.out(f"   {line}" for line in cost_lines(cost, context))
    if cost.alone and saving(cost) < 0:
        render.out("   Remit would not save tokens here; it still makes rules and approvals count.")


def _install(registry: "Registry", installer: "Installer", client: str, *, is_asked: bool, yes: bool) -> None:
    """Offer to install Remit in a client."""
    try:
        name = installer.client(client)
        if installer.level(name) is not None:
            render.out(f"   Already installed in {installer.title(name)}.")
            return
        install_in(registry, installer, name, yes=yes, asks_trust=not is_asked)
    except (InstallError, NotFoundError) as error:
        render.warning(error)


def _offer_memory(context: Context, *, yes: bool) -> None:
    """Ask apart from the rest whether agents keep a memory of this project; no by default."""
    machine = this_machine()
    paths = (personal_path(context.workspace, machine), machine_path(machine))
    if any(read_table(path).get("memory", {}).get("enabled") for path in paths):
        render.out("   Memory is on.")
        return
    render.out("   Agents can keep decisions and notes of this project for later sessions, on this machine.")
    if yes or not click.confirm("   Switch it on for this project?", default=False, err=True):
        render.out("   Memory stays off; `remit memory on` switches it on.")
        return
    name_change("remit memory on")
    set_key(paths[0], ("memory", "enabled"), value=True)
    render.out("   Memory is on here; `remit memory off` switches it off.")
