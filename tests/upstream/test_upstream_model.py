from dataclasses import replace

import pytest

from remit.decision.launch import Launch
from remit.decision.scopes import Scope
from remit.upstream.upstream_model import Upstream, upstream
from support.builders import SHOP, declared


def made(scope: Scope, *, project_hash: str | None = None, launch: Launch | None = None) -> Upstream | None:
    entry = declared("till", scope, plugin="quill" if scope is Scope.PLUGIN else None)
    entry = replace(entry, project_hash=project_hash, launch=launch or Launch(command="run"))
    return upstream(entry, workspace="/code/shop", home="/home/ada", deadline=5)


@pytest.mark.parametrize("scope", [Scope.LOCAL, Scope.PROJECT, Scope.DYNAMIC])
def test_what_belongs_to_the_workspace_starts_there(scope: Scope) -> None:
    found = made(scope, project_hash=SHOP.project.hash)
    assert found is not None
    assert found.directory == found.place == "/code/shop"


@pytest.mark.parametrize("scope", [Scope.GLOBAL, Scope.MANAGED, Scope.PLUGIN])
def test_what_is_the_users_everywhere_starts_at_home(scope: Scope) -> None:
    found = made(scope)
    assert found is not None
    assert found.directory == "/home/ada"


def test_a_plugin_that_only_the_project_switched_on_starts_in_the_workspace() -> None:
    found = made(Scope.PLUGIN, project_hash=SHOP.project.hash)
    assert found is not None
    assert found.directory == "/code/shop"
    assert found.canonical("ring.up") == "mcp__plugin_quill_till__ring_up"


def test_an_entry_may_name_a_directory_of_its_own() -> None:
    found = made(Scope.LOCAL, project_hash="hash", launch=Launch(command="run", cwd="../api"))
    assert found is not None
    assert found.place == "/code/api"


def test_an_unavailable_entry_is_not_an_upstream() -> None:
    assert upstream(declared(), workspace="/", home="/", deadline=1) is None


def test_neither_an_upstream_nor_its_launch_shows_what_it_runs() -> None:
    found = made(Scope.GLOBAL, launch=Launch(command="run", args=("hunter22",), env={"A": "hunter22"}))
    assert "hunter22" not in repr(found)
