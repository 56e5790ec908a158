"""`remit lock`: writes or checks the lock of a project's servers."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from remit.bootstrap import clock, open_registry
from remit.catalog import ALL_CLIENTS, JoinedConfigurations
from remit.cli import render
from remit.cli.options import JSON, NOTHING_DONE
from remit.cli.overview import ask_servers
from remit.cli.render import Line
from remit.cli.trust import label_of, project_servers
from remit.config import LOCK, Configuration
from remit.decision import Context, Declaration, Kind, Workspace, shorten, trust_command
from remit.files import change_file, this_machine
from remit.text import plural
from remit.trust import Lock, build_lock, differences, lock_server, lock_text, losses, pending

if TYPE_CHECKING:
    from remit.catalog import Registry
    from remit.decision import Definition, Tool
    from remit.store import CatalogRow
    from remit.trust import LockedServer

_Pinned = tuple[str, "Definition"]


class _WithoutLock(JoinedConfigurations):
    """The configuration of each workspace as if it had no lock, which withholds what a new one is made of."""

    def current(self, workspace: Workspace) -> Configuration:
        return super().current(workspace)._replace(lock=None)


class _Gaps(NamedTuple):
    """What a lock made now would lack, in words for people."""

    unreviewed: Sequence[str]  # no lock is written with any
    unlisted: Sequence[str]


@click.command()
@click.option(
    "-C", "--project", "directory", metavar="DIR", default=".", help="The directory; default: here."
)
@click.option("--check", is_flag=True, help="Compare the project with its lock, and write nothing.")
@click.option("--no-connect", is_flag=True, help="Start no server: use the tools that are known.")
@JSON
def lock(*, directory: str, check: bool, no_connect: bool, as_json: bool) -> None:
    """Write or check the lock of a project's servers.

    `remit.lock` is a file to commit. It contains the servers that the project's own files declare: their
    entries, instructions and tool definitions. Your own files do not count. Servers that you trust are
    started, to list their tools.

    With a lock, Remit withholds the servers and tools of the project that differ from it. A lock is written
    only if there are any, you trust them all and accepted their definitions; an existing one only if all
    could be listed. Exits with 1 if not or, with --check, if the project differs from its lock.
    """
    with open_registry() as registry:
        context = registry.at(directory, ALL_CLIENTS, is_headless=True)
        known = _known(registry.config.current(context.workspace))
        registry.config = _WithoutLock(registry.store, this_machine(), clock)
        if not no_connect:
            _list_again(registry, context)
        current = _build(registry, context)
        gaps = _gaps(registry, context, current)
        unread = {os.path.relpath(problem.source, current.root) for problem in registry.problems(context)}
    path = os.path.join(context.workspace.checkout, LOCK)
    if check:
        found = (
            ["there is no lock: run `remit lock`"] if known is None else differences(known, current, unread)
        )
        missing: Sequence[str] = () if no_connect else gaps.unlisted
        if as_json:
            render.data({"differences": found, "unchecked": [*missing]})
        else:
            render.out(found if found or missing else [f"{shorten(path, context)} matches."])
            render.note(f"not checked: {line}" for line in missing)
        is_done = not (found or missing)
    else:
        lost = [*gaps.unreviewed, *losses(known, current)]
        if not lost:
            text = lock_text(current)
            change_file(path, lambda _: text, is_public=True)
        _tell(current, gaps, lost, None if lost else path, context, as_json=as_json)
        is_done = not (lost or gaps.unlisted)
    if not is_done:
        sys.exit(NOTHING_DONE)


def _known(configuration: Configuration) -> Lock | None:
    if configuration.lock is None:
        return None
    content, problem, root = configuration.lock
    return Lock.read(content, root, problem)


def _list_again(registry: "Registry", context: Context) -> None:
    """Ask the servers that are trusted, each for the first client that declares it."""
    left = {label_of(item) for item in project_servers(registry, context) if item.is_trusted}
    clients = dict.fromkeys(item.declaration.client for item in project_servers(registry, context))
    for client in clients:
        at = registry.at(context.workspace.dir, client, is_headless=True)
        here = {label_of(item) for item in project_servers(registry, at)} & left
        if here:
            ask_servers(registry, at, sorted(here))
            left -= here


def _build(registry: "Registry", context: Context) -> Lock:
    """Build a lock of the project's servers as they were just read, and last listed."""
    root = context.workspace.checkout
    rows = registry.store.catalog.rows(context)
    digests = [row.definition for row in rows if row.definition]
    definitions = registry.store.catalog.definitions(digests, context.workspace)

    def pinned(row: "CatalogRow") -> Iterator[_Pinned]:
        if row.pin is not None and (definition := definitions.get(row.definition or "")) is not None:
            yield row.pin, definition

    def locked(declaration: Declaration) -> "LockedServer | None":
        own = next((row for row in rows if row.tool.key == declaration.key), None)
        tools = None
        if own is not None and own.tool.listed_at is not None:
            tools = [pin for row in rows if _is_of(row.tool, declaration) for pin in pinned(row)]
        instructions = None if own is None else next(pinned(own), None)
        return lock_server(declaration, root, tools, instructions)

    made = (locked(item.declaration) for item in registry.catalog(context).resolved)
    return build_lock([server for server in made if server is not None], root)


def _is_of(tool: "Tool", server: Declaration) -> bool:
    place = (tool.client, tool.scope, tool.project_hash, tool.dir, tool.agent, tool.server)
    return (
        tool.kind is Kind.MCP_TOOL
        and tool.status not in ("stale", "unlisted")
        and place
        == (server.client, server.scope, server.project_hash, server.dir, server.agent, server.server)
    )


def _gaps(registry: "Registry", context: Context, current: Lock) -> _Gaps:
    """Find what a lock would lack: trust, accepted definitions, and lists."""
    labels = {name for _, name in current.servers}
    found = [item for item in project_servers(registry, context) if label_of(item) in labels]
    # Several clients read one file: the trust for one of them is enough.
    trusted = {(item.declaration.source, label_of(item)) for item in found if item.is_trusted}
    untrusted = [item for item in found if (item.declaration.source, label_of(item)) not in trusted]
    held = [
        item
        for item in pending(registry.store, registry.catalog(context).context)
        if item.tool.server in labels and item.tool.is_projects
    ]
    unreviewed = [
        *(f"{label_of(item)}: not trusted; run `{trust_command(label_of(item))}`" for item in untrusted),
        *(f"{item.title}: not accepted; run `{trust_command(item.accepting_name)}`" for item in held),
    ]
    unlisted = [
        f"{name} ({source}): its tools are not known"
        for (source, name), server in sorted(current.servers.items())
        if server.tools is None
    ]
    return _Gaps([*dict.fromkeys(unreviewed)], unlisted)


def _tell(
    current: Lock,
    gaps: _Gaps,
    lost: Iterable[str],
    path: str | None,
    context: Context,
    *,
    as_json: bool,
) -> None:
    """Print what a new lock contains, or why none was written."""
    if as_json:
        missing = [*dict.fromkeys([*gaps.unlisted, *lost])]
        render.data({"path": path, "servers": len(current.servers), "missing": missing})
        return
    if path is not None:
        tools = sum(len(server.tools or ()) for server in current.servers.values())
        counted = f"{plural(len(current.servers), 'server')} and {plural(tools, 'tool')}"
        render.out(f"Locked {counted} in {shorten(path, context)}.")
    lines: list[Line] = [f"not listed: {line}" for line in gaps.unlisted]
    lines += [f"not locked: {line}" for line in lost]
    render.note([*lines, *(["no lock was written"] if path is None else [])])
