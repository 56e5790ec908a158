"""Whose requests a gateway takes."""

import pytest

from remit.gateway.transports.host_check import HostCheck, hostname, is_loopback, origin, port


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost", "LOCALHOST:1", "[::1]:8080", "[::1]"])
def test_on_this_machine_alone_its_own_names_are_taken(host: str) -> None:
    assert HostCheck("127.0.0.1").is_ours(host)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "10.0.0.1",
        "",
        None,
        "[::1",
        "[::1]x",
        "a:b:c",
        ":80",
        "127.0.0.1:18787@evil.test",
        "evil.test@127.0.0.1",
        "127.0.0.1:80/x",
        "[::1]:80@evil.test",
        "127.0.0.1:٣",
    ],
)
def test_on_this_machine_alone_no_other_name_is_taken(host: str | None) -> None:
    assert not HostCheck("127.0.0.1").is_ours(host)


def test_for_other_machines_addresses_are_taken_and_names_that_were_allowed() -> None:
    hosts = HostCheck("10.0.0.1", ["Tools.example"])
    assert hosts.is_ours("10.0.0.7:8080")
    assert hosts.is_ours("[fe80::1]:8080")
    assert hosts.is_ours("tools.example")
    assert not hosts.is_ours("evil.example")


@pytest.mark.parametrize(
    "origin",
    [None, "http://localhost:8787", "http://127.0.0.1:8787", "http://[::1]:8787", "https://localhost:8787"],
)
def test_programs_and_our_own_pages_are_allowed(origin: str | None) -> None:
    assert HostCheck("127.0.0.1").allows(origin, "127.0.0.1:8787")


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "https://evil.example:8787",
        "null",
        "",
        "file://localhost",
        "http://10.0.0.1:8787",
        "http://",
        "http://localhost",
        "http://localhost:5173",
        "http://localhost:87870",
        "http://localhost:8787/",
        "http://localhost:port",
        "http://me@localhost:8787",
        "ftp://localhost:8787",
    ],
)
def test_pages_of_others_are_refused(origin: str) -> None:
    assert not HostCheck("127.0.0.1").allows(origin, "127.0.0.1:8787")
    assert not HostCheck("10.0.0.2").allows(origin, "10.0.0.2:8787")


def test_behind_a_proxy_the_page_of_the_same_host_is_ours_by_either_scheme() -> None:
    hosts = HostCheck("127.0.0.1", ["tools.example"])
    assert hosts.allows("https://tools.example", "tools.example")
    assert hosts.allows("http://tools.example", "tools.example")
    assert hosts.allows("https://tools.example", "tools.example:443")
    assert hosts.allows("https://tools.example:8443", "tools.example:8443")
    assert not hosts.allows("https://tools.example:8443", "tools.example")


def test_a_page_at_the_requested_address_is_ours() -> None:
    assert HostCheck("0.0.0.0").allows("http://10.0.0.7:8787", "10.0.0.7:8787")  # noqa: S104 - it is what is said


def test_an_allowed_origin_is_accepted_for_every_host() -> None:
    hosts = HostCheck("127.0.0.1", origins=["http://localhost:6274"])
    assert hosts.allows("http://localhost:6274", "127.0.0.1:8787")
    assert not hosts.allows("https://localhost:6274", "127.0.0.1:8787")


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("HTTP://LocalHost:6274", "http://localhost:6274"),
        ("https://tools.example:443", "https://tools.example"),
        ("http://tools.example:443", "http://tools.example:443"),
        ("http://[::1]:80", "http://[::1]"),
        ("vscode-webview://0abc", "vscode-webview://0abc"),
        ("*", None),
        ("null", None),
        ("localhost:6274", None),
        ("http://localhost:6274/", None),
        ("http://me@localhost", None),
    ],
)
def test_an_origin_is_written_as_browsers_do(given: str, written: str | None) -> None:
    assert origin(given) == written


def test_only_names_of_this_machine_keep_a_gateway_private() -> None:
    assert HostCheck("127.0.0.1").is_private
    assert HostCheck("127.0.0.1", ["Shop.localhost", "127.0.0.2"]).is_private
    assert not HostCheck("127.0.0.1", ["tools.example"]).is_private
    assert not HostCheck("10.0.0.1").is_private


def test_the_whole_of_127_is_this_machine_and_everything_is_not() -> None:
    assert is_loopback("127.1.2.3")
    assert is_loopback("::1")
    assert is_loopback("localhost")
    assert is_loopback("shop.localhost")
    assert not is_loopback("10.0.0.1")
    assert not is_loopback("::")
    assert not is_loopback("tools.example")


def test_a_port_is_no_part_of_a_name() -> None:
    assert hostname("shop.example:443") == "shop.example"
    assert [port(host) for host in ("shop.example:443", "shop.example", "[::1]", "[::1]:80", "")] == [
        *("443", None, None, "80", None)
    ]
