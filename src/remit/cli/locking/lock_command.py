"""`remit lock`: writes or checks the lock of a project's servers."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from remit.bootstrap import open_registry
from remit.bootstrap_gateway import open_upstreams
from remit.bootstrap_lock import ProjectServers, build_lock, project_servers
from remit.cli import render, server_output
from remit.cli.options import JSON, NOTHING_DONE, PROJECT
from remit.configuration.editable_file import EditableFile
from remit.configuration.lock_file import lock_text
from remit.decision.context import shorten
from remit.decision.definitions.project_lock import LOCK
from remit.trust.definition_diff import diff_lines
from remit.trust.lock_diff import lock_differences

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from remit.decision.context import Context
    from remit.decision.definitions.project_lock import ProjectLock
    from remit.registry import Registry
    from remit.scanning.live_listing import ServerListing


@click.command()
@PROJECT
@click.option("--check", is_flag=True, help="Compare the project with its lock, and write nothing.")
@click.option("--no-connect", is_flag=True, help="Do not start servers whose tools are not known yet.")
@JSON
def lock(*, project: str, check: bool, no_connect: bool, as_json: bool) -> None:
    """Write or check the lock of a project's servers.

    `remit.lock` is a file to commit. It contains the servers that the project's own files declare: their
    entries, packages and tool definitions, and the tools that each client and agent sees. Your own files do
    not count. Servers that you trust are started if their tools are not known yet.

    With a lock, Remit holds the servers and tools of the project that differ from it. Exits with 1 if a
    server could not be listed, if a changed definition is not accepted yet or, with --check, if the project
    differs from its lock.
    """
    with open_registry() as registry:
        context = replace(registry.at(project, registry.usual_client, is_headless=True), ignores_lock=True)
        servers = project_servers(registry, context)
        if not no_connect and servers.unlisted():
            servers = _listed(servers, registry, context)
        known = registry.configuration.current(context.workspace).compiled.policy.lock
        current = build_lock(servers, context)
        changed = registry.trust.pins.changed(context)
        diffs = {each.name: diff_lines(each.accepted, each.current) for each in changed}
        problems = registry.problems(context)
    render.problems(problems, context)
    missing = (
        []
        if no_connect
        else [f"{name} ({source}): its tools are not known" for source, name in servers.unlisted()]
    )
    path = os.path.join(context.workspace.checkout, LOCK)
    if check:
        found = _differences(known, current, diffs)
        _tell(found, missing, context, as_json=as_json)
    else:
        missing += [
            f"{tool.name}: its definition is not accepted; see `remit trust`" for tool in servers.held
        ]
        if not servers.held:
            EditableFile(path, checkout=context.workspace.checkout).write(lock_text(current))
        _tell_written(current, missing, shorten(path, context), is_written=not servers.held, as_json=as_json)
        found = []
    if found or missing:
        sys.exit(NOTHING_DONE)


def _listed(servers: ProjectServers, registry: Registry, context: Context) -> ProjectServers:
    """Connect to the servers whose tools are not known, as far as the user trusts them."""
    clients = {each.client for place in servers.unlisted() for each in servers.declared[place]}
    asked: dict[str, ServerListing] = {}
    for client in sorted(clients, key=lambda name: (name != registry.usual_client, name)):
        unlisted = [each for place in servers.unlisted() for each in servers.declared[place]]
        names = sorted({each.server or "" for each in unlisted if each.client == client})
        at = replace(registry.at(context.workspace.dir, client, is_headless=True), ignores_lock=True)
        with server_output.progress("asking servers") as show:
            found = (
                registry.servers.connect(at, open_upstreams(), names=names, on_progress=show) if names else []
            )
        for each in found:
            asked.setdefault(each.tool.server or "", each)
        servers = project_servers(registry, context)
    missing = {name for _, name in servers.unlisted()}
    server_output.warnings([each for name, each in asked.items() if name in missing])
    return servers


def _differences(
    known: ProjectLock | None, current: ProjectLock, diffs: Mapping[str, Sequence[str]]
) -> list[str]:
    if known is None:
        return ["there is no lock: run `remit lock`"]
    return ["the lock is invalid"] if known.problem else lock_differences(known, current, diffs)


def _tell(found: Sequence[str], missing: Sequence[str], context: Context, *, as_json: bool) -> None:
    """Print how a project differs from its lock."""
    if as_json:
        render.data({"differences": list(found), "unchecked": list(missing)})
        return
    for line in found:
        render.out(render.printable(line))
    for line in missing:
        render.note(f"not checked: {line}")
    if not (found or missing):
        render.out(f"{render.printable(shorten(context.workspace.checkout, context))} matches its lock.")


def _tell_written(
    current: ProjectLock, missing: Sequence[str], path: str, *, is_written: bool, as_json: bool
) -> None:
    """Print what a new lock contains."""
    if as_json:
        render.data(
            {"path": path if is_written else None, "servers": len(current.servers), "missing": list(missing)}
        )
        return
    if is_written:
        counted = sum(len(each.tools or ()) for each in current.servers.values())
        servers = render.plural(len(current.servers), "server")
        render.out(f"Locked {servers} and {render.plural(counted, 'tool')} in {path}.")
    for line in missing:
        render.note(f"not locked: {line}")
