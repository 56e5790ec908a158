"""The line at which a file declares a server."""

import json
from pathlib import Path

import pytest

from remit.decision.scopes import Scope
from remit.scanning.declaration_lines import declaration_line
from support.builders import context, server
from support.sandbox import Sandbox

ENTRY = {"command": "run-git"}


@pytest.mark.parametrize(
    "content",
    [
        {"other": 1, "mcpServers": {"a": {}, "git": ENTRY}},
        {"other": 1, "servers": {"a": {}, "git": ENTRY}},
        {"other": 1, "mcp": {"servers": {"git": ENTRY}}},
        {"other": 1, "mcp": {"a": {}, "git": ENTRY}},
        {"other": 1, "context_servers": {"git": ENTRY}},
        {"other": 1, "extensions": {"git": ENTRY}},
        {"other": 1, "git": ENTRY},
    ],
)
def test_a_server_is_found_in_the_tables_of_all_clients(sandbox: Sandbox, content: object) -> None:
    text = json.dumps(content, indent=1)
    path = sandbox.write(sandbox.root / "servers.json", text)
    wanted = next(at for at, line in enumerate(text.splitlines(), 1) if '"git"' in line)
    assert line_in(sandbox, path) == wanted


def test_a_server_is_found_in_toml(sandbox: Sandbox) -> None:
    path = sandbox.write(sandbox.root / "config.toml", 'model = "x"\n\n[mcp_servers.git]\ncommand = "git"\n')
    assert line_in(sandbox, path) == 3


def test_a_broken_file_has_no_lines(sandbox: Sandbox) -> None:
    for name in ("broken.toml", "broken.json"):
        assert line_in(sandbox, sandbox.write(sandbox.root / name, "[mcp_servers.git")) is None
    assert line_in(sandbox, sandbox.root / "missing.json") is None


def test_a_local_server_is_found_below_its_project(sandbox: Sandbox) -> None:
    shop = context().workspace.project.path
    content: dict[str, object] = {
        "mcpServers": {"git": {}},
        "projects": {shop: {"mcpServers": {"git": ENTRY}}},
    }
    path = sandbox.write(sandbox.root / "state.json", json.dumps(content, indent=1))
    assert line_in(sandbox, path, Scope.LOCAL) == 8


def test_what_is_its_own_file_has_no_line(sandbox: Sandbox) -> None:
    path = sandbox.write(sandbox.root / "servers.json", {"mcpServers": {"git": ENTRY}})
    of_an_agent = server("git")._replace(source=str(path), agent="reviewer")
    assert declaration_line(of_an_agent, context(), sandbox.client_files().line_of) is None


def line_in(sandbox: Sandbox, path: Path, scope: Scope = Scope.GLOBAL) -> int | None:
    tool = server("git", scope=scope)._replace(source=str(path))
    return declaration_line(tool, context(), sandbox.client_files().line_of)


def test_a_link_is_not_followed_for_a_line(sandbox: Sandbox) -> None:
    secret = sandbox.write(sandbox.home / "secret.json", {"mcpServers": {"git": {}}})
    (sandbox.home / "link.json").symlink_to(secret)
    files = sandbox.client_files()
    assert files.line_of(str(secret), "mcpServers") == 1
    assert files.line_of(str(sandbox.home / "link.json"), "mcpServers") == 0
