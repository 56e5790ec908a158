"""Compares two locks, in words for people."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from remit.decision.definitions.project_lock import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from remit.decision.definitions.project_lock import LockedPackage, LockedServer, ProjectLock

_MOST_NAMED = 3  # tools of a line


def lock_differences(
    locked: ProjectLock, current: ProjectLock, diffs: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> list[str]:
    """List how a project differs from its lock; what either side does not know is no difference.

    A lock has only digests; `diffs` has the lines that changed in definitions, where they are known.
    """
    found: list[str] = []
    settled: list[str] = []  # servers whose line implies what is visible of them
    for key in sorted({*locked.servers, *current.servers}):
        source, name = key
        before, now = locked.servers.get(key), current.servers.get(key)
        title = f"{name} ({source})"
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
        yield "its entry changed", ()
    yield from ((line, ()) for line in _package(before.package, now.package))
    if before.instructions != now.instructions and None not in (before.instructions, now.instructions):
        yield "~ its instructions changed", diffs.get(instructions_name, ())
    if before.tools is None or now.tools is None:
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
    before: Mapping[str, Sequence[str]], now: Mapping[str, Sequence[str]], settled: tuple[str, ...]
) -> Iterator[str]:
    """Count what each agent sees less and more, except of servers that are named already."""
    for agent in sorted({*before, *now}):
        old, new = (
            {name for name in by.get(agent, ()) if not name.startswith(settled)} for by in (before, now)
        )
        parts = [_counted("-", sorted(old - new)), _counted("+", sorted(new - old))]
        if any(parts):
            yield f"{agent}: {'; '.join(filter(None, parts))}"


def _counted(sign: str, names: Sequence[str]) -> str:
    """Name the first of some tools; their count tells how many more there are."""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{sign} {', '.join(names[:_MOST_NAMED])}{more}" if names else ""
