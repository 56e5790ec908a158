"""Compares two locks, in words for people."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.definitions.entry_digests import entry_change
from remit.decision.definitions.project_lock import (
    ENTRY,
    INSTRUCTIONS,
    is_of_plugin,
    package_differences,
)
from remit.trust.definition_diff import line_diff

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from remit.decision.definitions.project_lock import (
        LockedServer,
        LockTexts,
        Place,
        ProjectLock,
    )

_MOST_NAMED = 3  # tools of a line
_UNSHOWN = "in a part that the lock does not show"


class LockDetails(NamedTuple):
    """What people read of the servers of two locks, and what inspection finds in a tool now."""

    before: LockTexts = MappingProxyType({})
    now: LockTexts = MappingProxyType({})
    notes: Callable[[Place, str], Sequence[str]] = lambda _place, _tool: ()
    unchecked: Collection[Place] = ()  # servers whose files cannot be read now

    def changes(self, place: Place, part: str) -> list[str]:
        """List the lines of a part that changed; all that are there now if the lock has none."""
        before = self.before.get(place, {}).get(part)
        found = line_diff(before or (), self.now.get(place, {}).get(part, ()))
        return found or ([] if before is None else [_UNSHOWN])


def lock_differences(
    locked: ProjectLock, current: ProjectLock, details: LockDetails | None = None
) -> list[str]:
    """List how a project differs from its lock; what is not known about the project now is no difference."""
    details = details or LockDetails()
    found: list[str] = []
    settled: list[str] = []  # servers whose line implies what is visible of them
    for key in sorted({*locked.servers, *current.servers}):
        source, name = key
        before, now = locked.servers.get(key), current.servers.get(key)
        title = f"{name} ({source})"
        if now is None and is_of_plugin(key):
            continue  # not installed here
        if key in details.unchecked:
            settled.append(f"mcp__{name}__")
        elif before is None or now is None:
            found.append(f"{title}: {'added' if before is None else 'removed'}")
            found += _indented(details.changes(key, ENTRY)) if before is None else []
            settled.append(f"mcp__{name}__")
        else:
            is_implied = before.entry != now.entry or now.tools is None
            settled += [f"mcp__{name}__"] if is_implied else []
            for line, lines in _server(before, now, details, key):
                found += [f"{title}: {line}", *_indented(lines)]
    return [*found, *_visible_lines(locked, current, tuple(settled))]


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _server(
    before: LockedServer, now: LockedServer, details: LockDetails, place: Place
) -> Iterator[tuple[str, Sequence[str]]]:
    if before.entry != now.entry:
        files = entry_change(before.entry, now.entry)
        yield (files, ()) if files else ("its entry changed", details.changes(place, ENTRY))
    yield from ((line, ()) for line in package_differences(before.package, now.package))
    if before.sandbox != now.sandbox:
        yield f"its sandbox: {before.sandbox or 'none'} -> {now.sandbox or 'none'}", ()
    if now.tools is None:
        return
    if before.instructions != now.instructions:
        is_locked = before.instructions is not None
        told = "~ its instructions changed" if is_locked else "its instructions are not locked"
        yield told, details.changes(place, INSTRUCTIONS)
    if before.tools is None:
        yield "its tools are not locked", ()
        return
    for name in sorted({*before.tools, *now.tools}):
        if name not in now.tools:
            yield f"- {name}", ()
        elif before.tools.get(name) != now.tools[name]:
            told = f"~ {name}: its definition changed" if name in before.tools else f"+ {name}"
            yield told, [*details.changes(place, name), *details.notes(place, name)]


def _visible_lines(locked: ProjectLock, current: ProjectLock, settled: tuple[str, ...]) -> Iterator[str]:
    """Write what agents see otherwise, once for all clients of which it is true."""
    clients = sorted({*locked.visible, *current.visible})
    by_line: dict[str, list[str]] = {}
    for client in clients:
        before, now = locked.visible.get(client, {}), current.visible.get(client, {})
        for line in _visible(before, now, settled):
            by_line.setdefault(line, []).append(client)
    for line, seen in by_line.items():
        is_everywhere = seen == clients and len(clients) > 1
        yield f"visible in {'all clients' if is_everywhere else ', '.join(seen)}: {line}"


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
