"""What a principal may reach, and in which role."""

from remit.configuration.config_model import Role
from remit.decision.projects import identify
from remit.gateway.access.principals import Membership, Principal

SHOP, BLOG, HOME = identify("/code/shop"), identify("/code/blog"), identify("/home/ada")


def member(role: Role, *projects: str) -> Membership:
    return Membership(role=role, projects=tuple(map(identify, projects)) if projects else None)


def principal(*memberships: Membership, agents: tuple[str, ...] = ()) -> Principal:
    return Principal(name="ada", memberships=memberships, agents=agents)


def test_a_principal_has_its_strongest_role_in_a_project() -> None:
    ada = principal(member(Role.READER), member(Role.APPROVER, SHOP.path), member(Role.USER, SHOP.path))
    assert ada.role_in(SHOP) is Role.APPROVER
    assert ada.role_in(BLOG) is Role.READER


def test_a_project_without_a_role_is_out_of_reach() -> None:
    assert principal(member(Role.ADMIN, SHOP.path)).role_in(BLOG) is None


def test_a_principal_without_memberships_reaches_nothing() -> None:
    nobody = principal()
    assert nobody.projects == ()
    assert nobody.role_in(SHOP) is None
    assert not nobody.is_unbound


def test_a_role_in_projects_that_do_not_exist_is_a_role_in_none() -> None:
    nowhere = principal(Membership(role=Role.ADMIN, projects=()))
    assert nowhere.projects == ()
    assert nowhere.role_in(SHOP) is None


def test_a_membership_without_projects_reaches_every_one_and_means_the_usual() -> None:
    ada = principal(member(Role.USER))
    assert ada.projects is None
    assert ada.is_unbound
    assert ada.role_in(SHOP) is Role.USER
    assert ada.default_project(BLOG) == BLOG


def test_the_projects_of_a_principal_are_those_of_all_its_memberships() -> None:
    ada = principal(member(Role.USER, SHOP.path), member(Role.READER, BLOG.path, SHOP.path))
    assert ada.projects == (SHOP, BLOG)
    assert not ada.is_unbound


def test_a_principal_of_one_project_means_that_one() -> None:
    assert principal(member(Role.USER, SHOP.path)).default_project(HOME) == SHOP
    assert principal(member(Role.USER, SHOP.path, BLOG.path)).default_project(HOME) == HOME


def test_a_principal_of_one_agent_means_that_one_and_no_other() -> None:
    bound = principal(member(Role.USER), agents=("reviewer",))
    assert bound.agent(None) == "reviewer"
    assert bound.reaches_agent("reviewer")
    assert not bound.reaches_agent("writer")
    assert not bound.reaches_agent(None)
    assert not bound.is_unbound


def test_a_principal_of_several_agents_has_to_say_which() -> None:
    bound = principal(member(Role.USER), agents=("reviewer", "writer"))
    assert bound.agent(None) is None
    assert bound.agent("writer") == "writer"
    assert not bound.reaches_agent(bound.agent(None))


def test_a_principal_without_agents_may_be_any_and_the_main_session() -> None:
    assert principal(member(Role.USER)).reaches_agent(None)
    assert principal(member(Role.USER)).reaches_agent("reviewer")
