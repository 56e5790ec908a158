"""Which server of a name counts where Remit starts servers."""

import pytest

from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.row_status import without_untrusted
from remit.decision.scopes import Scope
from remit.decision.tools import Tool, Winner
from support.builders import SHOP, server


def row(
    scope: Scope,
    *,
    is_trusted: bool | None = None,
    status: ConfigStatus = ConfigStatus.ENABLED,
    shadowed_by: Tool | None = None,
    dir: str | None = None,
) -> Tool:
    made = server("good", scope=scope, config_status=status, is_trusted=is_trusted)
    winner = None if shadowed_by is None else Winner(shadowed_by.scope, shadowed_by.source)
    is_here = scope is Scope.PROJECT
    return made._replace(
        source=f"/files/{scope}{dir or ''}",
        shadowed_by=winner,
        project_hash=SHOP.project.hash if is_here else None,
        dir=(dir or SHOP.dir) if is_here else None,
    )


def tool_of(owner: Tool) -> Tool:
    return owner._replace(name="mcp__good__read", kind=Kind.MCP_TOOL)


def winners(*tools: Tool) -> list[Winner | None]:
    return [tool.shadowed_by for tool in without_untrusted(tools)]


def test_an_untrusted_server_shadows_neither_the_users_server_nor_its_tools() -> None:
    theirs = row(Scope.PROJECT, is_trusted=False)
    mine = row(Scope.GLOBAL, shadowed_by=theirs)
    assert winners(theirs, mine, tool_of(mine)) == [None, None, None]


@pytest.mark.parametrize("is_trusted", [True, None])
def test_a_trusted_server_shadows_as_its_client_says(is_trusted: bool | None) -> None:
    theirs = row(Scope.PROJECT, is_trusted=is_trusted)
    mine = row(Scope.GLOBAL, shadowed_by=theirs)
    assert winners(theirs, mine, tool_of(mine)) == [None, mine.shadowed_by, mine.shadowed_by]


def test_the_strongest_trusted_server_takes_the_place() -> None:
    near = row(Scope.PROJECT, is_trusted=False)
    far = row(Scope.PROJECT, is_trusted=True, shadowed_by=near, dir="/code")
    mine = row(Scope.GLOBAL, shadowed_by=near)
    assert winners(near, far, mine) == [None, None, Winner(far.scope, far.source, "good")]


@pytest.mark.parametrize("status", [ConfigStatus.PENDING, ConfigStatus.REJECTED])
def test_what_is_not_approved_takes_no_place(status: ConfigStatus) -> None:
    near = row(Scope.PROJECT, is_trusted=False)
    far = row(Scope.PROJECT, is_trusted=True, status=status, shadowed_by=near, dir="/code")
    mine = row(Scope.GLOBAL, shadowed_by=near)
    assert winners(near, far, mine)[2] is None


def test_a_plugins_server_that_only_an_untrusted_one_shadows_by_its_endpoint_is_back() -> None:
    theirs = row(Scope.PROJECT, is_trusted=False)._replace(server="other", name="mcp__other__*", endpoint="e")
    plugin = row(Scope.PLUGIN, shadowed_by=theirs)._replace(plugin="quill", endpoint="e")
    assert winners(theirs, plugin) == [None, None]


def test_other_servers_of_the_same_file_change_nothing() -> None:
    trusted = row(Scope.PROJECT, is_trusted=True)
    other = row(Scope.PROJECT, is_trusted=False)._replace(server="other", name="mcp__other__*")
    mine = row(Scope.GLOBAL, shadowed_by=trusted)
    assert winners(trusted, other, mine)[2] == mine.shadowed_by
