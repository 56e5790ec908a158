"""Served names: what a model calls a tool or a prompt by, and what a name means, however it is spelt.

A client puts its own name for Remit before each, and few allow more than 64 characters in all.
"""

from collections.abc import Collection, Hashable, Iterable, Sequence
from hashlib import sha256
from typing import Generic, NamedTuple, TypeVar

from remit.decision.tool_names import MCP, OWN, normalise, served_name, server_name, tool_name

LONGEST = 64 - len(OWN)
_DIGITS = 8  # of a hash, where a name is shortened or not the only one

Named = TypeVar("Named", bound=Hashable)


class NameClaim(NamedTuple, Generic[Named]):
    """What is to be named: what it would be called if it fitted and were alone, and its canonical name."""

    key: Named
    name: str
    canonical: str


def prefix(server: str, plugin: str | None = None) -> str:
    """Tell what stands before the names of a server's tools."""
    return server_name(server, plugin)[len(MCP) : -1]


def claim_name(
    key: Named, server: str, own_name: str, plugin: str | None, *, is_prefixed: bool
) -> NameClaim[Named]:
    """Wish for the usual name: the server's and the tool's, or the tool's alone."""
    canonical = tool_name(server, own_name, plugin)
    return NameClaim(key, canonical.removeprefix(MCP) if is_prefixed else own_name, canonical)


class ServedNames(Generic[Named]):
    """Gives each its name: always the same, as long as nothing else wishes for it."""

    def __init__(self, wishes: Iterable[NameClaim[Named]], reserved: Collection[str] = ()) -> None:
        self._names: dict[Named, str] = {}
        self._keys: dict[str, Named] = {}
        self._canonical: dict[str, Named | None] = {}  # None: it means several
        wanted = [(each, _fitting(each.name, _identity(each))) for each in wishes]
        holders = dict.fromkeys(reserved, 1)
        for _, name in wanted:
            holders[name] = holders.get(name, 0) + 1
        # Those who share a name come first: else a server could wish for the very name that another gets.
        for each, name in sorted(wanted, key=lambda pair: holders[pair[1]] == 1):
            is_alone = holders[name] == 1 and name not in self._keys
            self._give(each.key, name if is_alone else self._told_apart(name, _identity(each)))
            self._canonical[each.canonical] = None if each.canonical in self._canonical else each.key

    def of(self, key: Named) -> str:
        """Tell what something is called."""
        return self._names[key]

    def get(self, key: Named) -> str | None:
        """Tell what something is called, if it has a name."""
        return self._names.get(key)

    def find(self, name: str) -> Named | None:
        """Find what a name means: as it is served, as the client spells that, or the canonical one."""
        for served in served_spellings(name):
            if served in self._keys:
                return self._keys[served]
        return self._canonical.get(name)

    def _told_apart(self, name: str, identity: str) -> str:
        while (found := _hashed(name, identity)) in self._keys:
            identity += "\0"
        return found

    def _give(self, key: Named, name: str) -> None:
        self._names[key] = name
        self._keys[name] = key


def served_spellings(name: str) -> Sequence[str]:
    """List the served names that a name may stand for."""
    own = served_name(name)
    return (name,) if own is None else (name, own)


def rest_of(name: str, server: str, plugin: str | None, *, is_prefixed: bool) -> str | None:
    """Tell what a server itself would call what a name stands for; None where it is none of its names."""
    own = prefix(server, plugin)
    for served in served_spellings(name):
        for before in (MCP + own, own):
            if served.startswith(before) and len(served) > len(before):
                return served[len(before) :]
    return None if is_prefixed or name.startswith(MCP) else name


def group_name(name: str, taken: Collection[str] = ()) -> str:
    """Write the name of a group as a tool's could be written, and no tool is."""
    fitting = _fitting(normalise(name), name)
    return _hashed(fitting, name) if fitting in taken else fitting


def _identity(wished: NameClaim[Named]) -> str:
    return f"{wished.canonical}\0{wished.key}"


def _fitting(name: str, identity: str) -> str:
    return name if len(name) <= LONGEST else _hashed(name, identity)


def _hashed(name: str, identity: str) -> str:
    mark = sha256(identity.encode("utf-8", "replace")).hexdigest()[:_DIGITS]
    return f"{name[: LONGEST - _DIGITS - 1]}_{mark}"
