"""The tools around a definition: who has which name and which description."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from remit.decision.tools import Definition
from remit.text.spelling import nearest

_SHORTEST = 30  # characters of a description that is no coincidence
_SHORTEST_SERVER = 5
_MOST_SERVERS = 500  # beyond this, servers are not compared with each other
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_GLUE = re.compile(r"[^a-z0-9]+")
_LOOKALIKES = str.maketrans("1i0", "llo")


def own_name(definition: Definition) -> str:
    """Return the name that a server gives its tool."""
    return definition.tool or definition.name


@lru_cache(maxsize=1 << 12)
def plain_name(name: str) -> str:
    """Return a name in lower case, with its words joined by underscores."""
    return _GLUE.sub("_", name if name.islower() else _HUMP.sub("_", name).lower())


@dataclass(frozen=True, slots=True)
class Surroundings:
    """An index of the definitions that are available together."""

    names: dict[str, frozenset[str | None]]  # plain name to servers
    endings: frozenset[
        tuple[str, str | None]
    ]  # names without their first word, as descriptions abbreviate them
    listed: frozenset[str | None]  # servers with several tools, so that a missing name means something
    shapes: dict[str, frozenset[str]]  # how names look, to plain names
    descriptions: dict[str, tuple[Definition, ...]]
    lookalikes: dict[str | None, str]  # server to another that is spelled almost like it

    @classmethod
    def of(cls, definitions: Iterable[Definition]) -> "Surroundings":
        """Index definitions."""
        names: dict[str, set[str | None]] = defaultdict(set)
        shapes: dict[str, set[str]] = defaultdict(set)
        descriptions: dict[str, list[Definition]] = defaultdict(list)
        for each in definitions:
            name = plain_name(own_name(each))
            names[name].add(each.server)
            shapes[_shape(name)].add(name)
            if len(key := _described(each)) >= _SHORTEST:
                descriptions[key].append(each)
        counts = Counter(server for servers in names.values() for server in servers)
        return cls(
            names={name: frozenset(servers) for name, servers in names.items()},
            endings=frozenset(
                (name.partition("_")[2], each) for name, servers in names.items() for each in servers
            ),
            listed=frozenset(server for server, count in counts.items() if count > 1),
            shapes={shape: frozenset(found) for shape, found in shapes.items()},
            descriptions={key: tuple(found) for key, found in descriptions.items()},
            lookalikes=dict(_lookalikes([server for server in counts if server])),
        )

    def holders(self, name: str) -> frozenset[str | None]:
        """Return the servers that have a tool of this plain name."""
        return self.names.get(name, frozenset())

    def is_own(self, name: str, server: str | None) -> bool:
        """Return whether a plain name means a tool of this server."""
        return server in self.holders(name) or (name, server) in self.endings

    def similar(self, name: str) -> frozenset[str]:
        """Return other plain names that look like this one."""
        return self.shapes.get(_shape(name), frozenset()) - {name}

    def copies(self, definition: Definition) -> tuple[Definition, ...]:
        """Return the tools of other servers that have the same description."""
        found = self.descriptions.get(_described(definition), ())
        return tuple(each for each in found if each.server != definition.server)


def _shape(name: str) -> str:
    return name.translate(_LOOKALIKES).replace("rn", "m")


def _described(definition: Definition) -> str:
    return " ".join((definition.description or "").lower().split())


def _lookalikes(servers: list[str]) -> Iterable[tuple[str, str]]:
    if len(servers) > _MOST_SERVERS:
        return
    for one, other in combinations(servers, 2):
        is_long = min(len(one), len(other)) >= _SHORTEST_SERVER and abs(len(one) - len(other)) < 2
        if is_long and one[:2] == other[:2] and nearest(one, [other]):
            yield from ((one, other), (other, one))
