"""Checks the `Host` and `Origin` of requests, to stop DNS rebinding and foreign web pages.

A web page can make a browser send requests to this machine under the page's own host name, but never under
another name or an address. Pages of other programs on this machine come from another port.
"""

import re
from collections.abc import Iterable
from ipaddress import ip_address

LOOPBACK = ("127.0.0.1", "localhost", "::1")

_ORIGIN = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<host>\[[0-9a-f:.]+\]|[^/?#@:\s]+)(?::(?P<port>\d+))?"
)
_HOST = re.compile(r"(?:\[(?P<address>[^\[\]@]+)\]|(?P<name>[^\[\]@:/?#\s]+))(?::[0-9]*)?")
_PORTS = {"http": "80", "https": "443"}


class HostCheck:
    """The names and origins that a gateway accepts."""

    def __init__(self, address: str, others: Iterable[str] = (), origins: Iterable[str] = ()) -> None:
        named = [name.lower() for name in others]
        # Any other name implies a proxy or a tunnel, which other machines can reach.
        self.is_private = is_loopback(address) and all(map(is_loopback, named))
        self._takes_addresses = not is_loopback(address)
        self._names = frozenset({*LOOPBACK, address.lower(), *named})
        self._origins = frozenset(origins)

    def is_ours(self, host: str | None) -> bool:
        """Check that the `Host` of a request names this gateway, on any port."""
        name = None if host is None else hostname(host)
        return name is not None and (name in self._names or (self._takes_addresses and _is_address(name)))

    def allows(self, origin: str | None, host: str) -> bool:
        """Check that the `Origin` of a request is allowed, or is one of our own pages under any name.

        Clients that are not browsers send no `Origin`. A TLS proxy may change the scheme, but not the port.
        """
        if origin is None or origin in self._origins:
            return True
        found = _ORIGIN.fullmatch(origin)
        if found is None or found["scheme"] not in _PORTS:
            return False
        usual = _PORTS[found["scheme"]]
        is_here = hostname(found["host"]) in {*self._names, hostname(host)}
        return is_here and (found["port"] or usual) == (port(host) or usual)


def origin(text: str) -> str | None:
    """Normalize an origin as browsers do; return None if it is invalid."""
    found = _ORIGIN.fullmatch(text.lower())
    if found is None:
        return None
    is_usual = found["port"] in (None, _PORTS.get(found["scheme"]))
    return f"{found['scheme']}://{found['host']}" + ("" if is_usual else f":{found['port']}")


def is_loopback(name: str) -> bool:
    """Check whether a name or an address is loopback."""
    is_named = name == "localhost" or name.endswith(".localhost")
    return is_named or (_is_address(name) and ip_address(name).is_loopback)


def hostname(host: str) -> str | None:
    """Return the name in a `Host` header; None if it is invalid."""
    found = _HOST.fullmatch(host)
    return None if found is None else (found["address"] or found["name"]).lower()


def port(host: str) -> str | None:
    """Return the port in a `Host` header; None if it has none."""
    return host.rpartition("]")[2].partition(":")[2] or None


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
