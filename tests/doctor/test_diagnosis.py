"""Each check on its own, with what it must find and what it must leave alone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from remit.decision.client_settings import ClientSettings
from remit.decision.declarations import Declaration, Resolved
from remit.decision.declared_launch import Launch, Transport, VariableSyntax
from remit.decision.kinds import Authority, ConfigStatus, Kind
from remit.decision.problems import Problem, Severity
from remit.decision.resolve import resolve
from remit.decision.scopes import Scope
from remit.decision.settings_rules import Effect, SettingsLevel, SettingsRule
from remit.decision.tool_names import tool_name
from remit.decision.tools import Tool
from remit.doctor.checks.broken_files import broken_files
from remit.doctor.checks.cannot_start import missing_programs, relative_commands, unset_variables
from remit.doctor.checks.exposed_secrets import exposed_secrets
from remit.doctor.checks.name_collisions import colliding_names, conflicts, duplicates, long_names
from remit.doctor.checks.unreviewed_code import unpinned_packages
from remit.doctor.checks.upkeep import UNUSED_AFTER, unused_servers, waiting_servers
from remit.doctor.diagnosis import Check, diagnose
from remit.doctor.findings import ClientSetup, Finding
from remit.upstream.launch.start_obstacles import LaunchFacts
from support.builders import CLIENT, context, declared
from support.builders import server as server_row

HEX = "9f86d081884c7d65" + "9a2feaa0c55ad015"
ALL = ClientSettings(
    [SettingsRule(source="/s", level=SettingsLevel.USER, effect=Effect.APPROVES_ALL, subject="true")]
)


def entry(
    label: str = "git",
    scope: Scope = Scope.GLOBAL,
    command: str = "run",
    *args: str,
    env: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    url: str = "",
    cwd: str | None = None,
    plugin: str | None = None,
) -> Declaration:
    launch = Launch(
        transport=Transport.HTTP if url else Transport.STDIO,
        command="" if url else command,
        args=args,
        env=env or {},
        headers=headers or {},
        url=url,
        cwd=cwd,
        syntaxes=(VariableSyntax.DEFAULTS,),
    )
    return replace(
        declared(label, scope, plugin=plugin, endpoint=launch.endpoint, is_remit=launch.starts_remit),
        launch=launch,
    )


def setup(
    *declarations: Declaration, settings: ClientSettings = ALL, facts: LaunchFacts | None = None
) -> ClientSetup:
    return ClientSetup(
        context=context(), resolved=resolve(declarations, settings), facts=facts or LaunchFacts()
    )


def said(check: Check, examined: ClientSetup) -> list[str]:
    return [f"{item.severity} {item.source} {item.subject}" for item in check(examined)]


def one(check: Check, examined: ClientSetup) -> Finding:
    (finding,) = check(examined)
    return finding


def test_a_name_at_two_scopes_with_two_endpoints_is_a_conflict_in_the_losers_file() -> None:
    finding = one(conflicts, setup(entry(), entry("git", Scope.LOCAL, "other")))
    assert (finding.severity, finding.source, finding.subject) == (Severity.WARNING, "/files/global", "git")
    assert "the local declaration of this name in /files/local wins" in finding.reason


def test_the_same_server_at_two_scopes_is_no_conflict() -> None:
    assert said(conflicts, setup(entry(), entry("git", Scope.LOCAL))) == []


def test_a_server_that_waits_for_approval_is_told_with_the_one_it_would_replace() -> None:
    examined = setup(entry(), entry("git", Scope.PROJECT, "other"), settings=ClientSettings())
    assert "until then the global declaration" in one(conflicts, examined).reason


def test_a_rejected_server_is_in_no_conflict() -> None:
    rejection = SettingsRule(source="/s", level=SettingsLevel.USER, effect=Effect.REJECTS, subject="git")
    examined = setup(
        entry(), entry("git", Scope.PROJECT, "other"), settings=ClientSettings([*ALL.rules, rejection])
    )
    assert said(conflicts, examined) == []


def test_a_plugins_server_that_yields_to_the_same_server_is_no_conflict() -> None:
    assert said(conflicts, setup(entry("wiki"), entry("mirror", Scope.PLUGIN, plugin="quill"))) == []


def test_one_server_under_two_names_is_a_duplicate() -> None:
    finding = one(duplicates, setup(entry("git"), entry("repo", Scope.LOCAL)))
    assert (finding.source, finding.subject) == ("/files/local", "repo")
    assert "the same server as `git` (global, /files/global)" in finding.reason


def test_two_accounts_of_one_service_are_no_duplicates() -> None:
    work = entry("work", env={"TOKEN": "${WORK}"})
    assert said(duplicates, setup(work, entry("home", env={"TOKEN": "${HOME_TOKEN}"}))) == []
    urls = [entry(label, url="https://mcp.test", headers={"X-Team": label}) for label in ("a", "b")]
    assert said(duplicates, setup(*urls)) == []


def test_remit_twice_is_a_duplicate_however_it_is_started() -> None:
    examined = setup(
        entry("remit", Scope.GLOBAL, "remit", "serve"), entry("r", Scope.LOCAL, "uvx", "remit", "serve")
    )
    assert one(duplicates, examined).subject == "r"


def test_names_that_become_one_prefix_collide() -> None:
    finding = one(colliding_names, setup(entry("a.b"), entry("a_b"), entry("a-b")))
    assert (finding.severity, finding.subject) == (Severity.ERROR, "a_b")
    assert "`mcp__a_b__*`, as are those of `a.b`" in finding.reason


def tool(server: str, name: str, uses: int = 0, since: int = 0) -> Tool:
    return Tool(
        name=tool_name(server, name),
        kind=Kind.MCP_TOOL,
        client=CLIENT,
        scope=Scope.GLOBAL,
        server=server,
        source="hook",
        authority=Authority.HOOK,
        usage_count=uses,
        discovered_at=since,
    )


@pytest.mark.parametrize(
    ("label", "tools", "severity", "says"),
    [
        ("s" * 32, (), None, ""),
        ("s" * 33, (), Severity.WARNING, "leaves 24 of the 64 characters"),
        ("s" * 80, (), Severity.WARNING, "leaves none of the 64 characters"),
        ("s" * 33, ("t" * 24,), Severity.NOTE, "when Remit serves it has 71 characters; "),
        ("s" * 33, ("t" * 25, "u"), Severity.WARNING, "` has 65 characters; many models allow 64"),
        ("s" * 20, ("t" * 40, "u" * 38), Severity.WARNING, " has 67 characters, and 1 more; "),
        ("s" * 20, ("t" * 30,), None, ""),
    ],
)
def test_long_names_are_told_once_for_each_server(
    label: str, tools: Sequence[str], severity: Severity | None, says: str
) -> None:
    known = [tool(label, name) for name in tools]
    found = list(long_names(replace(setup(entry(label)), tools=[server_row(label), *known])))
    assert [item.severity for item in found] == ([] if severity is None else [severity])
    assert all(says in item.reason for item in found)


@pytest.mark.parametrize(
    ("reason", "fix"),
    [
        ("not valid JSON: Expecting value", "JSON has no comments"),
        ("not valid TOML: Unclosed array", "correct the text there"),
        ("the file is empty", "write `{}` into it"),
        ("permission denied", "chmod u+r"),
        ("not a regular file", "replace it with a plain file"),
        ("`mcpServers` is missing", "add `mcpServers`"),
        ("`mcpServers` is missing; rename `servers` to `mcpServers`", "rename `servers` to `mcpServers`"),
        ('`url` without a remote `type`; add "type": "http"', 'add "type": "http"'),
        ("the name is reserved by the client", "another name"),
        ("type: not one of stdio, http", "use one of stdio, http"),
        ("args: expected a list, found text", "write a list there"),
        ("command: must not be empty", "fill it in"),
        ("17,000,000 bytes; at most 16,777,216 are read", "smaller"),
        ("something new", "fix it, or remove it"),
    ],
)
def test_each_broken_file_or_entry_is_an_error_with_a_fix(reason: str, fix: str) -> None:
    problem = Problem(source="/files/.mcp.json", place="line 1", reason=reason)
    finding = one(broken_files, replace(setup(), problems=[problem]))
    assert (finding.severity, finding.source, finding.place) == (Severity.ERROR, problem.source, "line 1")
    assert fix in finding.fix


@pytest.mark.parametrize(
    ("command", "place", "says"),
    [
        ("ledger", "command", "`ledger` is not on PATH"),
        ("/opt/ledger", "command", "`/opt/ledger` does not exist"),
        (f"/opt/{HEX}", "command", "its program does not exist"),
        ("node", "args[0]", "the file to run does not exist"),
    ],
)
def test_a_missing_program_is_an_error(command: str, place: str, says: str) -> None:
    declaration = entry("git", Scope.GLOBAL, command)
    finding = one(missing_programs, setup(declaration, facts=LaunchFacts(absent={declaration.key: (place,)})))
    assert (finding.severity, finding.place, finding.reason) == (Severity.ERROR, place, says)


def test_a_server_that_is_not_in_force_may_lack_its_program() -> None:
    loser = entry()
    examined = setup(loser, entry("git", Scope.LOCAL), facts=LaunchFacts(absent={loser.key: ("command",)}))
    assert said(missing_programs, examined) == []


@pytest.mark.parametrize(
    ("scope", "command", "severity"),
    [
        (Scope.GLOBAL, "./bin/run", Severity.WARNING),
        (Scope.LOCAL, "bin\\run.exe", Severity.WARNING),
        (Scope.PROJECT, "./bin/run", Severity.NOTE),
        (Scope.PROJECT, "~/bin/run", Severity.WARNING),
        (Scope.GLOBAL, "run", None),
        (Scope.GLOBAL, "/bin/run", None),
        (Scope.GLOBAL, "C:\\bin\\run.exe", None),
        (Scope.GLOBAL, "${HOME}/bin/run", None),
    ],
)
def test_commands_that_depend_on_the_directory_are_told(
    scope: Scope, command: str, severity: Severity | None
) -> None:
    found = list(relative_commands(setup(entry("git", scope, command))))
    assert [item.severity for item in found] == ([] if severity is None else [severity])


def test_a_relative_command_with_a_directory_of_its_own_is_fine() -> None:
    assert said(relative_commands, setup(entry("git", Scope.GLOBAL, "./run", cwd="/opt"))) == []
    assert said(relative_commands, setup(entry("git", url="https://mcp.test"))) == []


def test_unset_variables_are_named_once_for_each_server_without_any_value() -> None:
    env = {"A": "${TOKEN}", "B": "x-${TOKEN}", "C": "${SET}", "D": "${OTHER:-default}", "E": "${DSN}"}
    plain = ("${env:X}", "${input:x}", "${CLAUDE_PROJECT_DIR}", "$HOME", "${{ secrets.X }}")
    examined = setup(
        entry("git", Scope.GLOBAL, "run", *plain, env=env), facts=LaunchFacts(variables=frozenset({"SET"}))
    )
    found = list(unset_variables(examined))
    assert [(item.place, item.severity) for item in found] == [
        ("env.A", Severity.WARNING),
        ("env.E", Severity.WARNING),
    ]
    assert "`TOKEN` is not set" in found[0].reason
    assert "`DSN` is not set" in found[1].reason


def test_a_variable_that_the_entry_itself_sets_is_set_for_its_arguments_alone() -> None:
    remote = entry("m", Scope.GLOBAL, "run", "--header", "Authorization:${AUTH}", env={"AUTH": "${AUTH}"})
    assert [item.place for item in unset_variables(setup(remote))] == ["env.AUTH"]


def test_an_unpinned_package_is_named_with_the_way_to_pin_it() -> None:
    finding = one(unpinned_packages, setup(entry("git", Scope.PROJECT, "npx", "-y", "@acme/git")))
    assert finding.severity is Severity.WARNING
    assert finding.reason.startswith("`@acme/git` has no fixed version")
    assert finding.fix == "write `@acme/git@<version>`; `npm view @acme/git version` prints the newest"


def test_a_plugins_package_is_for_its_author_to_pin() -> None:
    examined = setup(entry("git", Scope.PLUGIN, "uvx", "git-mcp", plugin="quill"))
    assert one(unpinned_packages, examined).fix == (
        "ask the author of the plugin `quill` to write `git-mcp@<version>`, or disable the plugin"
    )


def test_packages_count_before_approval_and_not_after_rejection_or_in_a_losers_entry() -> None:
    npx = entry("git", Scope.PROJECT, "npx", "git-mcp")
    assert one(unpinned_packages, setup(npx, settings=ClientSettings())).subject == "git"
    assert said(unpinned_packages, setup(npx, entry("git", Scope.LOCAL))) == []
    rejection = SettingsRule(source="/s", level=SettingsLevel.USER, effect=Effect.REJECTS, subject="git")
    assert said(unpinned_packages, setup(npx, settings=ClientSettings([rejection]))) == []
    assert said(unpinned_packages, setup(replace(npx, launch=None))) == []


def test_remit_itself_needs_no_version_approved_or_not() -> None:
    remit = entry("remit", Scope.PROJECT, "uvx", "remit", "serve")
    assert said(unpinned_packages, setup(remit)) == []
    assert said(unpinned_packages, setup(remit, settings=ClientSettings())) == []


def test_a_package_that_may_be_a_secret_is_not_shown() -> None:
    finding = one(unpinned_packages, setup(entry("git", Scope.GLOBAL, "npx", f"pkg-{HEX}")))
    assert finding.reason.startswith("its package has no fixed version")
    assert HEX not in finding.fix


SECRET = entry("git-hub", Scope.PROJECT, "run", "--key", HEX, env={"TOKEN": HEX, "X.KEY": HEX})


@pytest.mark.parametrize(
    ("syntaxes", "says"),
    [
        ((VariableSyntax.BRACES, VariableSyntax.DEFAULTS), "write `${TOKEN}` instead"),
        ((VariableSyntax.DOLLAR_ENV,), "write `${env:TOKEN}` instead"),
        ((VariableSyntax.BRACE_ENV,), "write `{env:TOKEN}` instead"),
        ((VariableSyntax.SECRETS,), "write `${{ secrets.TOKEN }}` instead"),
        ((), "remove it, and set `TOKEN` where the client is started"),
    ],
)
def test_the_fix_is_written_as_the_client_writes_variables(
    syntaxes: tuple[VariableSyntax, ...], says: str
) -> None:
    declaration = entry(env={"TOKEN": HEX})
    assert declaration.launch is not None
    launch = replace(declaration.launch, syntaxes=syntaxes)
    assert one(exposed_secrets, setup(replace(declaration, launch=launch))).fix.startswith(says)


def test_a_secret_is_named_by_its_key_and_worse_in_a_tracked_file() -> None:
    found = list(exposed_secrets(setup(SECRET)))
    assert [(item.severity, item.place) for item in found] == [
        (Severity.WARNING, "args[1]"),
        (Severity.WARNING, "env.TOKEN"),
        (Severity.WARNING, "env.X.KEY"),
    ]
    assert "write `${TOKEN}` instead" in found[1].fix
    assert "write `${GIT_HUB_TOKEN}` instead" in found[0].fix
    tracked = list(exposed_secrets(setup(SECRET, facts=LaunchFacts(tracked=frozenset({SECRET.source})))))
    assert {item.severity for item in tracked} == {Severity.ERROR}
    assert tracked[0].fix.startswith("revoke it")


def test_a_remote_servers_headers_and_url_count_also_when_it_is_not_in_force() -> None:
    remote = entry("m", url=f"https://mcp.test/?token={HEX}", headers={"Authorization": f"Bearer {HEX}"})
    found = list(
        exposed_secrets(setup(remote, entry("m", Scope.LOCAL), replace(remote, server="n", launch=None)))
    )
    assert [(item.place, item.reason) for item in found] == [
        ("url", "a secret in plain text"),
        ("headers.Authorization", "a secret in plain text"),
    ]
    assert "write `https://mcp.test/?token=${M_TOKEN}` instead" in found[0].fix
    assert "write `Bearer ${M_TOKEN}` instead" in found[1].fix


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (f"Authorization: Bearer {HEX}", "Authorization: Bearer ${G_TOKEN}"),
        (f"--api-key={HEX}", "--api-key=${G_TOKEN}"),
        (f"https://user:{HEX}@mcp.test/{HEX}", "${G_TOKEN}"),
    ],
)
def test_the_fix_keeps_what_is_in_front_of_the_secret(value: str, written: str) -> None:
    found = one(exposed_secrets, setup(entry("g", Scope.GLOBAL, "run", "--token", value)))
    assert f"write `{written}` instead" in found.fix


def test_an_option_with_its_value_is_not_the_name_of_the_next_word() -> None:
    assert said(exposed_secrets, setup(entry("g", Scope.GLOBAL, "run", "--x=token", HEX))) == []


def test_a_server_that_waits_is_a_note() -> None:
    waiting = setup(entry("git", Scope.PROJECT), entry("wiki"), settings=ClientSettings())
    assert said(waiting_servers, waiting) == ["note /files/project git"]


NOW = 10 * UNUSED_AFTER
LONG_AGO = NOW - 2 * UNUSED_AFTER
RECENTLY = NOW - 1


@pytest.mark.parametrize(
    ("row", "uses_since", "says"),
    [
        (server_row("git")._replace(discovered_at=LONG_AGO), LONG_AGO, "was never used"),
        (
            server_row("git")._replace(discovered_at=LONG_AGO, last_used_at=LONG_AGO, usage_count=1),
            LONG_AGO,
            "was not used in the last 30 days",
        ),
        (server_row("git")._replace(discovered_at=LONG_AGO, last_used_at=RECENTLY), LONG_AGO, None),
        (server_row("git")._replace(discovered_at=RECENTLY), LONG_AGO, None),
        (server_row("git")._replace(discovered_at=LONG_AGO), RECENTLY, None),
        (server_row("git")._replace(discovered_at=LONG_AGO), None, None),
        (server_row("other")._replace(discovered_at=LONG_AGO), LONG_AGO, None),
    ],
)
def test_an_unused_server_is_a_note_where_uses_are_recorded_for_long(
    row: Tool, uses_since: int | None, says: str | None
) -> None:
    uses = [] if uses_since is None else [tool("wiki", "read", uses=1, since=uses_since)]
    found = list(unused_servers(replace(setup(entry()), tools=[row, *uses], at=NOW)))
    assert [item.reason for item in found] == ([] if says is None else [says])


def test_findings_come_by_file_the_worst_first_and_each_once() -> None:
    examined = setup(
        entry("a.b", Scope.PROJECT, "npx", "a"),
        entry("a_b", Scope.PROJECT, "npx", "b"),
        entry("c", Scope.GLOBAL, "npx", "c"),
    )
    found = diagnose([examined, examined])
    assert [(item.source, item.severity, item.check) for item in found] == [
        ("/files/global", "warning", "unpinned"),
        ("/files/project", "error", "name-collision"),
        ("/files/project", "warning", "unpinned"),
        ("/files/project", "warning", "unpinned"),
    ]


def test_what_is_no_server_is_not_examined() -> None:
    skill = Resolved(declaration=declared("x", kind=Kind.SKILL), config_status=ConfigStatus.ENABLED)
    assert diagnose([ClientSetup(context=context(), resolved=[skill])]) == []
