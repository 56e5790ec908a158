import pytest

from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.scopes import Scope
from remit.trust.trust_rule import ServerTrust, needs_trust
from support.builders import SHOP, declared


def needs(
    scope: Scope, hash: str | None = "hash", *, kind: Kind = Kind.MCP_SERVER, source: str = "/a"
) -> bool:
    return needs_trust(kind, scope, hash, source, SHOP)


@pytest.mark.parametrize("scope", list(Scope))
def test_a_server_needs_trust_when_a_project_brings_it(scope: Scope) -> None:
    assert needs(scope) is (scope in (Scope.PROJECT, Scope.PLUGIN))
    assert needs(scope, kind=Kind.MCP_TOOL) is (scope in (Scope.PROJECT, Scope.PLUGIN))


def test_what_a_client_calls_local_needs_trust_when_it_lies_in_the_repository() -> None:
    assert needs(Scope.LOCAL, source="/code/shop/.claude/settings.json")
    assert not needs(Scope.LOCAL, source="/home/ada/.claude.json")


def test_a_plugin_of_the_users_own_needs_none() -> None:
    assert not needs(Scope.PLUGIN, None)


def test_what_is_never_started_needs_none() -> None:
    assert not needs(Scope.PROJECT, kind=Kind.SKILL)


@pytest.mark.parametrize(
    ("trusted", "is_trusted", "is_changed"), [(None, False, False), ("d1", True, False), ("d0", False, True)]
)
def test_trust_holds_for_the_very_entry_that_was_trusted(
    trusted: str | None, is_trusted: bool, is_changed: bool
) -> None:
    entry = declared("till", Scope.PROJECT, digest="d1")
    item = ServerTrust(declaration=entry, config_status=ConfigStatus.ENABLED, trusted_digest=trusted)
    assert (item.is_trusted, item.is_changed) == (is_trusted, is_changed)


@pytest.mark.parametrize(
    ("trusted", "state"),
    [
        (None, "not trusted"),
        ("2:d1", "trusted"),
        ("2:d0", "changed since it was trusted"),
        ("2:d1|.npmrc=0", "changed since it was trusted: `.npmrc` was removed"),
        ("d1", "changed since it was trusted"),
    ],
)
def test_the_state_of_trust_is_put_in_words(trusted: str | None, state: str) -> None:
    entry = declared("till", Scope.PROJECT, digest="2:d1")
    item = ServerTrust(declaration=entry, config_status=ConfigStatus.ENABLED, trusted_digest=trusted)
    assert item.state == state
