"""Remit's own server: where it is declared, and that it is what memory's tools are."""

from dataclasses import replace

from remit.decision.declarations import Declaration, Resolved
from remit.decision.declared_launch import Launch
from remit.decision.kinds import ConfigStatus
from remit.decision.projects import View
from remit.decision.scopes import Scope
from remit.decision.tool_names import MEMORY_SERVER, REMIT
from remit.memory.memory_server import (
    is_own,
    own_offer,
    own_server,
    own_upstream,
    resolve_own_server,
    tool_definitions,
    with_own_server,
)
from remit.upstream.ports import ServerLists
from remit.upstream.tool_reader import read_offer
from support.builders import CLIENT, SHOP, declared

VIEW = View(CLIENT, SHOP)


def gateway(*more: str) -> Declaration:
    launch = Launch(command="remit", args=("serve", *more))
    return replace(declared("remit", is_remit=True), launch=launch)


def resolved(
    declaration: Declaration,
    status: ConfigStatus = ConfigStatus.ITSELF,
    shadowed_by: Declaration | None = None,
) -> Resolved:
    return Resolved(declaration=declaration, config_status=status, shadowed_by=shadowed_by)


def status(*items: Resolved, is_served: bool = False) -> ConfigStatus | None:
    found = resolve_own_server(VIEW, items, is_served=is_served)
    return None if found is None else found.config_status


def test_a_client_has_it_where_it_starts_the_gateway() -> None:
    assert status(resolved(gateway())) is ConfigStatus.ENABLED
    assert (
        status(resolved(declared("remit", is_remit=True))) is ConfigStatus.ENABLED
    )  # its file is broken now


def test_a_client_that_does_not_start_the_gateway_does_not_have_it() -> None:
    stronger = declared("remit", Scope.LOCAL)
    assert status() is None
    assert status(resolved(declared("git"), ConfigStatus.ENABLED)) is None
    assert status(resolved(gateway(), ConfigStatus.DENIED)) is None
    assert status(resolved(gateway(), shadowed_by=stronger)) is None
    assert status(resolved(gateway("--memory"))) is None


def test_where_only_a_gateway_serves_it_the_client_is_not_said_to_have_it() -> None:
    assert status(is_served=True) is ConfigStatus.UNSERVED
    assert status(resolved(gateway()), is_served=True) is ConfigStatus.ENABLED


def test_the_users_entry_of_memory_alone_stands_in_its_place() -> None:
    alone = replace(gateway("--memory"), server=MEMORY_SERVER)
    assert status(resolved(alone), is_served=True) is None
    assert status(resolved(replace(alone, project_hash="hash")), is_served=True) is ConfigStatus.UNSERVED


def test_a_declared_server_of_its_name_does_not_receive_its_calls() -> None:
    theirs = [
        resolved(declared(MEMORY_SERVER, scope), ConfigStatus.ENABLED)
        for scope in (Scope.GLOBAL, Scope.LOCAL)
    ]
    others = [resolved(declared("git"), ConfigStatus.ENABLED)]
    own = resolve_own_server(VIEW, [*theirs, *others], is_served=True)
    assert own is not None
    found, problems = with_own_server([*theirs, *others], own)
    assert [(item.declaration.source, item.shadowed_by) for item in found] == [
        ("/files/local", own.declaration),
        ("/files/global", None),  # `git`
        (REMIT, None),
    ]
    assert [each.source for each in problems] == ["/files/global", "/files/local"]
    assert with_own_server(others, None) == (others, [])


def test_what_it_lists_is_what_would_be_read_of_it() -> None:
    mine = own_server(CLIENT)
    assert is_own(mine)
    assert not is_own(declared("git"))
    upstream = own_upstream(mine)
    assert (upstream.key, upstream.source) == (mine.key, REMIT)
    read = read_offer(
        ServerLists(tools=list(tool_definitions().values()), capabilities={"tools": {}}), upstream
    )
    assert read.tools == own_offer().tools
    assert own_offer().extras is not None
