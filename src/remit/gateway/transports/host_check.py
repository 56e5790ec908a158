"""Whose requests a gateway takes: by the host they say they are for, and the page they come from.

A web page can have a browser send requests to this machine under a name of its own (DNS rebinding). It cannot
have it say another name than its own, and no page's own name is an address. Other programs on this machine
may serve pages, too: those come from another port.
"""

import re
from collections.abc import Iterable
from ipaddress import ip_address

LOOPBACK = ("127.0.0.1", "localhost", "::1")

_ORIGIN = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<host>\[[0-9a-f:.]+\]|[^/?#@:\s]+)(?::(?P<port>\d+))?"
)
_PORTS = {"http": "80", "https": "443"}


class HostCheck:
    """The names under which a gateway is reached."""

    def __init__(self, address: str, others: Iterable[str] = (), origins: Iterable[str] = ()) -> None:
        named = [name.lower() for name in others]
        # A name of another kind leads here through somebody who listens for others: a proxy, a tunnel.
        self.is_private = is_loopback(address) and all(map(is_loopback, named))
        self._takes_addresses = not is_loopback(address)
        self._names = frozenset({*LOOPBACK, address.lower(), *named})
        self._origins = frozenset(origins)

    def is_ours(self, host: str | None) -> bool:
        """Whether the `Host` of a request names us; the port does not matter."""
        name = None if host is None else hostname(host)
        return name is not None and (name in self._names or (self._takes_addresses and _is_address(name)))

    def takes(self, origin: str | None, host: str) -> bool:
        """Whether the `Origin` of a request for a `Host` of ours is allowed, or a page of ours by any name.

        What is no browser sends none. The scheme may be that of a proxy that has TLS; the port is the same.
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
    """Write an origin as browsers do; None for what is none."""
    found = _ORIGIN.fullmatch(text.lower())
    if found is None:
        return None
    is_usual = found["port"] in (None, _PORTS.get(found["scheme"]))
    return f"{found['scheme']}://{found['host']}" + ("" if is_usual else f":{found['port']}")


def is_loopback(name: str) -> bool:
    """Whether a name or an address only leads to the machine that asks."""
    is_named = name == "localhost" or name.endswith(".localhost")
    return is_named or (_is_address(name) and ip_address(name).is_loopback)


def hostname(host: str) -> str | None:
    """Take the port away; None for what is no host."""
    if host.startswith("["):
        name, bracket, rest = host[1:].partition("]")
        return name.lower() if bracket and (not rest or rest.startswith(":")) else None
    name, _, port = host.partition(":")
    return name.lower() if name and ":" not in port else None


def port(host: str) -> str | None:
    """Take all but the port away; None where there is none."""
    return host.rpartition("]")[2].partition(":")[2] or None


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
