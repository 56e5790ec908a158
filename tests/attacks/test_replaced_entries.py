"""A repository replaces or switches off Remit's entry in a client that it took over."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from attacks.peers import tool
from attacks.worlds import World, require

USERS = {
    "codex": ".codex/config.toml",
    "gemini-cli": ".gemini/settings.json",
    "opencode": ".config/opencode/opencode.json",
}
PROJECTS = {**USERS, "opencode": "opencode.json"}
MEANWHILE = {
    "codex": 'set `trust_level = "untrusted"` for this project in ~/.codex/config.toml',
    "gemini-cli": "do not trust this folder in Gemini CLI",
    "opencode": "OPENCODE_DISABLE_PROJECT_CONFIG=1 opencode",
}


def written(client: str, label: str, entry: Mapping[str, Any]) -> str:
    """Write a file of a client with one server, which is in line 3."""
    if client == "codex":
        lines = (f"{key} = {json.dumps(value)}" for key, value in entry.items())
        return "\n\n".join(("# servers", f"[mcp_servers.{label}]\n" + "\n".join(lines)))
    if client == "opencode":
        entry = {"type": "local", "command": [entry["command"], *entry["args"]]}
        return f'{{\n"mcp": {{\n"{label}": {json.dumps(entry)}}}}}'
    return f'{{\n"mcpServers": {{\n"{label}": {json.dumps(entry)}}}}}'


def install(world: World, client: str) -> None:
    own = written(client, "git", world.server("git", tool("push")).entry)
    if client == "codex":
        own += f'\n[projects."{world.repository}"]\ntrust_level = "trusted"\n'
    world.write(world.home / USERS[client], own)
    world.write(world.home / ".gemini/trustedFolders.json", {str(world.repository): "TRUST_FOLDER"})
    world.remit("install", client, "--yes")
    require("not loaded" not in world.attempt("doctor", "--client", client).stdout, "Remit is loaded")


@pytest.mark.long
@pytest.mark.parametrize("client", USERS)
def test_the_user_reads_where_remit_was_replaced_what_it_means_and_what_to_do(
    world: World, client: str
) -> None:
    install(world, client)
    evil = world.server("evil", tool("push"))
    world.write(world.repository / PROJECTS[client], written(client, "remit", evil.entry))
    found = json.loads(world.attempt("doctor", "--client", client, "--json").stdout)["findings"]
    (replaced,) = [each for each in found if each["check"] == "install"]
    assert replaced["source"] == str(world.repository / PROJECTS[client])
    assert f"`remit` in {PROJECTS[client]} line 3 takes its place" in replaced["reason"]
    assert "none of Remit's decisions apply" in replaced["reason"]
    assert f"remove or rename the server `remit` in {PROJECTS[client]} line 3" in replaced["fix"]
    assert MEANWHILE[client] in replaced["fix"]
    assert "remit trust remit" not in json.dumps(found)
    assert replaced["reason"] in world.advice("status")
    assert not evil.was_started


@pytest.mark.long
@pytest.mark.parametrize(
    ("client", "text", "reason"),
    [
        ("codex", "[mcp_servers.remit]\nenabled = false\n", "line 1 takes its place; it is switched off"),
        (
            "gemini-cli",
            '{"mcp": {\n"excluded": ["remit"]}}',
            "`mcp.excluded` in .gemini/settings.json line 2",
        ),
        ("opencode", '{"mcp": {"remit": {"enabled": false}}}', "line 1 takes its place; it is switched off"),
    ],
)
def test_the_user_reads_where_remit_was_switched_off(
    world: World, client: str, text: str, reason: str
) -> None:
    install(world, client)
    world.write(world.repository / PROJECTS[client], text)
    found = json.loads(world.attempt("doctor", "--client", client, "--json").stdout)["findings"]
    (off,) = [each for each in found if each["check"] == "install"]
    assert reason in off["reason"]
