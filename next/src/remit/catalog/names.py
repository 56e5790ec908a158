"""The names under which models call tools and prompts, and the spellings that refer to them.

Clients add their own prefix for Remit, and few allow more than 64 characters in total. A server chooses the
names of its tools, so no name is served that reads like a tool of another server, or of Remit.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable
from hashlib import sha256
from typing import Generic, NamedTuple, TypeVar

from remit.decision import MCP, OWN, SEPARATOR, normalise, served_spellings, tool_name, tool_prefix

LONGEST = 64 - len(OWN)
_DIGITS = 8  # of the hash in a shortened or ambiguous name
_MOST_HELD = 20_000  # names of a session; beyond that, those no longer in use are forgotten

Named = TypeVar("Named", bound=Hashable)


class NameClaim(NamedTuple, Generic[Named]):
    """A request for a name, which is granted if it fits and is unique, with the canonical name."""

    key: Named
    name: str
    canonical: str


def claim_name(key: Named, server: str, own_name: str, plugin: str | None = None) -> NameClaim[Named]:
    """Claim the usual name: server and tool."""
    canonical = tool_name(server, own_name, plugin)
    return NameClaim(key, canonical.removeprefix(MCP), canonical)


class ServedNames(Generic[Named]):
    """Assigns each claim a stable name, which only a conflict changes.

    After names `before`, each key keeps its name, whoever else claims it now. A name that another key had may
    only go to its successor: another declaration of the same canonical name.
    """

    def __init__(
        self,
        claims: Iterable[NameClaim[Named]],
        reserved: Collection[str] = (),
        before: "ServedNames[Named] | None" = None,
    ) -> None:
        self._names: dict[Named, str] = {}
        self._keys: dict[str, Named] = {}
        self._canonical: dict[str, Named | None] = {}  # None: ambiguous
        self._held = {} if before is None else before.held()
        self._slots = {_slot(name): claim for name, claim in self._held.items()}
        self._used: set[str] = set()  # slots of `_keys`
        taken = {name.casefold() for name in reserved}
        wanted = [(claim, _fitting(claim.name, _identity(claim))) for claim in claims]
        present = {claim.key for claim, _ in wanted}
        holders = Counter(_slot(name) for _, name in wanted)
        for claim, _ in wanted:
            self._canonical[claim.canonical] = None if claim.canonical in self._canonical else claim.key
        old = {claim.key: name for name, claim in self._held.items()}
        for claim, _ in wanted:
            if claim.key in old:
                self._give(claim, old[claim.key])
        # Shared names come first, or a server could claim the very name that another one gets.
        for claim, name in sorted(wanted, key=lambda pair: holders[_slot(pair[1])] == 1):
            if claim.key not in old:
                is_alone = holders[_slot(name)] == 1 and _slot(name) not in taken
                is_given = is_alone and self._is_free(name, claim, present)
                self._give(claim, name if is_given else self._distinct(name, claim))

    def held(self) -> dict[str, NameClaim[Named]]:
        """Return the names that were ever given, with the last claim to each."""
        if len(self._held) <= _MOST_HELD:
            return dict(self._held)
        return {name: claim for name, claim in self._held.items() if name in self._keys}

    def of(self, key: Named) -> str:
        """Return the name of a key."""
        return self._names[key]

    def get(self, key: Named) -> str | None:
        """Return the name of a key, or None."""
        return self._names.get(key)

    def find(self, name: str) -> Named | None:
        """Find the key of a served name, of the client's spelling of it, or of a canonical name."""
        for served in served_spellings(name):
            if served in self._keys:
                return self._keys[served]
        return self._canonical.get(name)

    def _is_free(self, name: str, claim: NameClaim[Named], present: Collection[Named] = ()) -> bool:
        """Return whether nobody has a name, and nobody else had it before."""
        holder = self._slots.get(_slot(name))
        is_inherited = holder is None or (holder.canonical == claim.canonical and holder.key not in present)
        return is_inherited and _slot(name) not in self._used

    def _distinct(self, name: str, claim: NameClaim[Named]) -> str:
        identity = _identity(claim)
        while not self._is_free(free := _hashed(name, identity), claim):
            identity += "\0"
        return free

    def _give(self, claim: NameClaim[Named], name: str) -> None:
        self._names[claim.key] = name
        self._keys[name] = claim.key
        self._held[name] = self._slots[_slot(name)] = claim
        self._used.add(_slot(name))


def rest_of(name: str, server: str, plugin: str | None = None) -> str | None:
    """Return a tool's name on its server from the name that a model calls; None if it does not match."""
    canonical = tool_prefix(server, plugin)
    for served in served_spellings(name):
        for before in (canonical, canonical.removeprefix(MCP)):
            if served.startswith(before) and len(served) > len(before):
                return served[len(before) :]
    return None


def group_name(name: str, taken: Collection[str] = ()) -> str:
    """Return a group's name that follows the rules for tool names and is not taken."""
    fitting = _fitting(normalise(name), name)
    return _hashed(fitting, name) if fitting in taken else fitting


def _identity(claim: NameClaim[Named]) -> str:
    return f"{claim.canonical}\0{claim.key}"


def _slot(name: str) -> str:
    """Return what clients make of a name: two names that differ only by case are one."""
    return name.casefold()


def _fitting(name: str, identity: str) -> str:
    if name.startswith(MCP) and SEPARATOR in name.removeprefix(MCP):  # the canonical name of another tool
        name = _hashed(name.replace(SEPARATOR, "_", 1), identity)
    return name if len(name) <= LONGEST else _hashed(name, identity)


def _hashed(name: str, identity: str) -> str:
    """Shorten a name, and make it unique with a hash of what it names."""
    mark = sha256(identity.encode("utf-8", "replace")).hexdigest()[:_DIGITS]
    return f"{name[: LONGEST - _DIGITS - 1]}_{mark}"
