"""Maps resource addresses to the servers that serve them.

Two servers may list the same address. Then each resource is served under an address that names its server, so
both can be read and neither takes the other's place. A client that knows an address keeps reaching the server
that had it, whoever lists it later. The pages of apps keep their scheme, by which clients know them.
"""

import re
from collections.abc import Hashable, Iterable, Mapping
from functools import lru_cache
from typing import Generic, TypeVar

from remit.decision.globs import Glob
from remit.presentation.app_metadata import SCHEME as UI
from remit.presentation.served_names import group_name

SCHEME = "remit://"  # `remit://SERVER/ADDRESS`, which no server can claim; a page becomes `ui://SERVER/…`
_EXPRESSION = re.compile(r"\{[^{}]*\}")
_WITH_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")

Named = TypeVar("Named", bound=Hashable)


class ResourceAddresses(Generic[Named]):
    """Maps addresses to servers, and returns each server's addresses as they are served."""

    def __init__(
        self,
        labels: Mapping[Named, str],
        claims: Iterable[tuple[Named, str]],
        taken: Iterable[str] = (),
        before: "ResourceAddresses[Named] | None" = None,
    ) -> None:
        self._servers: dict[str, Named] = {}
        for key, label in labels.items():
            self._servers[group_name(label, self._servers)] = key
        self._below = {key: name for name, key in self._servers.items()}
        rooms = frozenset(taken)
        self._owners: dict[str, Named | None] = dict.fromkeys(rooms)  # None: of no server, or of several
        self._pages: dict[str, tuple[Named, str]] = {}  # by address below its server
        claimed = list(claims)
        for key, address in claimed:
            owner = self._owners.setdefault(address, key)
            if owner != key and address not in rooms:
                self._owners[address] = None if before is None else before.kept_by(address, (owner, key))

        for key, address in claimed:
            if address.startswith(UI):
                self._pages[self.below(key, address)] = key, address

    def kept_by(self, address: str, rivals: Iterable[Named | None]) -> Named | None:
        """Return which of several servers already had an address."""
        owner = self._owners.get(address)
        return owner if owner in rivals else None

    def below(self, key: Named, address: str) -> str:
        """Return an address under its server's name, whether needed or not."""
        name = self._below[key]
        if not address.startswith(UI):
            return f"{SCHEME}{name}/{address}"
        rest = address.removeprefix(UI)
        while f"{UI}{name}/{rest}" in self._owners:  # a server may have a page of this address
            name += "_"
        return f"{UI}{name}/{rest}"

    def written(self, key: Named, address: str) -> str:
        """Return an address as it is served: unchanged, unless another server has the same one."""
        is_own = self._owners.get(address, key) == key and not address.startswith(SCHEME)
        is_own = is_own and _WITH_SCHEME.match(address) is not None  # else it may lead anywhere
        return address if is_own or key not in self._below else self.below(key, address)

    def is_known(self, address: str) -> bool:
        """Check whether any server lists an address, or several do."""
        return address in self._owners

    def found(self, address: str) -> tuple[Named, str] | None:
        """Find the server of an address, and the address there; None if no server lists it."""
        if address.startswith(SCHEME):
            name, _, own = address.removeprefix(SCHEME).partition("/")
            server = self._servers.get(name)
            return None if server is None or not own else (server, own)
        owner = self._owners.get(address)
        return self._pages.get(address) if owner is None else (owner, address)

    def below_server(self, address: str) -> tuple[Named, str] | None:
        """Find the server that the address of an unlisted page names."""
        name, _, rest = address.removeprefix(UI).partition("/")
        server = self._servers.get(name) if address.startswith(UI) and rest else None
        return None if server is None else (server, f"{UI}{rest}")


def fit(template: str, uri: str) -> int | None:
    """Count the literal characters of a template that matches an address; None if it does not match.

    Any text matches an expression, so no template can make matching slow. Of several templates that match,
    the one with the most literal characters wins. A template that does not begin with a scheme, such as
    `{+any}`, would catch the addresses of all servers, and matches none.
    """
    pattern = _pattern(template)
    if _WITH_SCHEME.match(pattern.parts[0]) is None:
        return None
    return sum(map(len, pattern.parts)) if pattern.matches(uri) else None


@lru_cache(maxsize=1_000)
def _pattern(template: str) -> Glob:
    return Glob(tuple(_EXPRESSION.split(template)))
