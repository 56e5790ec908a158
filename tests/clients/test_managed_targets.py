"""An administrator's install: its files, what Remit reads from them, and what is left afterwards."""

import json
import re
import stat
from pathlib import Path

import pytest

from remit.clients.install_targets import REPAIR, ManagedTargets
from remit.decision.context import Context
from remit.decision.kinds import ConfigStatus
from remit.decision.tool_names import REMIT
from remit.errors import InstallError
from remit.files.bounded_reader import Machine
from remit.install.install_record import InstallRecords, read
from remit.install.installer import Installer
from remit.install.recorded_environment import managed_environment
from remit.registry import Registry
from remit.sessions.install_notices import InstallNotice, NoticeKind
from support.builders import servers
from support.sandbox import Sandbox

SETTINGS = '{\n\t"permissions": {"deny": ["WebFetch"]},\n\t"hooks": {"Stop": []}\n}\n'
BLOCKS = ("Bash", "mcp__git__push")


@pytest.fixture
def etc(sandbox: Sandbox) -> Path:
    return sandbox.root / "machine/etc"


def installer(sandbox: Sandbox, *blocks: str) -> Installer:
    machine = Machine(home=str(sandbox.home), variables={}, root=str(sandbox.root / "machine"))
    return Installer(
        ManagedTargets(machine, lambda: ["/bin/sh", "-I", "-m", "remit"]),
        InstallRecords(machine, is_managed=True),
        sandbox.client_files(),
        lambda: 1,
        managed_environment(
            {"HTTPS_PROXY": "http://proxy.test:3128", "PATH": "/home/admin/bin", "HOME": "/home/admin"}
        ),
        lambda: blocks,
    )


def files(etc: Path) -> dict[str, str]:
    return {str(path.relative_to(etc)): path.read_text() for path in etc.rglob("*") if path.is_file()}


def available(sandbox: Sandbox) -> list[str]:
    registry = sandbox.registry()
    listed = registry.tools(registry.at(str(sandbox.root / "code/shop")))
    found = [item.tool for item in listed if item.decision.is_available and item.tool.source != REMIT]
    return sorted(tool.server or "" for tool in found)


def notices(registry: Registry, context: Context) -> list[InstallNotice]:
    """What is said of the install itself."""
    return [each for each in registry.protection.notices(context) if each.kind is not NoticeKind.SERVER]


def test_hooks_server_and_blocks_go_into_the_managed_files(sandbox: Sandbox, etc: Path) -> None:
    installer(sandbox, *BLOCKS).install("claude-code")
    settings = json.loads((etc / "claude-code/managed-settings.json").read_text())
    (group,) = settings["hooks"]["PreToolUse"]
    (handler,) = group["hooks"]
    record = str(etc / "remit/installs/claude-code.json")
    assert handler["onFailure"] == "block"
    assert [handler["command"], *handler["args"]] == [
        *("/bin/sh", "-I", "-m", "remit", "hook", "--install", record),
        REPAIR.format(" --managed"),
    ]
    assert settings["permissions"]["deny"] == list(BLOCKS)
    entry = json.loads((etc / "claude-code/managed-mcp.json").read_text())["mcpServers"]["remit"]
    assert entry["args"][3:] == ["serve", "--client", "claude-code", "--install", record]
    assert "allowManagedHooksOnly" not in settings  # users keep their own hooks


def test_every_user_can_read_the_files_and_none_is_named_in_them(sandbox: Sandbox, etc: Path) -> None:
    sandbox.write_state("wiki")
    installer(sandbox).install("claude-code")
    for path in etc.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o755 if path.is_dir() else 0o644)
    text = "\n".join(files(etc).values())
    assert not re.search(r"\b(wiki|ada)\b|/home/admin", text)
    recorded = read((etc / "remit/installs/claude-code.json").read_text()).environment
    assert recorded is not None
    assert (recorded.home, recorded.data, recorded.configuration, recorded.path) == (None, None, None, None)
    assert recorded.variables == {"HTTPS_PROXY": "http://proxy.test:3128"}


@pytest.mark.parametrize(
    "before",
    [
        {},
        {"claude-code/managed-settings.json": SETTINGS},
        {"claude-code/managed-mcp.json": json.dumps(servers("corp")), "remit/remit.toml": "# mine\n"},
    ],
)
def test_uninstall_restores_every_byte(sandbox: Sandbox, etc: Path, before: dict[str, str]) -> None:
    etc.mkdir(parents=True)
    for name, text in before.items():
        sandbox.write(etc / name, text)
    tool = installer(sandbox, *BLOCKS)
    tool.install("claude-code")
    assert not any(change.is_change for change in tool.plan("claude-code"))
    assert files(etc) != before
    tool.uninstall("claude-code")
    assert files(etc) == before
    assert [path.name for path in etc.iterdir() if not before] == []


def test_users_keep_their_servers_through_remit(sandbox: Sandbox, etc: Path) -> None:
    shop = sandbox.project("shop")
    sandbox.write_state("wiki", local={shop: servers("ledger")})
    installer(sandbox).install("claude-code")
    registry = sandbox.registry()
    context = registry.at(str(shop))
    assert context.starts_servers
    assert available(sandbox) == ["ledger", "wiki"]
    (own,) = [item.tool for item in registry.tools(context) if item.tool.server == "remit"]
    assert (own.config_status, own.source) == (ConfigStatus.ITSELF, str(etc / "claude-code/managed-mcp.json"))
    assert notices(registry, context) == []
    installer(sandbox).uninstall("claude-code")
    assert not sandbox.registry().at(str(shop)).starts_servers


def test_servers_that_the_administrator_listed_before_remain_all_there_are(
    sandbox: Sandbox, etc: Path
) -> None:
    shop = sandbox.project("shop")
    sandbox.write_state("wiki")
    sandbox.write(etc / "claude-code/managed-mcp.json", servers("corp"))
    installer(sandbox).install("claude-code")
    assert sandbox.registry().at(str(shop)).starts_servers
    assert available(sandbox) == ["corp"]


def test_a_server_that_is_added_to_remits_file_excludes_the_users(sandbox: Sandbox, etc: Path) -> None:
    sandbox.project("shop")
    sandbox.write_state("wiki")
    installer(sandbox).install("claude-code")
    managed = etc / "claude-code/managed-mcp.json"
    own = json.loads(managed.read_text())["mcpServers"]["remit"]
    sandbox.write(managed, servers("corp", remit=own))
    assert available(sandbox) == ["corp"]


@pytest.mark.parametrize(
    ("text", "is_installed"),
    [
        ("{", True),  # as recorded, until it can be read again
        ('{"mcpServers": {}}', False),
        ('{"mcpServers": {"remit": {"command": "/bin/sh", "args": ["serve"]}}}', False),
    ],
)
def test_the_client_leaves_its_servers_only_to_the_recorded_gateway(
    sandbox: Sandbox, etc: Path, text: str, is_installed: bool
) -> None:
    shop = sandbox.project("shop")
    installer(sandbox).install("claude-code")
    sandbox.write(etc / "claude-code/managed-mcp.json", text)
    assert sandbox.registry().at(str(shop)).starts_servers is is_installed


def test_without_the_file_or_the_record_the_client_has_its_servers_itself(
    sandbox: Sandbox, etc: Path
) -> None:
    shop = sandbox.project("shop")
    installer(sandbox).install("claude-code")
    (etc / "claude-code/managed-mcp.json").unlink()
    assert not sandbox.registry().at(str(shop)).starts_servers
    installer(sandbox).install("claude-code")
    (etc / "remit/installs/claude-code.json").write_text("{")
    assert not sandbox.registry().at(str(shop)).starts_servers


def test_only_claude_code_has_an_administrators_install(sandbox: Sandbox) -> None:
    with pytest.raises(InstallError):
        installer(sandbox).client("cursor")
    assert installer(sandbox).projects("claude-code") == ()
    assert installer(sandbox).title("claude-code") == "Claude Code for every user of this machine"


def test_no_repository_switches_an_administrators_hooks_off(sandbox: Sandbox, etc: Path) -> None:
    shop = sandbox.project("shop")
    installer(sandbox).install("claude-code")
    sandbox.write(shop / ".claude/settings.json", {"disableAllHooks": True})
    registry = sandbox.registry()
    assert notices(registry, registry.at(str(shop))) == []
    sandbox.write(etc / "claude-code/managed-settings.d/1.json", {"disableAllHooks": True})
    (notice,) = notices(registry, registry.at(str(shop)))
    assert "1.json line 1" in notice.full_reason


def test_a_repository_that_denies_the_gateway_is_named(sandbox: Sandbox) -> None:
    shop = sandbox.project("shop")
    installer(sandbox).install("claude-code")
    sandbox.write(shop / ".claude/settings.json", {"deniedMcpServers": [{"serverName": "remit"}]})
    registry = sandbox.registry()
    (notice,) = notices(registry, registry.at(str(shop)))
    assert (notice.place, notice.kind) == ("mcpServers", "gateway")
    assert "`deniedMcpServers` in .claude/settings.json" in notice.full_reason
