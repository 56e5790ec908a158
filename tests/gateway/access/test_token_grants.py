"""What the bearer of a token may reach."""

from remit.configuration.config_model import Role
from remit.decision.projects import identify
from remit.gateway.access.principals import Membership, Principal
from remit.gateway.access.token_grants import Grant, digest, find_grant

SHOP = identify("/code/shop")


def grant(name: str = "ci", **given: object) -> Grant:
    return Grant(name=name, digest=digest(f"token of {name}"), **given)  # pyright: ignore[reportArgumentType]


def test_a_token_is_found_by_its_hash_alone() -> None:
    grants = [grant("ci"), grant("laptop")]
    assert find_grant("token of laptop", grants) == grants[1]
    assert find_grant("token of ci", grants) == grants[0]


def test_a_token_that_nobody_was_given_is_nobodys() -> None:
    assert find_grant("token of ci ", [grant("ci")]) is None
    assert find_grant("", [grant("ci")]) is None
    assert find_grant("\ud800", [grant("ci")]) is None
    assert find_grant("token of ci", []) is None


def test_the_bearer_of_a_token_is_a_principal_of_its_name() -> None:
    bound = grant(projects=(SHOP,), agents=("reviewer",), role=Role.READER)
    held = Membership(role=Role.READER, projects=(SHOP,))
    assert bound.principal == Principal(name="ci", memberships=(held,), agents=("reviewer",))
    assert grant().principal == Principal(name="ci", memberships=(Membership(role=Role.USER),))
