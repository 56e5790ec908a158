"""`remit init`: sets Remit up step by step, with a question before each change."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

import click

from remit.bootstrap import open_installer, open_registry
from remit.bootstrap_gateway import open_upstreams
from remit.catalog.listed_groups import SortKey, group_tools
from remit.cli import render
from remit.cli.onboarding.client_install import install_in, offer_trust
from remit.cli.onboarding.dashboard import client_text, cost_text
from remit.cli.onboarding.overview import Overview, is_started, read_overview
from remit.cli.options import NO_TERMINAL, NOTHING_DONE, agrees
from remit.cli.output import server_output
from remit.cli.scan_command import embed_new_tools
from remit.decision.context import Context

if TYPE_CHECKING:
    from remit.decision.tools import Tool
    from remit.install.installer import Installer
    from remit.registry import Registry
    from remit.scanning.server_lists import ServerListing

_WIDTH = 77  # columns beside the indentation
_NO_CLIENT = """\
No client was found on this machine: Remit looks for Claude Code, Cursor, VS Code and others.
hint: install one of them and add a server to it, or run `remit demo` to see Remit at work"""


@click.command()
@click.option("--yes", "-y", is_flag=True, help="Answer yes to every question, for scripts.")
def init(*, yes: bool) -> None:
    """Set up Remit, step by step.

    Finds your clients, starts their servers to list their tools, shows what the tools cost and what Remit
    would save, and installs Remit in the clients you choose. Asks before each step. --yes answers yes to all
    questions; servers of a project still need `remit trust`.
    """
    if not (yes or sys.stdin.isatty()):
        raise click.ClickException(NO_TERMINAL)
    installer = open_installer()
    with open_registry() as registry:
        overview = read_overview(registry, installer)
        if not overview.clients:
            render.out(_NO_CLIENT)
            sys.exit(NOTHING_DONE)
        render.out(f"1. Clients found for {render.place(overview.context)}")
        for client in overview.clients:
            render.out(f"   {render.printable(client_text(client))}")
    render.out("\n2. Tools and what they cost")
    client = overview.client
    asked = client.name if client is not None and client.is_installable else None
    if asked is not None:  # before measuring: a server that is not trusted would not be in the figures
        offer_trust(installer, asked, yes=yes, is_asked=True)
    with open_registry() as registry:
        overview = read_overview(registry, installer)
        if _list_servers(registry, overview.context, yes=yes):
            overview = read_overview(registry, installer)
        _show_cost(overview)
    render.out("\n3. Install")
    _install(overview, installer, asked, yes=yes)


def _list_servers(registry: Registry, context: Context, *, yes: bool) -> bool:
    """Start the client's servers, if the user agrees, and show what each of them costs."""
    available = [
        item.tool for item in registry.tools(context) if item.decision.is_available and is_started(item.tool)
    ]
    servers = [tool for tool in available if tool.is_trusted is not False]
    if untrusted := [tool.server or tool.name for tool in available if tool.is_trusted is False]:
        render.out(f"   Not trusted yet, so not started and not counted: {render.quoted(untrusted)}.")
        render.out("   `remit trust` shows what a project's servers run.")
    if not servers:
        render.out(f"   No {'other ' if untrusted else ''}server is available here.")
        return False
    render.out("   To measure them, Remit starts each server once, as your client does:")
    for line in _entries(servers, registry, context):
        render.out(f"     {render.printable(line)}")
    if not agrees("   Start these servers now?", yes=yes):
        render.out("   No server was started.")
        return False
    with server_output.progress("listing tools") as show:
        found = registry.servers.connect(context, open_upstreams(), on_progress=show)
    embed_new_tools(registry, context)
    server_output.warnings([each for each in found if each.tool.is_trusted is not False])
    _show_servers(found, registry, context)
    return True


def _entries(servers: Sequence[Tool], registry: Registry, context: Context) -> list[str]:
    """Write what each server runs or reaches, without secrets."""
    launches = {item.declaration.key: item.declaration.launch for item in registry.catalog.resolved(context)}
    width = max(len(server.server or "") for server in servers)
    lines: list[str] = []
    for server in servers:
        launch = launches.get(server.key)
        if launch is not None:
            text = server_output.entry_text(launch, server.source)
            what = text.url if launch.is_remote else shlex.join(text.command)
            lines.append(f"{server.server or '':<{width}}  {what}")
    return lines


def _show_servers(found: Sequence[ServerListing], registry: Registry, context: Context) -> None:
    asked = {each.tool.key for each in found if each.offer is not None and each.offer.failure is None}
    groups = group_tools(registry.tools(context), SortKey.TOKENS).servers
    rows = [
        (each.label, str(each.visible), f"{each.tokens or 0:,}") for each in groups if each.first.key in asked
    ]
    if rows:
        render.table("", ("server", "tools", "tokens"), rows, numbers=("tools", "tokens"))


def _show_cost(overview: Overview) -> None:
    if overview.cost.direct:
        for line in wrap(f"Tokens: {cost_text(overview)}.", _WIDTH):
            render.out(f"   {line}")


def _install(overview: Overview, installer: Installer, asked: str | None, *, yes: bool) -> None:
    """Offer to install Remit in each client that has servers and not Remit."""
    for client in overview.clients:
        if client.is_installed:
            render.out(f"   Already installed in {client.title}.")
        elif client.is_installable:
            install_in(installer, client.name, yes=yes, asks_trust=client.name != asked)
        else:
            render.out(
                f"   {client.title} has no installer: add the server `remit serve` to its configuration."
            )
