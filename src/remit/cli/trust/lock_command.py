"""`remit lock`: writes or checks the lock of a project's servers."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import click

from remit.bootstrap import open_registry
from remit.bootstrap_gateway import open_upstreams
from remit.cli import render
from remit.cli.options import JSON, NOTHING_DONE, PROJECT
from remit.cli.output import server_output
from remit.configuration.editable_file import EditableFile
from remit.configuration.project_lock_file import lock_text, read_lock_texts
from remit.decision.context import shorten
from remit.decision.definitions.definition_changes import steps_to_settle
from remit.decision.definitions.project_lock import LOCK, Place, relative
from remit.decision.permissions.client_consents import trust_command
from remit.files.bounded_reader import read_text
from remit.project_lock.lock_builder import ProjectServers, build_lock, lock_texts, project_servers
from remit.project_lock.lock_diff import LockDetails, lock_differences
from remit.text.times import local_time

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from remit.decision.context import Context
    from remit.decision.definitions.project_lock import ProjectLock
    from remit.decision.problems import Problem
    from remit.decision.tools import Tool
    from remit.registry import Registry
    from remit.scanning.server_lists import ServerListing


@click.command()
@PROJECT
@click.option("--check", is_flag=True, help="Compare the project with its lock, and write nothing.")
@click.option("--no-connect", is_flag=True, help="Start no server: use the tools that are known.")
@JSON
def lock(*, project: str, check: bool, no_connect: bool, as_json: bool) -> None:
    """Write or check the lock of a project's servers.

    `remit.lock` is a file to commit. It contains the servers that the project's own files declare: their
    entries, packages, sandboxes, instructions and tool definitions, and the tools that each client and agent
    can use. Your own files do not count. Servers that you trust are started, to list their tools.

    With a lock, Remit holds the servers and tools of the project that differ from it. A lock is written only
    if there are any, you trust them all and accepted their definitions; an existing one only if all could be
    listed. Exits with 1 if not or, with --check, if the project differs from its lock.
    """
    with open_registry() as registry:
        context = replace(registry.at(project, registry.usual_client, is_headless=True), ignores_lock=True)
        servers, stale = project_servers(registry, context), list[Place]()
        if not no_connect:
            servers, stale = _list_again(servers, registry, context)
        known = registry.configuration.current(context.workspace).compiled.policy.lock
        current = build_lock(servers, context)
        problems = list(dict.fromkeys(registry.problems(replace(context, client=None))))
    render.problems(problems, context)
    path = os.path.join(context.workspace.checkout, LOCK)
    if check:
        invalid = _invalid(problems, known, current)
        unlisted = {*stale, *(() if no_connect else servers.unlisted())}
        missing = [f"{source}: {reason}" for source, reason in invalid.items()]
        missing += [_unlisted(place, servers) for place in sorted(unlisted)]
        found = _differences(known, current, _details(path, servers, known, invalid))
        of = ""
        if no_connect and servers.listed_at:
            of = f", by the tools listed {local_time(min(servers.listed_at.values()))}"
        _tell(found, missing, f"{shorten(context.workspace.checkout, context)} matches its lock{of}", as_json)
        is_done = not (found or missing)
    else:
        gaps = _gaps(servers, stale, known)
        if gaps.is_writable:
            text = lock_text(current, lock_texts(servers))
            EditableFile(path, checkout=context.workspace.checkout).write(text)
        _tell_written(current, gaps, shorten(path, context), is_first=known is None, as_json=as_json)
        is_done = not (gaps.unreviewed or gaps.unlisted)
    if not is_done:
        sys.exit(NOTHING_DONE)


class _Gaps(NamedTuple):
    """What a lock of the project would lack, in words for people."""

    unreviewed: Sequence[str]  # never written
    unlisted: Sequence[str]
    is_writable: bool


def _gaps(servers: ProjectServers, stale: Sequence[Place], known: ProjectLock | None) -> _Gaps:
    """Find what a lock would lack; one that exists must not lose the tools that its team reviewed."""
    unreviewed = [*map(_untrusted, servers.untrusted), *map(_unaccepted, servers.held)]
    if known is None and not servers.declared:  # an empty lock would hold each server that is added later
        unreviewed.append("the files of this project declare no servers")
    unlisted = sorted({*stale, *servers.unlisted()} - {*servers.untrusted})
    is_loss = known is not None and any(not _lacks_tools(place, known) for place in unlisted)
    told = [_unlisted(place, servers) for place in unlisted]
    return _Gaps(unreviewed, told, is_writable=not (unreviewed or is_loss))


def _lacks_tools(place: Place, known: ProjectLock) -> bool:
    """Return whether a lock has a server without its tools."""
    found = known.servers.get(place)
    return found is not None and found.tools is None


def _list_again(
    servers: ProjectServers, registry: Registry, context: Context
) -> tuple[ProjectServers, list[Place]]:
    """List the tools of all servers that the user trusts, and return the others, too."""
    left = {place: {each.key for each in servers.declared[place]} for place in servers.listable()}
    clients = {each.client for entries in servers.declared.values() for each in entries}
    asked: dict[str, ServerListing] = {}
    for client in sorted(clients, key=lambda name: (name != registry.usual_client, name)):
        entries = [each for place in left for each in servers.declared[place] if each.client == client]
        names = sorted({each.name for each in entries})  # a plugin's server may have the same label
        at = replace(registry.at(context.workspace.dir, client, is_headless=True), ignores_lock=True)
        with server_output.progress("asking servers") as show:
            found = (
                registry.servers.connect(at, open_upstreams(), names=names, on_progress=show) if names else []
            )
        for each in found:
            asked.setdefault(each.tool.server or "", each)
        done = {each.tool.key for each in found if _is_current(each)}
        left = {place: keys for place, keys in left.items() if not keys & done}
    names_left = {name for _, name in left}
    server_output.warnings([each for name, each in asked.items() if name in names_left])
    return project_servers(registry, context), sorted(left)


def _is_current(listing: ServerListing) -> bool:
    """Return whether a server was listed now, here or by the gateway that runs it."""
    offer = listing.offer
    return offer is not None and (offer.failure is None or offer.is_elsewhere)


def _unlisted(place: Place, servers: ProjectServers) -> str:
    source, name = place
    at = servers.listed_at.get(place)
    known = "its tools are not known" if at is None else f"its tools are those of {local_time(at)}"
    if place in servers.untrusted:
        known = f"not trusted, so its tools were not listed; run `{trust_command(name)}`"
    return f"{name} ({source}): {known}"


def _untrusted(place: Place) -> str:
    source, name = place
    return f"{name} ({source}): not trusted; look at it with `remit trust`, then run `{trust_command(name)}`"


def _unaccepted(tool: Tool) -> str:
    steps = "" if tool.change is None else f"; {steps_to_settle(tool.change, tool.name)}"
    return f"{tool.name}: its definition is not accepted{steps}"


def _invalid(problems: Sequence[Problem], known: ProjectLock | None, current: ProjectLock) -> dict[str, str]:
    """Return the files that declared locked servers and cannot be read now, with the reason."""
    if known is None:
        return {}
    gone = {source for source, _ in known.servers.keys() - current.servers.keys()}
    found = {relative(each.source, known.root): "the file is invalid" for each in problems}
    return {source: reason for source, reason in found.items() if source in gone}


def _details(
    path: str, servers: ProjectServers, known: ProjectLock | None, invalid: Mapping[str, str]
) -> LockDetails:
    """Collect what people read of a difference: the texts of the lock and of now, and inspection's notes."""
    if known is None or known.problem is not None:
        return LockDetails()
    text = read_text(path, limit=2**20, within=(known.root,))
    unchecked = [place for place in known.servers if place[0] in invalid]
    return LockDetails(read_lock_texts(text or ""), lock_texts(servers), _notes(servers), unchecked)


def _notes(servers: ProjectServers) -> Callable[[Place, str], Sequence[str]]:
    """Return what names the danger of a tool, and tells what inspection finds in it."""
    from remit.inspection.inspection_findings import Suspicion, worst  # only differences need them
    from remit.inspection.surroundings import Surroundings
    from remit.trust.change_judgement import danger_of, told_findings
    from remit.trust.inspections import Inspections

    inspections = Inspections(Surroundings.of(servers.definitions.values()))

    def notes(place: Place, name: str) -> Sequence[str]:
        found = (servers.definitions.get(tool.key) for tool in servers.listed[place] if tool.name == name)
        definition = next(found, None)
        if definition is None:
            return ()
        findings = inspections.of(definition)
        severity = worst(findings)
        danger = f"danger: {danger_of(definition).word}"
        if severity not in (Suspicion.HIGH, Suspicion.MEDIUM):
            return (danger,)
        return danger, f"inspection, {severity}: {told_findings(findings)}"

    return notes


def _differences(known: ProjectLock | None, current: ProjectLock, details: LockDetails) -> list[str]:
    if known is None:
        return ["there is no lock: run `remit lock`"]
    return ["the lock is invalid"] if known.problem else lock_differences(known, current, details)


def _tell(found: Sequence[str], missing: Sequence[str], match: str, as_json: bool) -> None:
    """Print how a project differs from its lock, or that it matches."""
    if as_json:
        render.data({"differences": list(found), "unchecked": list(missing)})
        return
    render.print_lines(found)
    for line in missing:
        render.note(f"not checked: {line}")
    if not (found or missing):
        render.out(f"{render.printable(match)}.")


def _tell_written(current: ProjectLock, gaps: _Gaps, path: str, *, is_first: bool, as_json: bool) -> None:
    """Print what a new lock contains, or why none was written."""
    is_written = gaps.is_writable
    if as_json:
        missing = [*gaps.unlisted, *gaps.unreviewed]
        render.data(
            {"path": path if is_written else None, "servers": len(current.servers), "missing": missing}
        )
        return
    if is_written:
        counted = sum(len(each.tools or ()) for each in current.servers.values())
        servers = render.plural(len(current.servers), "server")
        render.out(f"Locked {servers} and {render.plural(counted, 'tool')} in {path}.")
    for line in gaps.unlisted:
        render.note(f"not listed: {line}")
    for line in gaps.unreviewed:
        render.note(f"not locked: {line}")
    if not is_written:
        render.note("no lock was written" if is_first else f"{path} was not changed")
