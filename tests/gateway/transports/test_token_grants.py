"""What the bearer of a token may reach."""

from remit.decision.projects import identify
from remit.gateway.transports.token_grants import Grant, digest, find_grant

SHOP, BLOG, HOME = identify("/code/shop"), identify("/code/blog"), identify("/home/ada")


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


def test_a_token_without_projects_reaches_every_one_and_means_the_usual() -> None:
    assert grant().reaches(SHOP)
    assert grant().default_project(BLOG) == BLOG


def test_a_token_reaches_its_own_projects_alone() -> None:
    bound = grant(projects=(SHOP, BLOG))
    assert bound.reaches(SHOP)
    assert bound.reaches(BLOG)
    assert not bound.reaches(HOME)


def test_a_token_of_one_project_means_that_one() -> None:
    assert grant(projects=(SHOP,)).default_project(HOME) == SHOP
    assert grant(projects=(SHOP, BLOG)).default_project(HOME) == HOME


def test_a_token_of_one_agent_means_that_one_and_no_other() -> None:
    bound = grant(agents=("reviewer",))
    assert bound.agent(None) == "reviewer"
    assert bound.reaches_agent("reviewer")
    assert not bound.reaches_agent("writer")
    assert not bound.reaches_agent(None)


def test_a_token_of_several_agents_has_to_say_which() -> None:
    bound = grant(agents=("reviewer", "writer"))
    assert bound.agent(None) is None
    assert bound.agent("writer") == "writer"
    assert not bound.reaches_agent(bound.agent(None))


def test_a_token_without_agents_may_be_any_and_the_main_session() -> None:
    assert grant().reaches_agent(None)
    assert grant().reaches_agent("reviewer")
