from dataclasses import replace
from pathlib import Path

from remit.decision.kinds import Kind
from support.builders import servers
from support.sandbox import Sandbox


def test_a_sandbox_that_is_not_possible_keeps_remit_from_starting_a_server(sandbox: Sandbox) -> None:
    shop: Path = sandbox.project("shop")
    (shop / "link").symlink_to("/etc")
    sandbox.write(sandbox.home / ".claude.json", servers("git", "web"))
    machine = '[servers.git]\nsandbox = { read = ["link"] }\n[servers.web]\ninherit_env = ["A"]\n'
    sandbox.write(sandbox.home / ".config/remit/remit.toml", machine)
    with sandbox.registry() as registry:
        context = replace(registry.at(str(shop)), starts_servers=True)
        told = registry.explain("mcp__git__*", context)
        assert told.tool is not None
        assert told.tool.kind is Kind.MCP_SERVER
        assert "its sandbox is not possible: " in (told.obstacle or "")
        assert "sandbox" not in (registry.explain("mcp__web__*", context).obstacle or "")
        assert registry.servers.find("web", context).inherits == ("A",)
