from dataclasses import replace

import pytest

from remit.decision.client_settings import ClientSettings, matches, url_matches
from remit.decision.declarations import Declaration
from remit.decision.declared_launch import Launch, Transport
from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.scopes import Scope
from remit.decision.settings_rules import (
    NEVER_ASKS,
    ApprovalPrompt,
    ClientBehavior,
    Effect,
    SettingsLevel,
    SettingsRule,
)
from support.builders import declared

PROJECT_SERVER = declared(scope=Scope.PROJECT)


def rule(effect: Effect, subject: str = "", level: SettingsLevel = SettingsLevel.USER) -> SettingsRule:
    return SettingsRule(source="f", level=level, effect=effect, subject=subject)


TRUSTED = rule(Effect.TRUSTS, "project", SettingsLevel.STATE)


def remote(url: str, label: str = "git") -> Declaration:
    launch = Launch(transport=Transport.HTTP, url=url)
    return replace(declared(label), launch=launch, endpoint=launch.endpoint)


def status(declaration: Declaration, *rules: SettingsRule) -> ConfigStatus:
    return ClientSettings(rules).status(declaration)


@pytest.mark.parametrize(
    ("matcher", "is_matched"),
    [
        ("name:git", True),
        ("name:wiki", False),
        ("url:https://git.test/*", True),
        ("url:https://wiki.test/*", False),
        ("command:x", False),
        ("forgotten-url", False),
    ],
)
def test_a_matcher_goes_by_name_or_by_place(matcher: str, is_matched: bool) -> None:
    assert matches(matcher, remote("https://git.test/mcp")) is is_matched


def test_a_process_is_matched_by_its_command_and_no_url() -> None:
    process = replace(declared("git"), endpoint="x")
    assert matches("command:x", process)
    assert not matches("url:*", process)


def test_a_projects_server_waits_for_approval() -> None:
    assert status(PROJECT_SERVER) is ConfigStatus.PENDING
    assert status(declared(scope=Scope.LOCAL)) is ConfigStatus.ENABLED


def test_without_a_terminal_nothing_waits_but_what_is_rejected_stays_so() -> None:
    assert ClientSettings(is_headless=True).status(PROJECT_SERVER) is ConfigStatus.ENABLED
    rejecting = ClientSettings([rule(Effect.REJECTS, "git")], is_headless=True)
    assert rejecting.status(PROJECT_SERVER) is ConfigStatus.REJECTED


@pytest.mark.parametrize("is_headless", [False, True])
def test_a_client_that_never_asks_lets_nothing_wait(is_headless: bool) -> None:
    settings = ClientSettings(is_headless=is_headless, behavior=NEVER_ASKS)
    assert settings.status(PROJECT_SERVER) is ConfigStatus.ENABLED
    assert settings.can_shadow(PROJECT_SERVER)


def test_a_client_that_always_asks_does_so_without_a_terminal_too() -> None:
    asking = ClientBehavior(asks=ApprovalPrompt.ALWAYS)
    assert ClientSettings(is_headless=True, behavior=asking).status(PROJECT_SERVER) is ConfigStatus.PENDING
    approving = ClientSettings([rule(Effect.APPROVES_ALL, "true")], is_headless=True, behavior=asking)
    assert approving.status(PROJECT_SERVER) is ConfigStatus.ENABLED


def test_what_is_switched_off_stands_in_the_way_unless_the_client_has_it_otherwise() -> None:
    off = replace(declared(), own_status=ConfigStatus.DISABLED)
    assert ClientSettings(behavior=NEVER_ASKS).can_shadow(off)
    assert not ClientSettings(behavior=ClientBehavior(off_shadows=False)).can_shadow(off)
    assert ClientSettings(behavior=ClientBehavior(off_shadows=False)).can_shadow(declared())


def test_what_a_folder_without_trust_declares_waits_even_without_a_terminal() -> None:
    rules = [rule(Effect.WITHHOLDS, "/code/shop"), rule(Effect.APPROVES_ALL, "true")]
    settings = ClientSettings(rules, is_headless=True)
    assert settings.status(PROJECT_SERVER) is ConfigStatus.PENDING
    assert not settings.can_shadow(PROJECT_SERVER)
    nearer = declared(scope=Scope.PROJECT, dir="/code/shop/api")
    assert (settings.status(nearer), settings.can_shadow(nearer)) == (ConfigStatus.ENABLED, True)
    assert settings.status(declared()) is ConfigStatus.ENABLED


def test_where_all_is_withheld_the_users_servers_wait_too_but_a_denied_one_is_denied() -> None:
    assert status(declared(), rule(Effect.WITHHOLDS)) is ConfigStatus.PENDING
    denied = rule(Effect.DENIES, "name:git")
    assert status(declared(), rule(Effect.WITHHOLDS), denied) is ConfigStatus.DENIED


def test_approval_is_of_exact_names_and_rejection_of_normalised_ones() -> None:
    dotted = declared("a.b", Scope.PROJECT)
    assert status(dotted, rule(Effect.APPROVES, "a.b")) is ConfigStatus.ENABLED
    assert status(dotted, rule(Effect.APPROVES, "a_b")) is ConfigStatus.PENDING
    assert status(dotted, rule(Effect.REJECTS, "a_b")) is ConfigStatus.REJECTED


@pytest.mark.parametrize("level", [SettingsLevel.PROJECT, SettingsLevel.LOCAL, SettingsLevel.STATE])
@pytest.mark.parametrize("approval", [(Effect.APPROVES_ALL, "true"), (Effect.APPROVES, "git")])
def test_a_repository_approves_itself_only_once_it_is_trusted(
    level: SettingsLevel, approval: tuple[Effect, str]
) -> None:
    own = rule(*approval, level)
    assert status(PROJECT_SERVER, own) is ConfigStatus.PENDING
    assert status(PROJECT_SERVER, own, TRUSTED) is ConfigStatus.ENABLED


def test_trust_in_a_folder_is_enough_for_what_the_user_wrote_but_not_for_the_repositorys_files() -> None:
    folder = rule(Effect.TRUSTS, "folder", SettingsLevel.STATE)
    for level, expected in (
        (SettingsLevel.LOCAL, ConfigStatus.ENABLED),
        (SettingsLevel.PROJECT, ConfigStatus.PENDING),
    ):
        assert status(PROJECT_SERVER, folder, rule(Effect.APPROVES, "git", level)) is expected


@pytest.mark.parametrize("level", [SettingsLevel.USER, SettingsLevel.MANAGED])
def test_the_user_and_the_administrator_need_no_trust(level: SettingsLevel) -> None:
    assert status(PROJECT_SERVER, rule(Effect.APPROVES_ALL, "true", level)) is ConfigStatus.ENABLED


def test_the_strongest_level_decides_about_approving_all() -> None:
    trust, yes = TRUSTED, rule(Effect.APPROVES_ALL, "true")
    for level in (SettingsLevel.PROJECT, SettingsLevel.LOCAL, SettingsLevel.MANAGED):
        no = rule(Effect.APPROVES_ALL, "false", level)
        assert status(PROJECT_SERVER, trust, yes, no) is ConfigStatus.PENDING
    assert (
        status(PROJECT_SERVER, yes, rule(Effect.APPROVES_ALL, "false", SettingsLevel.PROJECT))
        is ConfigStatus.ENABLED
    )


def test_a_deny_rule_of_any_level_blocks_by_name_command_or_url() -> None:
    server = replace(declared(), endpoint="digest")
    for level in SettingsLevel:
        assert status(server, rule(Effect.DENIES, "name:git", level)) is ConfigStatus.DENIED
    assert status(server, rule(Effect.DENIES, "command:digest")) is ConfigStatus.DENIED
    assert (
        status(remote("https://mcp.test/x"), rule(Effect.DENIES, "url:https://mcp.test/*"))
        is ConfigStatus.DENIED
    )
    for other in ("name:gi", "command:other", "url:*", "nonsense:git"):
        assert status(server, rule(Effect.DENIES, other)) is ConfigStatus.ENABLED


def test_a_plugins_server_is_named_in_full_by_policies() -> None:
    plugins = declared("git", Scope.PLUGIN, plugin="quill")
    assert status(plugins, rule(Effect.DENIES, "name:git")) is ConfigStatus.ENABLED
    assert status(plugins, rule(Effect.DENIES, "name:plugin:quill:git")) is ConfigStatus.DENIED


def test_policies_are_about_servers_and_leave_plugins_alone() -> None:
    plugin = declared("quill@orchard", Scope.PLUGIN, kind=Kind.PLUGIN)
    for blocking in (rule(Effect.ALLOWS), rule(Effect.EXCLUDES), rule(Effect.DENIES, "name:quill@orchard")):
        assert status(plugin, blocking) is ConfigStatus.ENABLED


def test_a_server_with_an_empty_name_is_a_server_like_others() -> None:
    assert status(declared(""), rule(Effect.DISABLES, "")) is ConfigStatus.DISABLED
    assert status(declared("git"), rule(Effect.DISABLES, "")) is ConfigStatus.ENABLED


def test_an_allow_list_lets_through_only_what_it_names() -> None:
    listed = [rule(Effect.ALLOWS), rule(Effect.ALLOWS, "name:wiki")]
    assert status(declared("wiki"), *listed) is ConfigStatus.ENABLED
    assert status(declared("git"), *listed) is ConfigStatus.DENIED


def test_an_empty_allow_list_allows_nothing() -> None:
    assert status(declared(), rule(Effect.ALLOWS)) is ConfigStatus.DENIED


def test_where_commands_or_urls_are_listed_names_do_not_count_for_such_servers() -> None:
    process = replace(declared(), endpoint="digest")
    listed = [rule(Effect.ALLOWS, "name:git"), rule(Effect.ALLOWS, "command:other")]
    assert status(process, *listed) is ConfigStatus.DENIED
    assert status(remote("https://mcp.test/"), *listed) is ConfigStatus.ENABLED


def test_an_administrator_may_reserve_the_allow_list_and_needs_no_leave() -> None:
    listed = [
        rule(Effect.ALLOWS, "name:git"),
        rule(Effect.ALLOWS, "name:wiki", SettingsLevel.MANAGED),
        rule(Effect.ALLOWS_MANAGED_ONLY, level=SettingsLevel.MANAGED),
    ]
    assert status(declared("git"), *listed) is ConfigStatus.DENIED
    assert status(declared("wiki"), *listed) is ConfigStatus.ENABLED
    assert status(declared("other", Scope.MANAGED), *listed) is ConfigStatus.ENABLED


def test_managed_servers_exclude_all_others() -> None:
    settings = ClientSettings([rule(Effect.EXCLUDES, level=SettingsLevel.MANAGED)])
    for scope in (Scope.LOCAL, Scope.PROJECT, Scope.GLOBAL):
        assert settings.status(declared(scope=scope)) is ConfigStatus.DENIED
        assert settings.can_shadow(declared(scope=scope))
    assert settings.status(declared(scope=Scope.MANAGED)) is ConfigStatus.ENABLED


URLS = {
    "upper": "https://Api.Example.com/mcp",
    "bare": "https://api.example.com",
    "plain": "http://api.example.com/mcp",
    "below": "https://sub.api.example.com/x",
    "port": "https://api.example.com:8443/mcp",
    "deep": "https://api.example.com/other/deep?q=1",
}


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [  # each row was observed on Claude Code 2.1.325
        ("https://api.example.com/*", {"upper", "bare", "deep"}),
        ("https://api.example.com", {"upper", "bare", "deep"}),
        ("*://api.example.com/*", {"upper", "bare", "plain", "deep"}),
        ("https://*.example.com/*", {"upper", "bare", "below", "port", "deep"}),
        ("https://api.example.com/mcp", {"upper"}),
        ("https://api.example.com:*/*", {"upper", "bare", "port", "deep"}),
        ("*", set(URLS)),
        ("https://*.com", {"upper", "bare", "below", "port", "deep"}),
        ("HTTPS://API.EXAMPLE.COM/MCP", set[str]()),
        ("https://api.example.com/", {"bare"}),
        ("api.example.com", set[str]()),
    ],
)
def test_url_patterns_match_as_in_the_client(pattern: str, matched: set[str]) -> None:
    assert {name for name, url in URLS.items() if url_matches(pattern, url)} == matched


FORGOTTEN = [
    rule(effect, rule(effect, "url:https://k:s@x.test/*").storable_subject)
    for effect in (Effect.DENIES, Effect.ALLOWS)
]


@pytest.mark.parametrize("forgotten", FORGOTTEN)
@pytest.mark.parametrize(
    ("was_denied", "expected"),
    [(True, ConfigStatus.DENIED), (False, ConfigStatus.ENABLED), (None, ConfigStatus.DENIED)],
)
def test_while_a_pattern_is_not_known_the_last_verdict_stands_and_without_one_it_is_no(
    forgotten: SettingsRule, was_denied: bool | None, expected: ConfigStatus
) -> None:
    server = replace(remote("https://mcp.test/"), was_denied=was_denied)
    assert status(server, forgotten) is expected


@pytest.mark.parametrize(
    ("was_denied", "expected"), [(True, ConfigStatus.DENIED), (False, ConfigStatus.ENABLED)]
)
def test_while_a_servers_url_is_not_known_the_last_verdict_stands(
    was_denied: bool, expected: ConfigStatus
) -> None:
    kept = replace(declared(), endpoint="digest", was_denied=was_denied)
    assert status(kept, rule(Effect.ALLOWS, "url:https://mcp.test/*")) is expected
    assert status(kept, rule(Effect.DENIES, "name:git")) is ConfigStatus.DENIED
    assert status(kept, rule(Effect.EXCLUDES)) is ConfigStatus.DENIED


def test_a_pattern_that_was_forgotten_says_nothing_about_a_process() -> None:
    process = replace(declared(), launch=Launch(command="git"))
    assert status(process, FORGOTTEN[0]) is ConfigStatus.ENABLED


def test_only_patterns_of_urls_are_forgotten() -> None:
    assert rule(Effect.DENIES, "name:git").storable_subject == "name:git"
    assert rule(Effect.DISABLES, "url:git").storable_subject == "url:git"


def permissions(*rules: SettingsRule) -> list[str]:
    return [f"{rule.effect} {rule.text}" for rule in ClientSettings(rules).permissions()]


def test_a_repositorys_rules_allow_nothing_until_it_is_trusted_but_deny_and_ask() -> None:
    shared = [
        rule(Effect.ALLOWS_TOOL, "Bash", SettingsLevel.PROJECT),
        rule(Effect.DENIES_TOOL, "Read", SettingsLevel.PROJECT),
        rule(Effect.ASKS_ABOUT_TOOL, "Edit", SettingsLevel.PROJECT),
    ]
    assert permissions(*shared) == ["deny Read", "ask Edit"]
    assert permissions(*shared, TRUSTED) == ["allow Bash", "deny Read", "ask Edit"]
    folder = rule(Effect.TRUSTS, "folder", SettingsLevel.STATE)
    assert permissions(*shared, folder) == ["deny Read", "ask Edit"]


def test_personal_rules_allow_unless_git_tracks_their_file() -> None:
    personal = rule(Effect.ALLOWS_TOOL, "Bash", SettingsLevel.LOCAL)
    tracked = rule(Effect.IS_TRACKED, level=SettingsLevel.LOCAL)
    assert permissions(personal) == ["allow Bash"]
    assert permissions(personal, tracked) == []
    assert permissions(personal, tracked, TRUSTED) == ["allow Bash"]


def test_an_administrator_may_ignore_all_other_permission_rules() -> None:
    only = rule(Effect.PERMITS_MANAGED_ONLY, level=SettingsLevel.MANAGED)
    managed = rule(Effect.ALLOWS_TOOL, "Read", SettingsLevel.MANAGED)
    own = [rule(Effect.ALLOWS_TOOL, "Bash"), rule(Effect.DENIES_TOOL, "Edit")]
    assert permissions(*own, managed) == ["allow Bash", "deny Edit", "allow Read"]
    assert permissions(*own, managed, only) == ["allow Read"]


@pytest.mark.parametrize(("effect", "subject"), [(Effect.APPROVES, "git"), (Effect.APPROVES_ALL, "true")])
def test_an_approval_without_trust_in_the_folder_is_named(effect: Effect, subject: str) -> None:
    approval = rule(effect, subject, SettingsLevel.LOCAL)
    assert ClientSettings([approval]).ineffective_approval("git") is approval
    assert ClientSettings([approval, TRUSTED]).ineffective_approval("git") is None
    others = [rule(Effect.APPROVES, "wiki", SettingsLevel.LOCAL), rule(Effect.APPROVES_ALL, "false")]
    assert ClientSettings(others).ineffective_approval("git") is None
