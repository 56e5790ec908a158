"""Compares two locks, in words for people."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from remit.decision.definitions.entry_digests import entry_change
from remit.decision.definitions.project_lock import UNKNOWN, is_of_plugin

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from remit.decision.definitions.project_lock import LockedPackage, LockedServer, ProjectLock

_MOST_NAMED = 3  # tools of a line


def lock_differences(
    locked: ProjectLock, current: ProjectLock, diffs: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> list[str]:
    """List how a project differs from its lock; what is not known about the project now is no difference.

    A lock has only digests; `diffs` has the lines that changed in definitions, where they are known.
    """
    found: list[str] = []
    settled: list[str] = []  # servers whose line implies what is visible of them
    for key in sorted({*locked.servers, *current.servers}):
        source, name = key
        before, now = locked.servers.get(key), current.servers.get(key)
        title = f"{name} ({source})"
        if now is None and is_of_plugin(key):
            continue  # not installed here
        if before is None or now is None:
            found.append(f"{title}: {'added' if before is None else 'removed'}")
            settled.append(f"mcp__{name}__")
        else:
            settled += [f"mcp__{name}__"] if before.entry != now.entry else []
            for line, details in _server(before, now, diffs, f"mcp__{name}__*"):
                found += [f"{title}: {line}", *(f"    {each}" for each in details)]
    for client in sorted({*locked.visible, *current.visible}):
        before_by, now_by = locked.visible.get(client, {}), current.visible.get(client, {})
        found += [f"visible in {client}: {line}" for line in _visible(before_by, now_by, tuple(settled))]
    return found


def _server(
    before: LockedServer, now: LockedServer, diffs: Mapping[str, Sequence[str]], instructions_name: str
) -> Iterator[tuple[str, Sequence[str]]]:
    if before.entry != now.entry:
        yield entry_change(before.entry, now.entry) or "its entry changed", ()
    yield from ((line, ()) for line in _package(before.package, now.package))
    if before.sandbox != now.sandbox:
        yield f"its sandbox: {before.sandbox or 'none'} -> {now.sandbox or 'none'}", ()
    if now.tools is None:
        return
    if before.instructions != now.instructions:
        is_locked = before.instructions is not None
        told = "~ its instructions changed" if is_locked else "its instructions are not locked"
        yield told, diffs.get(instructions_name, ()) if is_locked else ()
    if before.tools is None:
        yield "its tools are not locked", ()
        return
    for name in sorted({*before.tools, *now.tools}):
        if name not in now.tools:
            yield f"- {name}", ()
        elif name not in before.tools:
            yield f"+ {name}", ()
        elif before.tools[name] != now.tools[name]:
            yield f"~ {name}: its definition changed", diffs.get(name, ())


def _package(before: LockedPackage | None, now: LockedPackage | None) -> Iterator[str]:
    if before is None or now is None:
        yield from (f"its package was removed: {each.name}" for each in (before,) if each is not None)
        yield from (f"its package was added: {each.name}" for each in (now,) if each is not None)
        return
    for key, old, new in zip(before._fields, before, now, strict=True):
        if old != new and UNKNOWN not in (old, new):
            yield f"its package: {key} {old} -> {new}"


def _visible(
    before: Mapping[str, Mapping[str, str]], now: Mapping[str, Mapping[str, str]], settled: tuple[str, ...]
) -> Iterator[str]:
    """Count what each agent sees less, more and otherwise, except of servers that are named already."""
    for agent in sorted({*before, *now}):
        old, new = (
            {name: how for name, how in by.get(agent, {}).items() if not name.startswith(settled)}
            for by in (before, now)
        )
        other = [name for name in old if name in new and old[name] != new[name]]
        parts = [
            _counted("-", sorted(old.keys() - new.keys())),
            _counted("+", sorted(new.keys() - old.keys())),
            _counted("~", [f"{name} ({old[name]} -> {new[name]})" for name in sorted(other)]),
        ]
        if any(parts):
            yield f"{agent}: {'; '.join(filter(None, parts))}"


def _counted(sign: str, names: Sequence[str]) -> str:
    """Name the first of some tools; their count tells how many more there are."""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{sign} {', '.join(names[:_MOST_NAMED])}{more}" if names else ""
