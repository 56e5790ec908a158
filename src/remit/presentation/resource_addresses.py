"""Maps resource addresses to the servers that serve them.

Two servers may list the same address. The first keeps it; the other's resource is served under an address
that names its server, so both can be read.
"""

import re
from collections.abc import Hashable, Iterable, Mapping
from functools import lru_cache
from typing import Generic, TypeVar

from remit.decision.globs import Glob
from remit.presentation.served_names import group_name

SCHEME = "remit://"  # `remit://SERVER/ADDRESS`, which no server can claim
_EXPRESSION = re.compile(r"\{[^{}]*\}")

Named = TypeVar("Named", bound=Hashable)


class ResourceAddresses(Generic[Named]):
    """Maps addresses to servers, and returns each server's addresses as they are served."""

    def __init__(
        self,
        labels: Mapping[Named, str],
        claims: Iterable[tuple[Named, str]],
        taken: Iterable[str] = (),
    ) -> None:
        self._servers: dict[str, Named] = {}
        for key, label in labels.items():
            self._servers[group_name(label, self._servers)] = key
        self._below = {key: f"{SCHEME}{name}/" for name, key in self._servers.items()}
        self._owners: dict[str, Named | None] = dict.fromkeys(taken)
        for key, address in claims:
            self._owners.setdefault(address, key)

    def below(self, key: Named, address: str) -> str:
        """Return an address under its server's name, whether needed or not."""
        return self._below[key] + address

    def written(self, key: Named, address: str) -> str:
        """Return an address as it is served: unchanged, unless another server has the same one."""
        is_own = self._owners.get(address, key) == key and not address.startswith(SCHEME)
        return address if is_own or key not in self._below else self.below(key, address)

    def found(self, address: str) -> tuple[Named, str] | None:
        """Find the server of an address, and the address there; None if no server lists it."""
        if address.startswith(SCHEME):
            name, _, own = address.removeprefix(SCHEME).partition("/")
            server = self._servers.get(name)
            return None if server is None or not own else (server, own)
        owner = self._owners.get(address)
        return None if owner is None else (owner, address)


def fit(template: str, uri: str) -> int | None:
    """Count the literal characters of a template that matches an address; None if it does not match.

    Any text matches an expression, so no template can make matching slow. Of several templates that match,
    the one with the most literal characters wins.
    """
    pattern = _pattern(template)
    return sum(map(len, pattern.parts)) if pattern.matches(uri) else None


@lru_cache(maxsize=1_000)
def _pattern(template: str) -> Glob:
    return Glob(tuple(_EXPRESSION.split(template)))
