"""Whether the client loads Remit, and nothing beside it."""

from collections.abc import Sequence
from dataclasses import replace

from remit.decision.client_settings import ClientSettings
from remit.decision.declarations import Declaration
from remit.decision.declared_launch import Launch, Transport, VariableSyntax, command_digest
from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.problems import Severity
from remit.decision.resolve import resolve
from remit.decision.scopes import Scope
from remit.decision.settings_rules import Effect, SettingsLevel, SettingsRule
from remit.doctor.checks.cannot_start import missing_programs, unset_variables
from remit.doctor.checks.install_health import (
    loaded_twice,
    lost_installs,
    missing_protection,
    unavailable_servers,
    unloaded_servers,
)
from remit.doctor.findings import ClientSetup
from remit.upstream.launch.start_obstacles import LaunchFacts
from support.builders import context, declared, server

USERS = "/home/ada/.claude/settings.json"
SHOPS = "/code/shop/.claude/settings.json"
WORDS = ("/usr/bin/env", "-u", "PYTHONEXECUTABLE", "/opt/remit", "serve")


def entry(label: str, *words: str, scope: Scope = Scope.GLOBAL, url: str = "") -> Declaration:
    transport = Transport.WEBSOCKET if url else Transport.STDIO
    command, *args = words or (f"run-{label}",)
    launch = Launch(transport=transport, command="" if url else command, args=tuple(args), url=url)
    found = declared(label, scope, endpoint=launch.endpoint, is_remit=launch.starts_remit)
    return replace(found, launch=launch)


def allows(
    *matchers: str, source: str = USERS, level: SettingsLevel = SettingsLevel.USER
) -> list[SettingsRule]:
    return [
        SettingsRule(source=source, level=level, effect=Effect.ALLOWS, subject=it) for it in ("", *matchers)
    ]


OWN = allows("name:remit", "name:wire")
ADMITTED = SettingsRule(
    source=USERS, level=SettingsLevel.USER, effect=Effect.ADMITS_REMIT, subject="name:remit"
)
REMIT = entry("remit", *WORDS)


def setup(
    *declarations: Declaration, rules: Sequence[SettingsRule] = (), own: Sequence[SettingsRule] = OWN
) -> ClientSetup:
    told = [*rules, *([ADMITTED] if own else [])]
    resolved = resolve(declarations, ClientSettings(told))
    return ClientSetup(context=context(), resolved=resolved, rules=told, own_rules=own)


def test_an_install_in_order_gives_nothing_to_say() -> None:
    sound = setup(REMIT, entry("git"), entry("wire", url="wss://wire.test"))
    assert [
        *missing_protection(sound),
        *lost_installs(sound),
        *unloaded_servers(sound),
        *loaded_twice(sound),
    ] == []


def test_without_an_install_nothing_is_looked_for() -> None:
    none = setup(entry("git"), own=())
    assert [
        *missing_protection(none),
        *lost_installs(none),
        *unloaded_servers(none),
        *loaded_twice(none),
    ] == []


def test_a_client_that_is_to_load_remit_alone_must_have_it() -> None:
    (finding,) = missing_protection(setup(entry("git")))
    assert (finding.severity, finding.source) == (Severity.ERROR, USERS)
    assert finding.reason.endswith("not loaded: its entry is gone")


def test_a_policy_against_remit_is_named() -> None:
    deny = SettingsRule(
        source="/etc/m.json", level=SettingsLevel.MANAGED, effect=Effect.DENIES, subject="name:remit"
    )
    (finding,) = missing_protection(setup(REMIT, rules=[deny]))
    assert finding.reason.endswith("`deniedMcpServers` in /etc/m.json denies it")
    assert finding.fix == "remove Remit from `deniedMcpServers` in /etc/m.json"


def test_an_entry_that_was_changed_is_named() -> None:
    changed = replace(REMIT, is_remit=False)
    (finding,) = missing_protection(setup(changed))
    assert "its entry in /files/global was changed" in finding.reason
    assert finding.fix == "run `remit install claude-code`"


def third_line(_path: str, /, *_keys: str) -> int:
    return 3


def test_settings_that_switch_hooks_off_are_named_with_their_line() -> None:
    off = SettingsRule(
        source=SHOPS, level=SettingsLevel.PROJECT, effect=Effect.DISABLES_HOOKS, subject="disableAllHooks"
    )
    found = replace(setup(REMIT, rules=[off]), line_of=third_line)
    (finding,) = missing_protection(found)
    assert (finding.severity, finding.source) == (Severity.ERROR, SHOPS)
    assert "Remit's hooks are off here: `disableAllHooks` in .claude/settings.json line 3" in finding.reason
    assert finding.fix == "remove `disableAllHooks` from .claude/settings.json line 3"
    assert list(missing_protection(setup(entry("git"), rules=[off], own=()))) == []


def test_settings_that_remit_cannot_read_may_switch_hooks_off() -> None:
    unread = SettingsRule(source=SHOPS, level=SettingsLevel.PROJECT, effect=Effect.IS_UNREADABLE)
    (finding,) = missing_protection(setup(REMIT, rules=[unread]))
    assert (finding.severity, finding.source) == (Severity.ERROR, SHOPS)
    assert "hooks may be off here: Remit cannot read .claude/settings.json, but the client" in finding.reason
    assert list(missing_protection(setup(entry("git"), rules=[unread], own=()))) == []


def test_a_server_that_the_client_approved_and_remit_may_not_start_is_named() -> None:
    untrusted = server("till", scope=Scope.PROJECT, is_trusted=False)
    others = [
        untrusted._replace(is_trusted=True),
        untrusted._replace(config_status=ConfigStatus.PENDING),
        untrusted._replace(kind=Kind.MCP_TOOL),
    ]
    found = replace(setup(REMIT), tools=[untrusted, *others])
    assert list(unavailable_servers(found)) == []  # without an install, the client starts it
    (finding,) = unavailable_servers(replace(found, context=replace(context(), starts_servers=True)))
    assert (finding.subject, finding.fix) == (
        "till",
        "read what it runs with `remit trust`, then run `remit trust till`",
    )


def test_an_untrusted_server_of_an_agent_is_named_and_so_is_one_in_the_gateways_place() -> None:
    installed = replace(context(), starts_servers=True)
    till = server("till", scope=Scope.PROJECT, is_trusted=False)._replace(agent="rev")
    (finding,) = unavailable_servers(replace(setup(REMIT), tools=[till], context=installed))
    assert finding.reason.startswith("the server `till` of the agent `rev` is not trusted in Remit")
    replaced = replace(setup(REMIT), tools=[till._replace(server="remit")])
    assert list(missing_protection(replaced)) == []
    (finding,) = missing_protection(replace(replaced, context=installed))
    assert "the agent `rev` brings a server called `remit`" in finding.reason


def test_a_projects_server_of_the_same_name_is_named() -> None:
    approval = SettingsRule(
        source=USERS, level=SettingsLevel.USER, effect=Effect.APPROVES_ALL, subject="true"
    )
    (finding,) = missing_protection(
        setup(REMIT, entry("remit", "other", scope=Scope.PROJECT), rules=[approval])
    )
    assert "the server `remit` in /files/project takes its place; the client starts that" in finding.reason
    assert finding.source == "/files/project"


def test_a_list_that_names_remit_without_a_record_is_named() -> None:
    (finding,) = lost_installs(setup(REMIT, rules=OWN, own=()))
    assert finding.source == USERS
    theirs = allows("name:remit", source=SHOPS, level=SettingsLevel.PROJECT)
    assert list(lost_installs(setup(REMIT, rules=theirs, own=()))) == []


def test_a_projects_list_that_lets_the_client_load_a_server_beside_remit_is_named() -> None:
    theirs = allows("name:git", source=SHOPS, level=SettingsLevel.PROJECT)
    (finding,) = loaded_twice(setup(REMIT, entry("git"), entry("wiki"), rules=theirs))
    assert finding.subject == "git"
    assert "in .claude/settings.json adds to Remit's list, so the client loads it too" in finding.reason


def test_an_untrusted_server_that_a_projects_list_lets_the_client_start_is_named_as_such() -> None:
    theirs = allows("name:git", source=SHOPS, level=SettingsLevel.PROJECT)
    found = replace(setup(REMIT, entry("git"), rules=theirs), tools=[server("git", is_trusted=False)])
    (finding,) = loaded_twice(found)
    assert "the client starts it, although Remit does not trust it" in finding.reason


def test_no_variable_is_to_be_set_for_a_server_that_is_not_trusted() -> None:
    launch = Launch(command="run-git", env={"A": "${UNSET}"}, syntaxes=(VariableSyntax.BRACES,))
    found = setup(REMIT, replace(entry("git"), launch=launch))
    assert [finding.subject for finding in unset_variables(found)] == ["git"]
    assert list(unset_variables(replace(found, tools=[server("git", is_trusted=False)]))) == []


def test_remit_is_in_force_beside_another_list_of_names() -> None:
    theirs = allows("name:git", source=SHOPS, level=SettingsLevel.PROJECT)
    assert list(missing_protection(setup(REMIT, entry("git"), rules=theirs))) == []


def test_a_list_that_goes_by_commands_leaves_remit_out_and_is_named() -> None:
    theirs = allows(f"command:{command_digest(['run-git'])}", source=SHOPS, level=SettingsLevel.PROJECT)
    left_out = setup(REMIT, entry("git"), rules=theirs)
    (finding,) = missing_protection(left_out)
    assert finding.reason.endswith("policy in the client's settings in .claude/settings.json")
    assert list(loaded_twice(left_out)) == []


def test_a_server_that_only_the_client_can_load_and_does_not_is_named() -> None:
    agents = replace(entry("peek"), agent="rev")
    (finding,) = unloaded_servers(setup(REMIT, entry("git"), entry("wire", url="wss://wire.test"), agents))
    assert (finding.subject, finding.severity) == ("peek", Severity.ERROR)


MANAGED = "/etc/claude-code/managed-settings.json"
EXCLUDES = SettingsRule(
    source="/etc/claude-code/managed-mcp.json", level=SettingsLevel.MANAGED, effect=Effect.EXCLUDES
)


def disables(key: str, level: SettingsLevel = SettingsLevel.MANAGED) -> SettingsRule:
    return SettingsRule(source=MANAGED, level=level, effect=Effect.DISABLES_HOOKS, subject=key)


def test_an_administrators_hooks_alone_switch_a_users_install_off() -> None:
    (found,) = missing_protection(setup(REMIT, rules=[disables("allowManagedHooksOnly")]))
    assert (found.source, found.place) == (MANAGED, "allowManagedHooksOnly")
    assert "hooks are off here" in found.reason


def test_the_hooks_of_an_administrators_install_stop_only_for_the_administrator() -> None:
    own = replace(REMIT, scope=Scope.MANAGED)
    spared = [disables("allowManagedHooksOnly"), disables("disableAllHooks", SettingsLevel.PROJECT)]
    assert list(missing_protection(setup(own, rules=spared, own=[EXCLUDES]))) == []
    (found,) = missing_protection(setup(own, rules=[disables("disableAllHooks")], own=[EXCLUDES]))
    assert found.place == "disableAllHooks"


def test_an_administrators_gateway_that_was_changed_is_named_with_the_option() -> None:
    changed = entry("remit", "/usr/bin/other", scope=Scope.MANAGED)
    (found,) = missing_protection(setup(changed, own=[EXCLUDES]))
    assert "was changed" in found.reason
    assert found.fix == "run `remit install claude-code --managed`"
    (found,) = missing_protection(setup(own=[EXCLUDES]))
    assert (
        found.fix == "run `remit install claude-code --managed`, or `remit uninstall claude-code --managed`"
    )


def test_servers_next_to_an_administrators_gateway_are_named() -> None:
    own = replace(REMIT, scope=Scope.MANAGED)
    corp, wire = entry("corp", scope=Scope.MANAGED), entry("wire", url="wss://wire.test/")
    (twice,) = loaded_twice(setup(own, corp, wire, own=[EXCLUDES]))
    assert (twice.subject, "`managed-mcp.json` adds" in twice.reason) == ("corp", True)
    (lost,) = unloaded_servers(setup(own, corp, wire, own=[EXCLUDES]))
    assert (lost.subject, lost.fix) == ("wire", "ask the administrator to add it there")


def test_a_python_that_is_gone_is_named_with_the_repair() -> None:
    found = setup(REMIT, entry("git"))
    gone = replace(found, facts=LaunchFacts(absent={REMIT.key: ["command"], entry("git").key: ["command"]}))
    (finding,) = missing_protection(gone)
    assert "/opt/remit does not exist" in finding.reason
    assert finding.fix == "run `remit install claude-code` with the Remit that you use now"
    assert [item.subject for item in missing_programs(gone)] == ["git"]
