import json
from pathlib import Path
from typing import Any

import pytest

from remit.doctor.checks.upkeep import unused_servers
from support.builders import servers
from support.processes import git
from support.sandbox import Sandbox

SECRETS = {  # made up; joined here so that no scanner takes them for real ones
    "github": "ghp_" + "k3J9x2Lq8Zw1Rt7Vb5Nc4Md6Hf0Gs",
    "anthropic": "sk-ant-" + "api03-Zq8Lw2Xv7Rk4Tn9Bm1Pc5Hd",
    "slack": "xoxb-" + "2398471120-u7H2s9Kd4Lf6Jg8Q",
    "hex": "9f86d081884c7d65" + "9a2feaa0c55ad015",
    "password": "Tr0ub4dor&3-battery",
    "jwt": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiI5MjgzNyJ9." + "p4W6z8Yx1Qa3",
}
_HEADS = ("ghp_", "sk-ant-api03", "xoxb-")  # a kind of secret may be named, never a part of one


def parts(secret: str) -> set[str]:
    for head in _HEADS:
        secret = secret.removeprefix(head)
    return {secret[at : at + 6] for at in range(len(secret) - 5)}


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    """A project, and a program that its servers can start."""
    program = sandbox.root / "bin" / "ledger"
    sandbox.write(program, "#!/bin/sh\n").chmod(0o755)
    sandbox.variables["PATH"] = str(program.parent)
    return sandbox.project("shop")


def examine(sandbox: Sandbox, shop: Path, *options: str) -> Any:
    finished = sandbox.remit("doctor", "--json", *options, cwd=shop)
    assert finished.returncode in (0, 1), finished.stderr
    return json.loads(finished.stdout)


def test_a_clean_configuration_has_no_problems(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / ".mcp.json", servers(ledger={"command": "ledger"}))
    finished = sandbox.remit("doctor", cwd=shop)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert finished.stdout.splitlines() == [f"{shop} (claude-code)", "No problems found."]


def test_findings_are_grouped_by_file_with_reason_and_fix_and_errors_end_with_1(
    sandbox: Sandbox, shop: Path
) -> None:
    sandbox.write(sandbox.home / ".claude.json", servers(ledger={"command": "ledger", "args": ["--old"]}))
    entries = {
        "ledger": {"command": "ledger"},
        "wiki": {"command": "wiki-mcp", "env": {"WIKI": "${WIKI_URL}"}},
        "bad": {"url": "https://mcp.test"},
    }
    sandbox.write(shop / ".mcp.json", servers(**entries))
    finished = sandbox.remit("doctor", cwd=shop)
    assert (finished.returncode, finished.stderr) == (1, "")
    assert finished.stdout.splitlines() == [
        f"{shop} (claude-code)",
        "",
        ".mcp.json",
        "  error: mcpServers.bad: `url` without a remote `type`",
        '    fix: add "type": "http"',
        "  error: wiki (project): command: `wiki-mcp` is not on PATH",
        "    fix: install it, or write the whole path of the program",
        "  warning: wiki (project): env.WIKI: `WIKI_URL` is not set in this environment, and has no default",
        "    fix: set `WIKI_URL` before the client is started",
        "",
        "~/.claude.json",
        "  warning: ledger (global): not used: the project declaration of this name in .mcp.json wins, "
        "which is another server",
        "    fix: give one of the two another name, or remove one",
        "",
        "2 errors, 2 warnings, 0 notes",
    ]


def test_warnings_alone_end_with_0_and_json_has_the_documented_shape(sandbox: Sandbox, shop: Path) -> None:
    source = sandbox.write(
        shop / ".mcp.json", servers(ledger={"command": "ledger", "env": {"A": "${UNSET}"}})
    )
    diagnosis = examine(sandbox, shop)
    counts = {"errors", "warnings", "notes"}
    assert diagnosis.keys() == {"project", "workspace", "client", "findings", "store", *counts}
    assert (diagnosis["errors"], diagnosis["warnings"], diagnosis["notes"]) == (0, 1, 0)
    assert diagnosis["findings"] == [
        {
            "severity": "warning",
            "check": "variable",
            "source": str(source),
            "subject": "ledger",
            "scope": "project",
            "place": "env.A",
            "reason": "`UNSET` is not set in this environment, and has no default",
            "fix": "set `UNSET` before the client is started",
        }
    ]
    assert sandbox.remit("doctor", cwd=shop).returncode == 0
    sandbox.variables["UNSET"] = "set now"
    assert examine(sandbox, shop)["findings"] == []


def test_a_broken_file_is_an_error_and_the_others_are_examined(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(sandbox.home / ".claude.json", '{"mcpServers": {')
    sandbox.write(shop / ".mcp.json", servers("lamp"))
    assert [(item["check"], item["place"]) for item in examine(sandbox, shop)["findings"]] == [
        ("program", "command"),
        ("file", "line 1 column 17"),
    ]


def test_a_file_that_broke_after_a_scan_is_an_error_and_what_it_said_causes_no_more(
    sandbox: Sandbox, shop: Path
) -> None:
    sandbox.write(shop / ".mcp.json", servers("lamp"))
    sandbox.remit("scan", cwd=shop)
    sandbox.write(shop / ".mcp.json", "{")
    (finding,) = examine(sandbox, shop)["findings"]
    assert finding["check"] == "file"
    assert "using the last valid version" in finding["reason"]


def test_no_part_of_a_secret_is_in_any_output_wherever_it_stands(sandbox: Sandbox, shop: Path) -> None:
    entries: dict[str, dict[str, object]] = {}
    for label, secret in SECRETS.items():
        entries[f"{label}-env"] = {"command": "ledger", "env": {"API_TOKEN": secret, "PASSWORD": secret}}
        entries[f"{label}-args"] = {
            "command": "npx",
            "args": ["-y", secret, f"--token={secret}", "--key", secret],
        }
        entries[f"{label}-image"] = {
            "command": "docker",
            "args": ["run", "-e", f"TOKEN={secret}", f"img/{secret}"],
        }
        entries[f"{label}-from"] = {
            "command": "uvx",
            "args": ["--from", f"git+https://u:{secret}@git.test/x", "x"],
        }
        entries[f"{label}-command"] = {"command": secret}
        entries[f"{label}-path"] = {"command": f"./{secret}/run", "args": [f"/opt/{secret}"]}
        entries[f"{label}-script"] = {"command": "node", "args": [f"/opt/{secret}/index.js"]}
        entries[f"{label}-default"] = {"command": "ledger", "args": [f"${{UNSET}}-${{TOKEN:-{secret}}}"]}
        entries[f"{label}-url"] = {
            "type": "http",
            "url": f"https://u:{secret}@mcp.test/{secret}?token={secret}",
            "headers": {"Authorization": f"Bearer {secret}"},
        }
        entries[f"{label}-wrong"] = {"type": secret, "url": secret, "env": {"TOKEN": secret}}
        entries[f"{label}-broken"] = {"command": [secret], "args": secret}
    sandbox.write(shop / ".mcp.json", servers(**entries))
    sandbox.write(sandbox.home / ".claude.json", servers(**{"github-env": {"command": SECRETS["hex"]}}))
    for options in ((), ("--json",), ("--client", "all")):
        finished = sandbox.remit("doctor", *options, cwd=shop)
        assert finished.returncode == 1
        told = finished.stdout + finished.stderr
        assert [part for secret in SECRETS.values() for part in parts(secret) if part in told] == []
    places = {
        (item["subject"], item["place"])
        for item in examine(sandbox, shop)["findings"]
        if item["check"] == "secret"
    }
    assert {("github-env", "env.API_TOKEN"), ("password-env", "env.PASSWORD"), ("hex-url", "url")} <= places
    assert {(f"{label}-url", "headers.Authorization") for label in ("github", "hex", "jwt")} <= places


def test_a_secret_is_an_error_where_git_shares_the_file(sandbox: Sandbox, shop: Path) -> None:
    (shop / ".git").rmdir()
    sandbox.write(shop / ".mcp.json", servers(ledger={"command": "ledger", "env": {"TOKEN": SECRETS["hex"]}}))
    git("init", cwd=shop)
    assert [item["severity"] for item in examine(sandbox, shop)["findings"]] == ["warning"]
    git("add", ".mcp.json", cwd=shop)
    assert [item["severity"] for item in examine(sandbox, shop)["findings"]] == ["error"]


def test_nothing_of_a_project_is_started(sandbox: Sandbox, shop: Path) -> None:
    program = sandbox.write(shop / "run", f"#!/bin/sh\n: > {sandbox.root}/started\n")
    program.chmod(0o755)
    sandbox.write(shop / ".mcp.json", servers(run={"command": str(program)}, here={"command": "./run"}))
    assert [item["check"] for item in examine(sandbox, shop)["findings"]] == ["relative-command"]
    assert not (sandbox.root / "started").exists()


def test_names_from_files_cannot_steer_the_terminal(sandbox: Sandbox, shop: Path) -> None:
    evil = "\x1b[2Jevil\u202e"
    entry = {"command": f"x{evil}", "args": [f"${{UNSET}}{evil}"], "env": {f"TOKEN{evil}": SECRETS["hex"]}}
    sandbox.write(
        shop / ".mcp.json", servers(**{evil: entry, f"{evil}2": {"command": "npx", "args": [evil]}})
    )
    for options in ((), ("--json",)):
        finished = sandbox.remit("doctor", *options, cwd=shop)
        assert finished.returncode == 1
        assert not {"\x1b", "\u202e"} & set(finished.stdout + finished.stderr)


def test_a_server_that_was_never_used_is_noted_after_a_month_of_uses(sandbox: Sandbox, shop: Path) -> None:
    month = 31 * 24 * 60 * 60 * 1000
    sandbox.write_state("wiki", "lamp")
    with sandbox.registry() as registry:
        registry.usage.record("mcp__wiki__read", registry.at(str(shop)))
        (patient,) = registry.examine(registry.at(str(shop)))
    assert list(unused_servers(patient)) == []
    sandbox.time += month
    with sandbox.registry() as registry:
        registry.usage.record("mcp__wiki__read", registry.at(str(shop)))
        (patient,) = registry.examine(registry.at(str(shop)))
    assert [(item.subject, item.reason) for item in unused_servers(patient)] == [("lamp", "was never used")]


def test_a_mistake_in_remits_configuration_is_an_error_with_line_and_fix(
    sandbox: Sandbox, shop: Path
) -> None:
    sandbox.write(shop / ".mcp.json", servers(ledger={"command": "ledger"}))
    own = sandbox.write(
        sandbox.home / ".config/remit/remit.toml", '[servers.ledger]\nsandbox = { raed = ["."] }\n'
    )
    finished = sandbox.remit("doctor", cwd=shop)
    assert (finished.returncode, finished.stderr) == (1, "")
    assert finished.stdout.splitlines()[2:7] == [
        "~/.config/remit/remit.toml",
        "  error: line 2 column 13: servers.ledger.sandbox.raed: `raed` is not a known key; "
        "all tools are hidden until it is fixed",
        "    fix: did you mean `read`?",
        "",
        "1 error, 0 warnings, 0 notes",
    ]
    (finding,) = examine(sandbox, shop)["findings"]
    assert (finding["check"], finding["source"], finding["subject"]) == ("configuration", str(own), None)


@pytest.mark.parametrize(
    "text",
    [
        "mode = 'bypass'\n",  # a project may not
        "block = ['Read'\n",
        "[tools.Read]\nask = 1\n",
        "[tools.Read]\nwhen = 'no such = '\n",
        "allow = ['Read']\nblock = ['Read']\n",
        "[filters]\nfiles = ['/nowhere.py']\n",
    ],
)
def test_the_doctor_finds_every_error_and_warning_of_policy_check(
    sandbox: Sandbox, shop: Path, text: str
) -> None:
    sandbox.write(shop / "remit.toml", text)
    checked = json.loads(sandbox.remit("policy", "check", "--json", cwd=shop).stdout)
    expected = [
        (item["severity"], item["source"]) for item in checked["findings"] if item["severity"] != "note"
    ]
    found = [item for item in examine(sandbox, shop)["findings"] if item["check"] == "configuration"]
    assert sorted((item["severity"], item["source"]) for item in found) == sorted(expected)
    assert found
    assert all(item["fix"] for item in found)


def test_a_filter_file_that_cannot_be_loaded_is_an_error(sandbox: Sandbox, shop: Path) -> None:
    gone = sandbox.root / "gone.py"
    sandbox.write(sandbox.home / ".config/remit/remit.toml", f'[filters]\nfiles = ["{gone}"]\n')
    (finding,) = examine(sandbox, shop)["findings"]
    assert (finding["severity"], finding["source"]) == ("error", str(gone))


def test_an_unpinned_package_is_named_with_its_version_here_unless_the_project_fixes_it(
    sandbox: Sandbox, shop: Path
) -> None:
    npx = sandbox.write(sandbox.root / "bin" / "npx", "#!/bin/sh\n")
    npx.chmod(0o755)
    entry = {"command": "npx", "args": ["-y", "@mcp/ledger"]}
    sandbox.write(shop / ".mcp.json", servers(ledger=entry))
    sandbox.write(sandbox.home / ".claude.json", servers(books=entry))

    def fixes() -> dict[str, str]:
        found = examine(sandbox, shop)["findings"]
        return {each["subject"]: each["fix"] for each in found if each["check"] == "unpinned"}

    assert "@mcp/ledger@<version>" in fixes()["ledger"]
    locked = {"version": "2026.8.31", "integrity": "sha512-a"}
    sandbox.write(shop / "package-lock.json", {"packages": {"node_modules/@mcp/ledger": locked}})
    assert "@mcp/ledger@<version>" in fixes()["ledger"]  # npx reads no lock file, and would fetch another
    manifest = shop / "node_modules/@mcp/ledger/package.json"
    sandbox.write(manifest, {"name": "@mcp/ledger", "version": "`rm -r ~`"})
    assert "@mcp/ledger@<version>" in fixes()["ledger"]  # whatever a repository writes is not repeated
    sandbox.write(manifest, {"name": "@mcp/ledger", "version": "2026.8.30"})
    assert fixes()["ledger"] == "write `@mcp/ledger@2026.8.30`, the version here"
    sandbox.write(manifest, {"name": "@mcp/ledger", "version": "2026.8.31"})
    assert fixes().keys() <= {"books"}  # which starts in other projects, too
