"""The roles that the machine's configuration gives to people."""

from pathlib import Path

import pytest

from remit.configuration.config_model import AccessRule, IdentityProvider, Role
from remit.decision.projects import identify
from remit.gateway.access.access_settings import AccessSettings, find_project, unknown_projects, with_projects
from remit.gateway.access.principals import Membership, Principal

SHOP, BLOG = identify("/code/shop"), identify("/code/blog")
ISSUER = IdentityProvider("https://login.example.com", ("remit",))


def principal(name: str, *groups: str, rules: tuple[AccessRule, ...]) -> Principal:
    settings = AccessSettings(identity=ISSUER, memberships=with_projects(rules, (SHOP, BLOG)))
    return settings.principal(ISSUER, name, groups)


def test_a_person_has_the_roles_of_all_their_groups_and_their_own() -> None:
    rules = (
        AccessRule(Role.USER, ("/code/shop",), group="devs"),
        AccessRule(Role.APPROVER, ("/code/shop", BLOG.hash), group="leads"),
        AccessRule(Role.ADMIN, ("*",), principal="grace"),
    )
    ada = principal("ada", "devs", "leads", rules=rules)
    assert ada.name == "oidc:ada"
    assert (ada.issuer, ada.groups) == (ISSUER.issuer, ("devs", "leads"))
    assert (ada.role_in(SHOP), ada.role_in(BLOG)) == (Role.APPROVER, Role.APPROVER)
    bob = principal("bob", "devs", rules=rules)
    assert (bob.role_in(SHOP), bob.role_in(BLOG)) == (Role.USER, None)
    assert principal("grace", rules=rules).memberships == (Membership(role=Role.ADMIN),)


def test_a_group_called_like_a_person_gives_that_person_nothing() -> None:
    rules = (AccessRule(Role.ADMIN, ("*",), group="grace"), AccessRule(Role.ADMIN, ("*",), principal="devs"))
    assert principal("grace", "devs", rules=rules).memberships == ()


def test_a_rule_of_an_unknown_project_reaches_nothing() -> None:
    rules = (AccessRule(Role.USER, ("/code/nothing",), group="devs"),)
    assert principal("ada", "devs", rules=rules).projects == ()
    assert unknown_projects((*rules, AccessRule(Role.USER, ("*", SHOP.path), group="x")), (SHOP, BLOG)) == (
        "/code/nothing",
    )


def test_a_project_is_named_by_path_hash_or_short_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(Path("/code")))
    for name in ("/code/shop", "~/shop", SHOP.hash, SHOP.short_name):
        assert find_project(name, (SHOP, BLOG)) == SHOP
    assert find_project("shop", (SHOP, BLOG)) is None
