"""Addresses of resources: a server's own, and below the server's name where it has not got it alone.

Two servers may list the same address. The first keeps it, and what the other has there is served by an
address that says whose it is, so that each can be read.
"""

from collections.abc import Hashable, Iterable, Mapping
from typing import Generic, TypeVar

from remit.presentation.served_names import group_name

SCHEME = "remit://"  # `remit://SERVER/ADDRESS`, which no server can have for its own

Named = TypeVar("Named", bound=Hashable)


class ResourceAddresses(Generic[Named]):
    """Who answers for an address, and how the addresses of each server are written."""

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
        """Write an address of a server so that it says whose it is, needed or not."""
        return self._below[key] + address

    def written(self, key: Named, address: str) -> str:
        """Write an address of a server as it is served: as the server does, where nobody else has it."""
        is_own = self._owners.get(address, key) == key and not address.startswith(SCHEME)
        return address if is_own or key not in self._below else self.below(key, address)

    def found(self, address: str) -> tuple[Named, str] | None:
        """Find whose an address is, and how its server writes it; None where nobody is known to have it."""
        if address.startswith(SCHEME):
            name, _, own = address.removeprefix(SCHEME).partition("/")
            server = self._servers.get(name)
            return None if server is None or not own else (server, own)
        owner = self._owners.get(address)
        return None if owner is None else (owner, address)
