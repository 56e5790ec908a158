"""Whose requests a gateway takes."""

import pytest

from remit.core.hosts import Hosts, hostname, is_loopback


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost", "LOCALHOST:1", "[::1]:8080", "[::1]"])
def test_on_this_machine_alone_its_own_names_are_taken(host: str) -> None:
    assert Hosts("127.0.0.1").is_ours(host)


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "10.0.0.1", "", None, "[::1", "[::1]x", "a:b:c", ":80"]
)
def test_on_this_machine_alone_no_other_name_is_taken(host: str | None) -> None:
    assert not Hosts("127.0.0.1").is_ours(host)


def test_for_other_machines_addresses_are_taken_and_names_that_were_allowed() -> None:
    hosts = Hosts("10.0.0.1", ["Tools.example"])
    assert hosts.is_ours("10.0.0.7:8080")
    assert hosts.is_ours("[fe80::1]:8080")
    assert hosts.is_ours("tools.example")
    assert not hosts.is_ours("evil.example")


@pytest.mark.parametrize("origin", [None, "http://localhost:3000", "https://127.0.0.1"])
def test_programs_and_pages_of_this_machine_may_ask(origin: str | None) -> None:
    assert Hosts("127.0.0.1").takes(origin)


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "", "file://localhost", "http://10.0.0.1", "http://"]
)
def test_pages_of_others_may_not_ask(origin: str) -> None:
    assert not Hosts("127.0.0.1").takes(origin)
    assert not Hosts("10.0.0.2").takes(origin)


def test_the_whole_of_127_is_this_machine_and_everything_is_not() -> None:
    assert is_loopback("127.1.2.3")
    assert is_loopback("::1")
    assert is_loopback("localhost")
    assert not is_loopback("10.0.0.1")
    assert not is_loopback("::")
    assert not is_loopback("tools.example")


def test_a_port_is_no_part_of_a_name() -> None:
    assert hostname("shop.example:443") == "shop.example"
