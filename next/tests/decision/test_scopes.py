"""Where a row applies, and who a project is."""

import pytest

from remit.decision import (
    Project,
    Scope,
    Workspace,
    ancestors,
    identify,
    in_scope,
    needs_trust,
    project_called,
)
from support.builders import BLOG, SHOP

BELOW = SHOP._replace(dir="/code/shop/api")


@pytest.mark.parametrize(
    ("scope", "hash", "dir", "workspace", "applies"),
    [
        (Scope.GLOBAL, None, None, SHOP, True),
        (Scope.MANAGED, None, None, BLOG, True),
        (Scope.LOCAL, SHOP.project.hash, None, SHOP, True),
        (Scope.LOCAL, SHOP.project.hash, None, BLOG, False),
        (Scope.DYNAMIC, SHOP.project.hash, None, BLOG, False),
        (Scope.PROJECT, SHOP.project.hash, "/code/shop", BELOW, True),
        (Scope.PROJECT, SHOP.project.hash, "/code/shop/api", SHOP, False),
        (Scope.PROJECT, SHOP.project.hash, "/code/shop", SHOP._replace(dir="/code/shop-2"), False),
        (Scope.PROJECT, BLOG.project.hash, "/code/shop", SHOP, False),
        (Scope.PLUGIN, None, None, SHOP, True),
        (Scope.PLUGIN, SHOP.project.hash, None, BLOG, False),
        (Scope.GROUP, "g", None, SHOP, False),
    ],
)
def test_a_row_applies_where_its_scope_reaches(
    scope: Scope, hash: str | None, dir: str | None, workspace: Workspace, applies: bool
) -> None:
    assert in_scope(scope, hash, dir, workspace) is applies


def test_a_groups_project_has_nothing_of_any_machine() -> None:
    api = Workspace("x", "x", Project("x", "a1"), Project("payments", "b2"))
    assert not api.has_files
    reached = [
        scope for scope in Scope if any(in_scope(scope, hash, None, api) for hash in (None, "a1", "b2"))
    ]
    assert reached == [Scope.PROJECT, Scope.GROUP]


def test_a_project_is_its_path_and_has_a_name_for_addresses() -> None:
    shop = identify("/code/My Shop")
    assert len(shop.hash) == 16
    assert shop.short_name == f"My-Shop-{shop.hash[:8]}"
    assert project_called(shop.short_name, [shop, BLOG.project]) == shop
    assert project_called("My-Shop", [shop]) is None


def test_ancestors_are_listed_nearest_first() -> None:
    assert ancestors("/a/b") == ("/a/b", "/a", "/")
    assert ancestors("/a/b/c", up_to="/a/b") == ("/a/b/c", "/a/b")


def test_a_server_needs_trust_if_others_can_edit_its_entry() -> None:
    hash = SHOP.project.hash
    assert needs_trust(Scope.PROJECT, hash, "/code/shop/.mcp.json", SHOP)
    assert needs_trust(Scope.LOCAL, hash, "/code/shop/.claude/settings.local.json", SHOP)
    assert not needs_trust(Scope.LOCAL, hash, "/home/ada/.claude.json", SHOP)
    assert not needs_trust(Scope.GLOBAL, None, "/home/ada/.claude.json", SHOP)
    assert needs_trust(Scope.PLUGIN, hash, "/code/shop/plugin", SHOP)
