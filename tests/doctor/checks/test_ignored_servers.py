"""Servers in files where the client reads none."""

from dataclasses import replace

from remit.catalog.explanation import Explanation
from remit.decision.client_settings import ClientSettings
from remit.decision.declarations import ClientReading, Declaration
from remit.decision.declared_launch import Launch, Transport
from remit.decision.problems import Severity
from remit.decision.resolve import resolve
from remit.decision.scopes import Scope
from remit.decision.settings_rules import Effect, SettingsLevel, SettingsRule
from remit.doctor.checks.ignored_servers import explain_ignored, ignored_servers
from remit.doctor.findings import ClientSetup
from support.builders import context, declared

SECRET = "qv8Zt3LwXr6Nk1Bp9Ds4"  # noqa: S105 - made up


def entry(scope: Scope = Scope.PROJECT, label: str = "figma", **launch: object) -> Declaration:
    made = Launch(**{"command": "npx", "args": ("-y", "figma@1"), **launch})  # pyright: ignore[reportArgumentType]
    return replace(declared(label, scope), source="/code/shop/.claude/settings.json", launch=made)


OWN_RULE = SettingsRule(source="/s", level=SettingsLevel.USER, effect=Effect.ALLOWS)


def explained(name: str, *ignored: Declaration, is_installed: bool = False) -> Explanation | None:
    own = [OWN_RULE] if is_installed else []
    reading = ClientReading(client="claude-code", declarations=(), inputs={}, own_rules=own, ignored=ignored)
    return explain_ignored(name, [reading], context())


def fix(declaration: Declaration, *, is_installed: bool = False) -> str:
    found = explained("figma", declaration, is_installed=is_installed)
    return (found.decision.unlock or "") if found else ""


def test_each_is_a_warning_with_the_command_that_adds_it() -> None:
    (found,) = ignored_servers(ClientSetup(context=context(), ignored=[entry()]))
    assert (found.severity, found.subject, found.place) == (Severity.WARNING, "figma", "mcpServers")
    assert found.reason == "does nothing: claude-code reads no servers from this file"
    assert found.fix == (
        "run `claude mcp add-json --scope project figma "
        """'{"type": "stdio", "command": "npx", "args": ["-y", "figma@1"]}'`"""
    )


def test_where_the_client_has_a_server_of_that_name_nothing_is_said() -> None:
    resolved = resolve([declared("figma")], ClientSettings([]))
    assert not list(ignored_servers(ClientSetup(context=context(), resolved=resolved, ignored=[entry()])))


def test_after_an_install_remit_adds_it() -> None:
    (found,) = ignored_servers(ClientSetup(context=context(), ignored=[entry()], own_rules=[OWN_RULE]))
    assert found.fix.startswith("run `remit add --scope project figma ")
    assert fix(entry(Scope.GLOBAL), is_installed=True).startswith("run `remit add --scope user figma ")
    assert fix(entry(Scope.LOCAL)).startswith("run `claude mcp add-json --scope local figma ")


def test_no_secret_is_printed_and_variables_stand_for_them() -> None:
    said = fix(
        entry(
            command="",
            args=(),
            transport=Transport.HTTP,
            url=f"https://ada:{SECRET}@example.org/mcp",
            headers={"Authorization": f"Bearer {SECRET}", "X-Team": "blue"},
        )
    )
    assert SECRET not in said
    assert said.startswith("set `FIGMA_TOKEN` in your environment, then run `claude mcp add-json ")
    assert '"url": "https://ada:${FIGMA_TOKEN}@example.org/mcp"' in said
    assert '{"Authorization": "Bearer ${FIGMA_TOKEN}", "X-Team": "blue"}' in said
    started = fix(
        entry(
            args=("--api-key", SECRET, f"--token={SECRET}", "--port", "80"),
            env={"MAP_KEY": "short-one", "API_TOKEN": "${MINE}", "LEVEL": "debug"},
        )
    )
    assert SECRET not in started
    assert "set `FIGMA_TOKEN` and `MAP_KEY` in your environment" in started
    assert '["--api-key", "${FIGMA_TOKEN}", "--token=${FIGMA_TOKEN}", "--port", "80"]' in started
    assert '{"MAP_KEY": "${MAP_KEY}", "API_TOKEN": "${MINE}", "LEVEL": "debug"}' in started


def test_a_server_is_found_by_its_name_and_by_those_of_its_tools() -> None:
    ignored = [entry(), entry(label="docs")]
    for name in ("docs", "mcp__docs", "mcp__docs__*", "mcp__docs__read", "docs__read"):
        found = explained(name, *ignored)
        assert found is not None
        assert found.name == "mcp__docs__*"
    assert explained("read", *ignored) is None


def test_a_person_reads_which_file_it_is() -> None:
    found = explained("figma", entry())
    assert found is not None
    assert (
        found.decision.full_reason
        == "declared in `mcpServers` in .claude/settings.json, where claude-code reads no servers"
    )
