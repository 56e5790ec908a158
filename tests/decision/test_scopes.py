import pytest

from remit.decision.kinds import Kind
from remit.decision.projects import Project, Workspace, team_workspace
from remit.decision.scopes import Scope, ancestors, in_scope, is_at_or_below, strength
from support.builders import BLOG, SHOP

HERE = SHOP.project.hash
ELSEWHERE = BLOG.project.hash
BELOW = Workspace(dir="/code/shop/packages/api", checkout="/code/shop", project=SHOP.project)


@pytest.mark.parametrize("scope", [Scope.GLOBAL, Scope.MANAGED])
def test_global_and_managed_rows_are_in_scope_everywhere(scope: Scope) -> None:
    assert in_scope(scope, None, None, SHOP)
    assert in_scope(scope, None, None, BLOG)


def test_a_local_row_is_in_scope_in_its_project_only() -> None:
    assert in_scope(Scope.LOCAL, HERE, None, BELOW)
    assert not in_scope(Scope.LOCAL, ELSEWHERE, None, SHOP)


@pytest.mark.parametrize(
    ("dir", "seen_from_top", "seen_from_below"),
    [
        ("/code/shop", True, True),
        ("/code/shop/packages/api", False, True),
        ("/code/shop/packages/web", False, False),
        ("/code", True, True),
        ("/", True, True),
    ],
)
def test_a_project_row_is_in_scope_at_and_below_its_directory(
    dir: str, seen_from_top: bool, seen_from_below: bool
) -> None:
    assert in_scope(Scope.PROJECT, HERE, dir, SHOP) is seen_from_top
    assert in_scope(Scope.PROJECT, HERE, dir, BELOW) is seen_from_below


def test_a_project_row_of_another_project_is_out_of_scope_even_in_the_same_directory() -> None:
    assert not in_scope(Scope.PROJECT, ELSEWHERE, "/code/shop", SHOP)
    assert not in_scope(Scope.PROJECT, HERE, None, SHOP)


def test_a_plugin_row_is_in_scope_everywhere_or_in_its_project() -> None:
    assert in_scope(Scope.PLUGIN, None, None, SHOP)
    assert in_scope(Scope.PLUGIN, HERE, None, SHOP)
    assert not in_scope(Scope.PLUGIN, ELSEWHERE, None, SHOP)


PAYMENTS, SEARCH = Project("team:payments", "a" * 16), Project("team:search", "b" * 16)
API = team_workspace(Project("team:payments/api", "c" * 16), PAYMENTS)


def test_a_team_row_is_in_scope_in_the_projects_of_its_team_only() -> None:
    web = team_workspace(Project("team:payments/web", "d" * 16), PAYMENTS)
    index = team_workspace(Project("team:search/index", "e" * 16), SEARCH)
    assert in_scope(Scope.TEAM, PAYMENTS.hash, None, API)
    assert in_scope(Scope.TEAM, PAYMENTS.hash, None, web)
    assert not in_scope(Scope.TEAM, PAYMENTS.hash, None, index)
    assert not in_scope(Scope.TEAM, PAYMENTS.hash, None, SHOP)
    assert not in_scope(Scope.TEAM, None, None, SHOP)


@pytest.mark.parametrize("scope", [Scope.GLOBAL, Scope.MANAGED, Scope.PLUGIN])
def test_a_teams_project_has_nothing_from_the_files_of_a_machine(scope: Scope) -> None:
    assert not in_scope(scope, None, None, API)


def test_the_servers_of_a_team_are_stronger_than_global_ones_and_weaker_than_those_of_the_project() -> None:
    scopes = sorted(Scope, key=lambda scope: strength(Kind.MCP_SERVER, scope, None))
    assert scopes.index(Scope.PROJECT) + 1 == scopes.index(Scope.TEAM) == scopes.index(Scope.GLOBAL) - 1


def test_the_project_of_a_team_is_called_by_its_name() -> None:
    assert API.project.short_name == "api"
    assert (API.project.is_of_team, PAYMENTS.is_of_team, SHOP.project.is_of_team) == (True, False, False)


def test_a_directory_whose_name_starts_alike_is_not_above() -> None:
    assert not is_at_or_below("/code/shopping", "/code/shop")


def test_ancestors_run_from_the_directory_to_the_root() -> None:
    assert ancestors("/code/shop") == ("/code/shop", "/code", "/")
    assert ancestors("/") == ("/",)


def test_ancestors_end_with_the_directory_that_they_are_listed_up_to() -> None:
    assert ancestors("/code/shop/packages", up_to="/code/shop") == ("/code/shop/packages", "/code/shop")
    assert ancestors("/code/shop", up_to="/code/shop") == ("/code/shop",)
    assert ancestors("/code/shop", up_to="/code/sh") == ()
