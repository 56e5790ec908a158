"""Keeps the sign-in of a server on the internet from being sent to this machine or its network.

A server says where its sign-in is, and could name a service that only this machine reaches. A server on this
machine may name another one here: the process that answers reaches it anyway.
"""

from ipaddress import ip_address

import httpx2
from mcp.client.auth import OAuthFlowError


class DiscoveryGuard:
    """Checks where the sign-in of one server is sent."""

    def __init__(self, server: httpx2.URL) -> None:
        self._is_local = is_local(server.host)

    async def check_request(self, request: httpx2.Request) -> None:
        """Check a request before it is sent; a hook of the HTTP client.

        Raises:
            OAuthFlowError: it would go to a local address, and the server is elsewhere.
        """
        self.check(request.url)

    def check(self, url: httpx2.URL) -> None:
        """Check an address before it is opened.

        Raises:
            OAuthFlowError: it is local, and the server is elsewhere.
        """
        if is_local(url.host) and not self._is_local:
            raise OAuthFlowError(f"it names {url.host} for it, an address of this machine or network")


def is_local(host: str) -> bool:
    """Tell whether a host is this machine, or an address that the internet does not reach."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ip_address(name.strip("[]"))
    except ValueError:
        return False
    return not (getattr(address, "ipv4_mapped", None) or address).is_global
