"""Whose requests a gateway takes: by the host they say they are for, and the page they come from.

A web page can have a browser send requests to this machine under a name of its own (DNS rebinding). It cannot
have it say another name than its own, and no page's own name is an address.
"""

from collections.abc import Iterable
from ipaddress import ip_address

LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Hosts:
    """The names under which a gateway is reached."""

    def __init__(self, address: str, others: Iterable[str] = ()) -> None:
        self.is_loopback = is_loopback(address)
        self._takes_addresses = not self.is_loopback
        self._names = frozenset({*LOOPBACK, address.lower(), *(name.lower() for name in others)})

    def is_ours(self, host: str | None) -> bool:
        """Whether the `Host` of a request names us; the port does not matter."""
        name = None if host is None else hostname(host)
        return name is not None and (name in self._names or (self._takes_addresses and _is_address(name)))

    def takes(self, origin: str | None) -> bool:
        """Whether the `Origin` of a request is a page of ours; what is no browser sends none."""
        if origin is None:
            return True
        scheme, _, rest = origin.partition("://")
        return scheme in ("http", "https") and hostname(rest) in self._names


def is_loopback(address: str) -> bool:
    """Whether only this machine reaches an address."""
    return address == "localhost" or (_is_address(address) and ip_address(address).is_loopback)


def hostname(host: str) -> str | None:
    """Take the port away; None for what is no host."""
    if host.startswith("["):
        name, bracket, rest = host[1:].partition("]")
        return name.lower() if bracket and (not rest or rest.startswith(":")) else None
    name, _, port = host.partition(":")
    return name.lower() if name and ":" not in port else None


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
