"""Which declarations shadow others, and which status names that were only seen have."""

from remit.decision import Authority, Declaration, Kind, Scope, Status, Tool, Winner, adopt, resolve
from support.builders import declared, server, tool


def winners(*declarations: Declaration) -> list[str]:
    return [
        f"{item.declaration.scope} {item.declaration.server or item.declaration.name}"
        for item in resolve(declarations)
        if item.shadowed_by is None and item.declaration.status is Status.ENABLED
    ]


def test_local_beats_project_beats_global() -> None:
    everyones, projects, mine = (
        declared(scope=scope) for scope in (Scope.GLOBAL, Scope.PROJECT, Scope.LOCAL)
    )
    assert winners(everyones, projects, mine) == ["local git"]
    assert winners(everyones, projects) == ["project git"]
    loser = next(item for item in resolve([everyones, mine]) if item.declaration is everyones)
    assert loser.shadowed_by is mine


def test_of_two_directories_the_nearer_one_wins() -> None:
    far = declared(scope=Scope.PROJECT, dir="/code/shop")
    near = declared(scope=Scope.PROJECT, dir="/code/shop/packages/api")
    shadows = {item.declaration.dir: item.shadowed_by for item in resolve([far, near])}
    assert shadows == {"/code/shop": near, "/code/shop/packages/api": None}


def test_names_that_only_normalise_alike_are_two_servers_with_one_prefix() -> None:
    dotted, plain = declared("a.b", Scope.LOCAL), declared("a_b")
    assert dotted.name == plain.name
    assert winners(dotted, plain) == ["local a.b", "global a_b"]


def test_pending_and_rejected_declarations_never_shadow() -> None:
    for status in (Status.PENDING, Status.REJECTED):
        project = declared(scope=Scope.PROJECT, status=status, shadows=False)
        assert winners(project, declared()) == ["global git"]


def test_denied_and_disabled_declarations_shadow_by_name() -> None:
    for status in (Status.DENIED, Status.DISABLED):
        assert winners(declared(scope=Scope.LOCAL, status=status), declared()) == []


def test_a_pending_declaration_that_is_also_denied_does_not_shadow() -> None:
    denied = declared(scope=Scope.PROJECT, status=Status.DENIED, shadows=False)
    assert winners(denied, declared()) == ["global git"]


def test_only_an_enabled_server_shadows_a_plugins_by_endpoint_and_none_does_by_name() -> None:
    plugins = declared(scope=Scope.PLUGIN, plugin="ci", endpoint="same")
    assert winners(declared("other", endpoint="same"), plugins) == ["global other"]
    off = declared("other", endpoint="same", status=Status.DISABLED)
    assert winners(off, plugins) == ["plugin git"]
    assert winners(declared("git", endpoint="another"), plugins) == ["global git", "plugin git"]


def test_a_skill_beats_a_command_except_inside_a_plugin() -> None:
    def pair(plugin: str | None) -> list[Declaration]:
        scope = Scope.GLOBAL if plugin is None else Scope.PLUGIN
        kinds = (Kind.SLASH_COMMAND, Kind.SKILL)
        return [declared("/deploy", scope, kind=kind, plugin=plugin) for kind in kinds]

    def winner(plugin: str | None) -> list[Kind]:
        return [item.declaration.kind for item in resolve(pair(plugin)) if item.shadowed_by is None]

    assert winner(None) == [Kind.SKILL]
    assert winner("ci") == [Kind.SLASH_COMMAND]


def test_of_two_skills_the_users_own_wins_and_of_two_subagents_the_projects() -> None:
    def winner(kind: Kind) -> list[Scope]:
        both = [declared("x", scope, kind=kind) for scope in (Scope.GLOBAL, Scope.PROJECT)]
        return [item.declaration.scope for item in resolve(both) if item.shadowed_by is None]

    assert winner(Kind.SKILL) == [Scope.GLOBAL]
    assert winner(Kind.SUBAGENT) == [Scope.PROJECT]


def seen(name: str = "mcp__git__status", authority: Authority = Authority.HOOK) -> Tool:
    return tool(name, authority=authority, status=Status.SEEN)


def adopted(*rows: Tool) -> Tool:
    return adopt(rows)[-1]


def test_a_tool_that_was_only_seen_shares_the_status_of_its_server_and_stays_seen() -> None:
    status = adopted(server(status=Status.DISABLED), seen())
    assert (status.status, status.authority) == (Status.DISABLED, Authority.HOOK)


def test_of_several_servers_of_the_name_the_active_one_counts() -> None:
    waiting = server(scope=Scope.PROJECT, status=Status.PENDING)
    loser = server(status=Status.DENIED, shadowed_by=Winner(Scope.LOCAL, "f"))
    assert adopted(waiting, loser, server(scope=Scope.LOCAL), seen()).status is Status.ENABLED


def test_names_cannot_be_inverted_so_the_longest_server_counts() -> None:
    rows = (server("git"), server("git__hub", status=Status.DISABLED))
    assert adopted(*rows, seen("mcp__git__hub__star")).status is Status.DISABLED


def test_what_was_seen_of_a_server_that_left_is_stale_and_what_was_reported_stays() -> None:
    gone = server(status=Status.STALE)
    assert adopted(gone, seen()).status is Status.STALE
    assert adopted(gone, seen(authority=Authority.REPORT)).status is Status.SEEN


def test_where_remit_starts_servers_an_untrusted_one_shadows_nothing() -> None:
    theirs = server(scope=Scope.PROJECT, source="/code/shop/.mcp.json", is_trusted=False)
    mine = server(shadowed_by=Winner(Scope.PROJECT, "/code/shop/.mcp.json", "git"))
    assert adopt([theirs, mine])[1].shadowed_by is not None
    assert adopt([theirs, mine], gateway=True)[1].shadowed_by is None
