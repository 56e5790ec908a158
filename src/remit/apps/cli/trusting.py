"""What a person is to trust: servers that come with a project, and states that run or change something."""

import shlex
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from remit.apps.cli import live, render, shapes
from remit.core.configuration.layers import Demand
from remit.core.configuration.values import ASKS_GIT, DetectorKind
from remit.core.decide import Context, shorten
from remit.core.trust import Trustable
from remit.errors import UnknownServerError
from remit.registry import Registry


class Found(NamedTuple):
    """What needs trust."""

    servers: Sequence[Trustable]
    states: Sequence[Demand]

    @property
    def is_empty(self) -> bool:
        """Whether nothing does."""
        return not (self.servers or self.states)


def find(registry: Registry, context: Context, names: Sequence[str]) -> Found:
    """Find what needs trust, or what is named of it.

    Raises:
        UnknownServerError: nothing that needs trust has a given name.
    """
    states = registry.demands(context, names)
    others = [name for name in names if not any(item.entry.name == name for item in states)]
    try:
        servers = registry.trustable(context, others) if others or not names else []
    except UnknownServerError as error:
        message = str(error).replace("no server of this project", "no server or state of this project")
        raise UnknownServerError(message, hint=error.hint) from None
    return Found(servers, states)


def settle(registry: Registry, context: Context, found: Found, *, revoke: bool) -> None:
    """Trust what was found, or trust it no more."""
    (registry.revoke if revoke else registry.trust)(found.servers, context)
    if found.states:
        (registry.revoke_states if revoke else registry.trust_states)(found.states, context)


def show(found: Found, context: Context, *, to_stderr: bool = False) -> None:
    """Show what each would do, so that a person can judge it."""
    if found.servers or not found.states:
        live.entries(found.servers, context, to_stderr=to_stderr)
    stream = sys.stderr if to_stderr else sys.stdout
    for at, item in enumerate(found.states):
        if at or found.servers:
            stream.write("\n")
        for line in _lines(item, context):
            stream.write(f"{render.printable(line)}\n")


def tell(found: Found) -> None:
    """Say what is trusted now."""
    if found.servers or not found.states:
        live.trusted(found.servers)
    for item in found.states:
        word = "trusted" if item.is_trusted else "not trusted"
        render.out(f"{word}: {item.title}")


def shape(found: Found, context: Context) -> shapes.Shape:
    """The answer of `remit trust`."""
    return shapes.trust(found.servers, [_state(item) for item in found.states], context)


def _lines(item: Demand, context: Context) -> Iterator[str]:
    word = (
        "trusted" if item.is_trusted else "changed since it was trusted" if item.is_changed else "not trusted"
    )
    source = shorten(item.file.path, context)
    yield f"{item.title} ({item.file.layer}, {source}): {word}"
    detector = item.entry.detector
    if detector is not None and detector.kind is DetectorKind.COMMAND:
        yield f"  runs    {shlex.join(detector.argv)}"
    elif detector is not None and detector.kind is DetectorKind.HTTP:
        yield f"  reaches {detector.url}"
    elif detector is not None and detector.fact in ASKS_GIT:
        yield "  runs    git status"
    yield from (f"  {reason}" for reason in item.reasons)


def _state(item: Demand) -> shapes.Shape:
    detector = item.entry.detector
    return {
        "name": item.entry.name,
        "layer": item.file.layer,
        "source": item.file.path,
        "trusted": item.is_trusted,
        "changed": item.is_changed,
        "command": list(detector.argv) if detector is not None and detector.argv else None,
        "url": (detector.url or None) if detector is not None else None,
        "reasons": list(item.reasons),
    }
