"""The names under which models call tools and prompts, and the spellings that refer to them.

Clients add their own prefix for Remit, and few allow more than 64 characters in total. A server chooses the
names of its tools, so no name is served that reads like a tool of another server, or of Remit.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from remit.configuration.config_model import Strategy
from remit.decision.tool_names import (
    GATEWAY_TOOLS,
    KEPT,
    MCP,
    OWN,
    SEPARATOR,
    normalise,
    served_spellings,
    server_name,
    tool_name,
    tool_prefix,
)

if TYPE_CHECKING:
    from remit.decision.declarations import Key
    from remit.decision.tools import Definition, Tool
    from remit.presentation.serving_plan import ServingPlan

LONGEST = 64 - len(OWN)
_DIGITS = 8  # of the hash in a shortened or ambiguous name
_MOST_HELD = 20_000  # names of a session; beyond that, those no longer in use are forgotten

Named = TypeVar("Named", bound=Hashable)


class NameClaim(NamedTuple, Generic[Named]):
    """A request for a name, which is granted if it fits and is unique, with the canonical name."""

    key: Named
    name: str
    canonical: str


def prefix(server: str, plugin: str | None = None) -> str:
    """Return the name prefix of a server's tools."""
    return server_name(server, plugin)[len(MCP) : -1]


def claim_name(
    key: Named, server: str, own_name: str, plugin: str | None, *, is_prefixed: bool
) -> NameClaim[Named]:
    """Claim the default name: server and tool, or the tool alone, unless that reads like both."""
    canonical = tool_name(server, own_name, plugin)
    is_bare = not (is_prefixed or reads_as_both(own_name))
    return NameClaim(key, own_name if is_bare else canonical.removeprefix(MCP), canonical)


def name_tools(
    tools: Iterable["Tool"],
    definitions: Mapping["Key", "Definition"],
    plan: "ServingPlan",
    before: "ServedNames[Key] | None" = None,
) -> "ServedNames[Key]":
    """Name the tools that a gateway serves; the names of Remit's own tools, and of groups, are reserved."""
    named = list(tools)
    groups = map(plan.namespace, named) if plan.strategy is Strategy.NAMESPACE else ()
    reserved = {*GATEWAY_TOOLS, *map(group_name, groups)}
    return ServedNames((_claim(tool, definitions.get(tool.key), plan) for tool in named), reserved, before)


def own_name(tool: "Tool", definition: "Definition | None") -> str:
    """Return the name that a tool has on its server."""
    if definition is not None and definition.tool is not None:
        return definition.tool
    return tool.name.removeprefix(tool_prefix(tool.server or "", tool.plugin))


def _claim(tool: "Tool", definition: "Definition | None", plan: "ServingPlan") -> NameClaim["Key"]:
    server, own = tool.server or "", own_name(tool, definition)
    is_prefixed = plan.is_prefixed(tool)
    claim = claim_name(tool.key, server, own, tool.plugin, is_prefixed=is_prefixed)
    return claim._replace(canonical=tool.name)


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
        wanted = [(each, _fitting(each.name, _identity(each))) for each in claims]
        present = {each.key for each, _ in wanted}
        holders = Counter(_slot(name) for _, name in wanted)
        for each, _ in wanted:
            self._canonical[each.canonical] = None if each.canonical in self._canonical else each.key
        old = {claim.key: name for name, claim in self._held.items()}
        for each, _ in wanted:
            if each.key in old:
                self._give(each, old[each.key])
        # Shared names come first, or a server could claim the very name that another one gets.
        for each, name in sorted(wanted, key=lambda pair: holders[_slot(pair[1])] == 1):
            if each.key not in old:
                is_alone = holders[_slot(name)] == 1 and _slot(name).casefold() not in taken
                is_given = is_alone and self._is_free(name, each, present)
                self._give(each, name if is_given else self._distinct(name, each))

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
        """Check that nobody has a name, and that nobody else had it before."""
        holder = self._slots.get(_slot(name))
        is_inherited = holder is None or (holder.canonical == claim.canonical and holder.key not in present)
        return is_inherited and _slot(name) not in self._used

    def _distinct(self, name: str, claim: NameClaim[Named]) -> str:
        identity = _identity(claim)
        while not self._is_free(found := hashed(name, identity), claim):
            identity += "\0"
        return found

    def _give(self, claim: NameClaim[Named], name: str) -> None:
        self._names[claim.key] = name
        self._keys[name] = claim.key
        self._held[name] = self._slots[_slot(name)] = claim
        self._used.add(_slot(name))


def reads_as_both(name: str) -> bool:
    """Check whether a name reads like a server and its tool: `git__push`, or `git..push` in a client."""
    return SEPARATOR in _slot(name)


def rest_of(name: str, server: str, plugin: str | None, *, is_prefixed: bool) -> str | None:
    """Return a tool's name on its server from the name that a model calls; None if it does not match."""
    own = prefix(server, plugin)
    for served in served_spellings(name):
        for before in (MCP + own, own):
            if served.startswith(before) and len(served) > len(before):
                return served[len(before) :]
    is_bare = name not in GATEWAY_TOOLS and not reads_as_both(name)
    return name if is_bare and not is_prefixed else None


def group_name(name: str, taken: Collection[str] = ()) -> str:
    """Return a group name that follows the rules for tool names and is not taken."""
    fitting = _fitting(normalise(name), name)
    return hashed(fitting, name) if fitting in taken else fitting


def _identity(claim: NameClaim[Named]) -> str:
    return f"{claim.canonical}\0{claim.key}"


def _slot(name: str) -> str:
    """Return what clients make of a name: two names that they write alike cannot both be served."""
    return name if KEPT.issuperset(name) else normalise(name)


def _fitting(name: str, identity: str) -> str:
    if name.startswith(MCP) and SEPARATOR in name.removeprefix(MCP):  # the canonical name of another tool
        name = hashed(name.replace(SEPARATOR, "_", 1), identity)
    return name if len(name) <= LONGEST else hashed(name, identity)


def hashed(name: str, identity: str, longest: int = LONGEST) -> str:
    """Shorten a name, and make it unique with a hash of what it names."""
    mark = sha256(identity.encode("utf-8", "replace")).hexdigest()[:_DIGITS]
    return f"{name[: longest - _DIGITS - 1]}_{mark}"
