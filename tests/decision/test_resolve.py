from dataclasses import replace

import pytest

from remit.decision.client_settings import ClientSettings
from remit.decision.declarations import Declaration
from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.resolve import resolve
from remit.decision.scopes import Scope
from remit.decision.settings_rules import Effect, SettingsLevel, SettingsRule
from support.builders import declared


def rule(effect: Effect, subject: str, level: SettingsLevel = SettingsLevel.USER) -> SettingsRule:
    return SettingsRule(source="f", level=level, effect=effect, subject=subject)


APPROVED = rule(Effect.APPROVES_ALL, "true")
NOTHING_SWITCHED_OFF = ClientSettings([APPROVED])


def disabled(server: str) -> ClientSettings:
    return ClientSettings([APPROVED, rule(Effect.DISABLES, server)])


def rejected(server: str) -> ClientSettings:
    return ClientSettings([APPROVED, rule(Effect.REJECTS, server)])


def winners(declarations: list[Declaration], settings: ClientSettings = NOTHING_SWITCHED_OFF) -> list[str]:
    return [
        f"{item.declaration.scope} {item.declaration.server}"
        for item in resolve(declarations, settings)
        if item.shadowed_by is None and item.config_status is ConfigStatus.ENABLED
    ]


def test_local_beats_project_beats_global_whole_entries() -> None:
    three = [declared(scope=scope) for scope in (Scope.GLOBAL, Scope.PROJECT, Scope.LOCAL)]
    assert winners(three) == ["local git"]
    assert winners(three[:2]) == ["project git"]


def test_a_loser_knows_its_winner() -> None:
    local, user = declared(scope=Scope.LOCAL), declared(scope=Scope.GLOBAL)
    loser = next(item for item in resolve([user, local], NOTHING_SWITCHED_OFF) if item.declaration is user)
    assert loser.shadowed_by is local


def test_of_two_directories_the_nearer_one_wins() -> None:
    far = declared(scope=Scope.PROJECT, dir="/code/shop")
    near = declared(scope=Scope.PROJECT, dir="/code/shop/packages/api")
    shadows = {item.declaration.dir: item.shadowed_by for item in resolve([far, near], NOTHING_SWITCHED_OFF)}
    assert shadows == {"/code/shop": near, "/code/shop/packages/api": None}


def test_names_that_only_normalise_alike_are_two_servers() -> None:
    assert winners([declared("a.b", Scope.LOCAL), declared("a_b")]) == ["local a.b", "global a_b"]


def test_a_rejected_project_server_does_not_shadow() -> None:
    settings = rejected("git")
    assert winners([declared(scope=Scope.PROJECT), declared()], settings) == ["global git"]


def test_a_pending_project_server_does_not_shadow() -> None:
    resolved = resolve([declared(scope=Scope.PROJECT), declared()], ClientSettings())
    assert [item.config_status for item in resolved] == [ConfigStatus.PENDING, ConfigStatus.ENABLED]
    assert resolved[1].shadowed_by is None


def test_a_pending_project_server_that_is_also_denied_does_not_shadow() -> None:
    settings = ClientSettings([rule(Effect.DENIES, "command:theirs")])
    resolved = resolve([declared(scope=Scope.PROJECT, endpoint="theirs"), declared()], settings)
    assert [item.config_status for item in resolved] == [ConfigStatus.DENIED, ConfigStatus.ENABLED]
    assert resolved[1].shadowed_by is None


def test_a_denied_local_server_still_shadows_by_name() -> None:
    settings = ClientSettings([rule(Effect.DENIES, "command:mine")])
    assert winners([declared(scope=Scope.LOCAL, endpoint="mine"), declared()], settings) == []


def test_rejection_compares_normalised_names_and_only_project_servers() -> None:
    settings = rejected("a_b")
    assert winners([declared("a.b", Scope.PROJECT), declared("a.b", Scope.LOCAL)], settings) == ["local a.b"]


def test_a_disabled_server_still_shadows_by_name() -> None:
    settings = disabled("git")
    resolved = resolve([declared(scope=Scope.LOCAL), declared()], settings)
    assert [item.config_status for item in resolved] == [ConfigStatus.DISABLED, ConfigStatus.DISABLED]
    assert resolved[1].shadowed_by is resolved[0].declaration


def test_disabling_compares_exact_names() -> None:
    assert winners([declared("a.b")], disabled("a_b")) == ["global a.b"]


def test_a_plugins_server_is_dropped_when_an_enabled_server_has_its_endpoint() -> None:
    plugin = declared("mirror", Scope.PLUGIN, plugin="quill", endpoint="same")
    user = declared("wiki", endpoint="same")
    assert winners([plugin, user]) == ["global wiki"]
    assert winners([plugin, user], disabled("wiki")) == ["plugin mirror"]


def test_of_two_plugins_servers_with_one_endpoint_the_first_is_kept() -> None:
    first = declared("one", Scope.PLUGIN, plugin="quill", endpoint="same")
    second = declared("two", Scope.PLUGIN, plugin="sprocket", endpoint="same")
    assert winners([first, second]) == ["plugin one"]


def test_a_plugins_server_never_collides_by_name() -> None:
    plugin = declared("git", Scope.PLUGIN, plugin="quill", endpoint="other")
    assert winners([plugin, declared("git")]) == ["plugin git", "global git"]


def test_a_plugins_server_without_a_plugins_prefix_yields_by_name_and_not_by_endpoint() -> None:
    plugin = declared("spell", Scope.PLUGIN, endpoint="same")
    assert winners([plugin, declared("wiki", endpoint="same")]) == ["plugin spell", "global wiki"]
    assert winners([plugin, declared("spell", endpoint="other")]) == ["global spell"]


def test_a_plugins_server_is_disabled_under_its_full_label() -> None:
    plugin = declared("git", Scope.PLUGIN, plugin="quill")
    assert winners([plugin], disabled("plugin:quill:git")) == []


def test_an_entry_that_starts_remit_is_marked_as_such() -> None:
    resolved = resolve([declared("remit", is_remit=True)], NOTHING_SWITCHED_OFF)
    assert resolved[0].config_status is ConfigStatus.ITSELF


@pytest.mark.parametrize(
    ("kind", "winner"),
    [(Kind.SKILL, Scope.GLOBAL), (Kind.SUBAGENT, Scope.PROJECT), (Kind.PLUGIN, Scope.PROJECT)],
)
def test_other_kinds_have_their_own_order(kind: Kind, winner: Scope) -> None:
    both = [declared("x", Scope.GLOBAL, kind=kind), declared("x", Scope.PROJECT, kind=kind)]
    assert winners(both) == [f"{winner} x"]


def test_a_scope_that_a_kinds_order_leaves_out_is_the_weakest() -> None:
    both = [declared("x", Scope.LOCAL, kind=Kind.SKILL), declared("x", Scope.PROJECT, kind=Kind.SKILL)]
    assert winners(both) == ["project x"]


def test_of_two_entries_that_are_one_row_the_last_counts() -> None:
    first, last = declared(endpoint="old"), declared(endpoint="new")
    assert [item.declaration for item in resolve([first, last], NOTHING_SWITCHED_OFF)] == [last]


def agents_own(label: str, scope: Scope) -> Declaration:
    return replace(declared(label, scope), agent="auditor")


def test_the_servers_of_a_shadowed_agent_are_shadowed_with_it() -> None:
    near, far = (
        replace(declared(scope=scope, kind=Kind.SUBAGENT), name="auditor", server=None)
        for scope in (Scope.PROJECT, Scope.GLOBAL)
    )
    servers = [agents_own("g", Scope.GLOBAL), agents_own("both", Scope.GLOBAL)]
    servers += [agents_own("p", Scope.PROJECT), agents_own("both", Scope.PROJECT)]
    fates = {
        (item.declaration.server, item.declaration.scope): item.shadowed_by
        for item in resolve([far, near, *servers], NOTHING_SWITCHED_OFF)[2:]
    }
    assert fates == {
        ("g", Scope.GLOBAL): near,
        ("both", Scope.GLOBAL): near,
        ("p", Scope.PROJECT): None,
        ("both", Scope.PROJECT): None,
    }


def test_a_server_whose_agent_is_not_declared_stands_for_itself() -> None:
    assert winners([agents_own("g", Scope.GLOBAL)]) == ["global g"]
