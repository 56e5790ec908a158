"""Tokens in the store that several nodes share."""

import time
from collections.abc import Callable
from threading import Event
from typing import Any

import pytest

from remit.configuration.config_model import Role
from remit.decision.projects import identify
from remit.errors import TokenError
from remit.gateway.access.stored_tokens import StoredTokens
from remit.gateway.access.token_grants import find_grant
from support.postgres import Databases, needs_postgres
from support.sandbox import Sandbox

pytestmark = needs_postgres
SHOP = identify("/code/shop")


@pytest.fixture
def address(databases: Databases) -> str:
    return databases.create()


def opened(address: str) -> StoredTokens:
    from remit.store.postgres.gateway_tokens import SqlTokens
    from remit.store.postgres.table_rights import ADMIN

    return StoredTokens(SqlTokens(address, role=ADMIN))


@pytest.mark.long
def test_a_token_of_one_node_counts_at_another_until_it_is_revoked(
    address: str,
) -> None:
    one, two = opened(address), opened(address)
    two.follow()
    assert two.grants() == []
    token = one.add("ci", projects=[SHOP], agents=["reviewer"], role=Role.READER, at=5)
    until = time.monotonic() + 60
    while (found := find_grant(token, two.grants())) is None:
        assert time.monotonic() < until
    assert (found.name, found.projects, found.agents, found.created_at) == ("ci", (SHOP,), ("reviewer",), 5)
    assert found.role is Role.READER
    assert token not in str(found)
    assert one.revoke("ci")
    until = time.monotonic() + 60
    while find_grant(token, two.grants()) is not None:
        assert time.monotonic() < until
    assert not one.revoke("ci")
    one.close()
    two.close()


def test_a_node_reads_changed_tokens_before_a_request_needs_them(address: str) -> None:
    one, two = opened(address), opened(address)
    two.follow()
    assert two.grants() == []
    one.add("ci", projects=[], agents=[], at=1)
    until = time.monotonic() + 60
    while not (two._known or (0, []))[1]:  # pyright: ignore[reportPrivateUsage] - to ask would make it read
        assert time.monotonic() < until
    assert [each.name for each in two.grants()] == ["ci"]
    one.close()
    two.close()


def test_a_name_is_taken_once(address: str) -> None:
    tokens = opened(address)
    tokens.add("ci", projects=[], agents=[], at=1)
    with pytest.raises(TokenError, match="already exists"):
        tokens.add("ci", projects=[], agents=[], at=2)
    tokens.close()


def test_while_the_database_is_gone_known_tokens_count_and_unknown_ones_cannot_be_checked(
    databases: Databases, address: str
) -> None:
    known, never = opened(address), opened(address)
    known.add("ci", projects=[], agents=[], at=1)
    assert [grant.name for grant in known.grants()] == ["ci"]
    databases.drop(address)
    assert [grant.name for grant in known.grants()] == ["ci"]
    with pytest.raises(TokenError, match="cannot be read"):
        never.grants()
    known.close()
    never.close()


def test_the_command_keeps_tokens_where_the_store_is(sandbox: Sandbox, address: str) -> None:
    sandbox.variables["REMIT_STORE"] = address
    token = sandbox.remit("token", "add", "ci").stdout.strip()
    tokens = opened(address)
    assert find_grant(token, tokens.grants()) is not None
    tokens.close()
    assert not (sandbox.root / "data/tokens.json").exists()
    assert "ci" in sandbox.remit("token", "list").stdout
    assert sandbox.remit("token", "revoke", "ci").stdout == "revoked ci\n"


class HangingRows:
    """Tokens whose second read hangs until it may go on."""

    def __init__(self) -> None:
        self.reads = 0
        self.hangs, self.goes_on = Event(), Event()

    def close(self) -> None: ...

    def follow(self, tell: Callable[[], object]) -> None: ...

    def revision(self) -> int:
        return self.reads

    def known_revision(self) -> int | None:
        return None

    def all(self) -> list[tuple[Any, ...]]:
        self.reads += 1
        if self.reads > 1:
            self.hangs.set()
            self.goes_on.wait()
        return [(f"token {self.reads}", "", "[]", "[]", 1, "user")]

    def add(self, name: str, digest: str, *, projects: str, agents: str, role: str, at: int) -> bool:
        raise NotImplementedError

    def revoke(self, name: str) -> bool:
        raise NotImplementedError


def test_a_database_that_hangs_holds_up_no_request() -> None:
    rows = HangingRows()
    tokens = StoredTokens(rows)
    before = tokens.grants()
    assert tokens.grants() is before
    rows.hangs.wait()
    assert tokens.grants() is before
    rows.goes_on.set()
    while tokens.grants() is before:
        pass


class ChangedRows(HangingRows):
    """Tokens that change whenever a test says so; no read hangs."""

    def __init__(self) -> None:
        super().__init__()
        self.number = 1
        self.goes_on.set()

    def revision(self) -> int:
        return self.number

    def known_revision(self) -> int | None:
        return self.number


def test_a_request_can_wait_for_tokens_that_have_changed() -> None:
    rows = ChangedRows()
    tokens = StoredTokens(rows)
    assert tokens.newer() is None  # the first read waits anyway
    assert [grant.name for grant in tokens.grants()] == ["token 1"]
    assert tokens.newer() is None
    rows.number = 2
    read = tokens.newer()
    assert read is not None
    read()
    assert tokens.newer() is None
    assert [grant.name for grant in tokens.grants()] == ["token 2"]
    read()  # for a request that another one went ahead of
    assert rows.reads == 2
