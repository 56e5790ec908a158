from functools import partial

import pytest

from remit.clients.claude.claude_settings import parse_settings
from remit.clients.parsing.client_reader import ConfigFile, ParsedFile
from remit.decision.declared_launch import command_digest
from remit.decision.settings_rules import SettingsLevel
from support.builders import SHOP, servers
from support.sandbox import Sandbox


def parse(content: object, level: SettingsLevel = SettingsLevel.USER) -> ParsedFile:
    file = ConfigFile(path="/home/ada/.claude/settings.json", parse=partial(parse_settings, level=level))
    return file.parsed(content, SHOP)


def rules(content: object, level: SettingsLevel = SettingsLevel.USER) -> list[tuple[str, str]]:
    return [(rule.effect, rule.subject) for rule in parse(content, level).rules]


def test_approvals_are_read() -> None:
    assert rules(
        {"enableAllProjectMcpServers": False, "enabledMcpjsonServers": ["a.b"], "theme": "dark"}
    ) == [
        ("approves_all", "false"),
        ("approves", "a.b"),
    ]


def test_a_list_may_be_written_as_one_text() -> None:
    assert rules({"disabledMcpjsonServers": "a.b"}) == [("rejects", "a_b")]


@pytest.mark.parametrize(
    "content",
    [
        [],
        {"enableAllProjectMcpServers": "yes", "disabledMcpjsonServers": ["git"]},
        {"disabledMcpjsonServers": ["git", 3]},
        {"enabledMcpjsonServers": {}},
    ],
)
def test_a_wrong_type_among_approvals_makes_the_whole_file_say_nothing(content: object) -> None:
    parsed = parse(content)
    assert (parsed.rules, len(parsed.problems)) == ([], 1)


def test_policies_are_read_and_keep_no_command() -> None:
    denied = [
        {"serverName": "we ird"},
        {"serverCommand": ["x", "--key=hush"]},
        {"serverUrl": "https://*.test/*"},
    ]
    assert rules({"deniedMcpServers": denied}) == [
        ("denies", "name:we ird"),
        ("denies", f"command:{command_digest(['x', '--key=hush'])}"),
        ("denies", "url:https://*.test/*"),
    ]
    assert "hush" not in repr(parse({"deniedMcpServers": denied}))


@pytest.mark.parametrize(
    "entry", [None, {}, {"other": 1}, {"serverName": "a", "serverCommand": ["a"]}, {"serverName": 3}]
)
def test_a_bad_entry_of_a_policy_costs_only_itself(entry: object) -> None:
    parsed = parse({"deniedMcpServers": [entry, {"serverName": "git", "note": "kept"}]})
    assert [rule.subject for rule in parsed.rules] == ["name:git"]
    assert [problem.place for problem in parsed.problems] == ["deniedMcpServers[0]"]


def test_a_list_of_too_many_urls_denies_every_url_and_allows_fewer() -> None:
    urls = [{"serverUrl": f"https://a{number}.test/*"} for number in range(301)]
    denied = parse({"deniedMcpServers": [{"serverName": "git"}, *urls]})
    assert [rule.subject for rule in denied.rules] == ["name:git", "url:*"]
    assert [problem.reason for problem in denied.problems] == ["more than 300 URLs"]
    allowed = parse({"allowedMcpServers": urls})
    assert [rule.subject for rule in allowed.rules] == [
        "",
        *(f"url:{url['serverUrl']}" for url in urls[:300]),
    ]


def test_a_policy_that_is_no_list_is_left_out() -> None:
    assert rules({"allowedMcpServers": "git", "deniedMcpServers": {}, "enabledMcpjsonServers": ["a"]}) == [
        ("approves", "a")
    ]


def test_an_allow_list_takes_only_plain_names_and_is_a_list_even_when_nothing_is_left_of_it() -> None:
    assert rules({"allowedMcpServers": [{"serverName": "a.b"}]}) == [("allows", "")]


def test_only_an_administrator_can_reserve_the_allow_list() -> None:
    content = {"allowManagedMcpServersOnly": True}
    assert rules(content) == []
    assert rules(content, SettingsLevel.MANAGED) == [("allows_managed_only", "")]


def visible(sandbox: Sandbox, directory: str = "", *, is_headless: bool = False) -> list[str]:
    registry = sandbox.registry()
    listed = registry.tools(registry.at(str(sandbox.root / "code/shop" / directory), is_headless=is_headless))
    return sorted(item.tool.server or "" for item in listed if item.decision.is_available)


def test_a_projects_server_waits_for_approval_unless_the_client_has_no_terminal(sandbox: Sandbox) -> None:
    shop = sandbox.project("shop")
    sandbox.write(sandbox.home / ".claude/settings.json", {"disabledMcpjsonServers": ["scale"]})
    sandbox.write(shop / ".mcp.json", servers("till", "scale"))
    assert visible(sandbox) == []
    assert visible(sandbox, is_headless=True) == ["till"]
    assert visible(sandbox) == []


def test_settings_of_the_root_count_below_it_only_where_they_are_personal(sandbox: Sandbox) -> None:
    shop = sandbox.project("shop")
    (shop / "api").mkdir()
    sandbox.write(shop / ".mcp.json", servers("till", "scale"))
    sandbox.write(shop / ".claude/settings.json", {"disabledMcpjsonServers": ["till"]})
    sandbox.write(shop / ".claude/settings.local.json", {"disabledMcpjsonServers": ["scale"]})
    assert visible(sandbox) == []
    assert visible(sandbox, "api") == ["till"]


def test_managed_servers_are_all_there_are(sandbox: Sandbox) -> None:
    shop = sandbox.project("shop")
    sandbox.write_state("wiki", local={shop: servers("ledger")})
    sandbox.write(shop / ".mcp.json", servers("till"))
    managed = sandbox.root / "machine/etc/claude-code"
    sandbox.write(managed / "managed-mcp.json", servers("corp", "crm"))
    assert visible(sandbox) == ["corp", "crm"]
    sandbox.write(managed / "managed-settings.d/10-crm.json", {"deniedMcpServers": [{"serverName": "crm"}]})
    assert visible(sandbox) == ["corp"]
    sandbox.write(managed / "managed-mcp.json", "{")
    assert visible(sandbox) == ["corp"]  # as last read
    sandbox.write(managed / "managed-mcp.json", "[]")
    assert visible(sandbox) == []
    (managed / "managed-mcp.json").unlink()
    assert visible(sandbox) == ["ledger", "till", "wiki"]


def test_only_an_administrator_can_reserve_hooks() -> None:
    content = {"allowManagedHooksOnly": True}
    assert rules(content) == []
    assert rules(content, SettingsLevel.MANAGED) == [("disables_hooks", "allowManagedHooksOnly")]


@pytest.mark.parametrize(
    ("level", "scope"),
    [
        (SettingsLevel.USER, "global"),
        (SettingsLevel.PROJECT, "project"),
        (SettingsLevel.LOCAL, "local"),
    ],
)
def test_servers_in_settings_are_kept_apart_because_the_client_ignores_them(
    level: SettingsLevel, scope: str
) -> None:
    parsed = parse({"mcpServers": {"git": {"command": "x"}, "bad": {"url": "https://mcp.test/"}}}, level)
    assert [(each.server, each.scope) for each in parsed.ignored] == [("git", scope)]
    assert (parsed.declarations, parsed.problems) == ([], [])
    assert parse({"mcpServers": ["git"]}, level).problems == []
    assert parse({"mcpServers": {"git": {"command": "x"}}}, SettingsLevel.MANAGED).ignored == []
