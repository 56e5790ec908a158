"""Where a sign-in may be sent."""

import anyio
import httpx2
import pytest
from mcp.client.auth import OAuthFlowError

from remit.upstream.oauth.discovery_guard import DiscoveryGuard, is_local

LOCAL = (
    *("localhost", "LOCALHOST.", "a.localhost", "127.0.0.1", "127.9.9.9", "::1", "[::1]", "10.0.0.7"),
    *("192.168.1.1", "169.254.169.254", "::ffff:127.0.0.1", "fe80::1", "fd00::1"),
)


@pytest.mark.parametrize("host", LOCAL)
def test_an_address_that_the_internet_does_not_reach_is_local(host: str) -> None:
    assert is_local(host)


@pytest.mark.parametrize("host", ["example.com", "localhost.example", "8.8.8.8", "2606:4700::1111", ""])
def test_any_other_host_is_not(host: str) -> None:
    assert not is_local(host)


def test_a_server_on_the_internet_cannot_send_a_sign_in_to_this_machine() -> None:
    check = DiscoveryGuard(httpx2.URL("https://mcp.example/mcp")).check_request
    anyio.run(check, httpx2.Request("GET", "https://login.example/.well-known/oauth-authorization-server"))
    with pytest.raises(OAuthFlowError, match=r"names 127\.0\.0\.1 for it"):
        anyio.run(check, httpx2.Request("POST", "http://127.0.0.1:9200/register"))


def test_a_server_on_this_machine_may_name_another_one_here() -> None:
    check = DiscoveryGuard(httpx2.URL("http://127.0.0.1:3000/mcp")).check_request
    anyio.run(check, httpx2.Request("POST", "http://localhost:8080/register"))
