"""The rules about tools in the files of Codex, Gemini CLI and opencode, from the file to the decision."""

import pytest

from remit.decision.decide import Decision
from support.sandbox import Sandbox

CODEX = ".codex/config.toml"
GEMINI = ".gemini/settings.json"
OPENCODE = ".config/opencode/opencode.json"
GIT = {"command": "git-mcp"}
LOCAL = {"type": "local", "command": ["git-mcp"]}


def decided(sandbox: Sandbox, client: str, *names: str) -> list[str]:
    """The verdict on each tool, with the gate of one that is not visible."""
    registry = sandbox.registry()
    here = registry.at(str(sandbox.root / "code/shop"), client)
    found = [registry.explain(name, here).decision for name in names]
    return [str(each.verdict) if each.gate is None else f"{each.verdict} {each.gate}" for each in found]


def explained(sandbox: Sandbox, client: str, name: str) -> Decision:
    registry = sandbox.registry()
    return registry.explain(name, registry.at(str(sandbox.root / "code/shop"), client)).decision


@pytest.fixture(autouse=True)
def project(sandbox: Sandbox) -> None:
    sandbox.project("shop")


def test_codex_has_the_enabled_tools_without_the_disabled_ones(sandbox: Sandbox) -> None:
    text = """
    [mcp_servers.git]
    command = "git-mcp"
    enabled_tools = ["status", "reset", "log", "show"]
    disabled_tools = ["reset"]
    [mcp_servers.git.tools.log]
    approval_mode = "prompt"
    [mcp_servers.git.tools.show]
    approval_mode = "approve"
    [mcp_servers.git.tools.status]
    """
    sandbox.write(sandbox.home / CODEX, text)
    names = [f"mcp__git__{name}" for name in ("status", "reset", "push", "log", "show")]
    expected = ["visible", "hidden policy", "hidden policy", "ask danger", "visible"]
    assert decided(sandbox, "codex", *names) == expected
    assert "`mcp_servers.git` in ~/.codex/config.toml" in (explained(sandbox, "codex", names[1]).detail or "")
    sandbox.write(sandbox.home / CODEX, '[mcp_servers.git]\ncommand = "git-mcp"\nenabled_tools = []\n')
    assert decided(sandbox, "codex", *names) == ["hidden policy"] * 5


def test_gemini_has_what_a_server_includes_without_what_it_excludes(sandbox: Sandbox) -> None:
    sandbox.write(sandbox.home / ".gemini/trustedFolders.json", {str(sandbox.root / "code"): "TRUST_FOLDER"})
    entry = {**GIT, "includeTools": ["status", "reset(--soft)"], "excludeTools": ["reset"], "trust": True}
    sandbox.write(sandbox.home / GEMINI, {"mcpServers": {"git": entry}})
    names = [f"mcp__git__{name}" for name in ("status", "reset", "push")]
    assert decided(sandbox, "gemini-cli", *names) == ["visible", "hidden policy", "hidden policy"]
    lists = {"exclude": ["mcp_git_status", "run_shell_command(rm)"], "allowed": ["mcp_git_*"]}
    sandbox.write(sandbox.home / GEMINI, {"mcpServers": {"git": GIT}, "tools": lists})
    assert decided(sandbox, "gemini-cli", *names) == ["hidden policy", "visible", "visible"]
    sandbox.write(sandbox.home / GEMINI, {"mcpServers": {"git": GIT}, "tools": {"exclude": ["mcp_*"]}})
    assert decided(sandbox, "gemini-cli", *names) == ["hidden policy"] * 3


def test_gemini_follows_its_policy_files_by_priority(sandbox: Sandbox) -> None:
    sandbox.write(sandbox.home / ".gemini/trustedFolders.json", {str(sandbox.root / "code"): "TRUST_FOLDER"})
    sandbox.write(sandbox.home / GEMINI, {"mcpServers": {"git": GIT, "till": GIT, "wiki": GIT}})
    sandbox.write(
        sandbox.home / ".gemini/policies/own.toml",
        """
        rule = [
            {mcpName = "git", toolName = "reset", decision = "deny", priority = 10},
            {mcpName = "git", toolName = ["push", "status"], decision = "ask_user"},
            {mcpName = "git", toolName = "status", decision = "allow", priority = 5},
            {mcpName = "git", toolName = "status", decision = "deny", priority = 1},
            {mcpName = "git", toolName = "log", decision = "deny", argsPattern = "x"},
            {mcpName = "git", toolName = "log", decision = "nonsense"},
            {mcpName = "till", decision = "deny"},
            {toolName = "mcp_wiki_*", decision = "deny"},
            {decision = "deny"},
        ]
        """,
    )
    sandbox.write(sandbox.home / ".gemini/policies/read.me", "not a policy")
    names = [f"mcp__git__{name}" for name in ("reset", "push", "status", "log")]
    expected = ["hidden policy", "ask danger", "visible", "visible"]
    assert decided(sandbox, "gemini-cli", *names) == expected
    assert decided(sandbox, "gemini-cli", "mcp__till__x", "mcp__wiki__x") == ["hidden policy"] * 2


def test_in_opencode_the_last_rule_that_matches_decides(sandbox: Sandbox) -> None:
    rules = {
        "mcp": {"git": LOCAL, "till": LOCAL},
        "tools": {"git_*": False, "git_status": True},
        "permission": {
            "git_log": "ask",
            "*_push": "deny",
            "git_push": "allow",
            "bash": {"rm *": "deny", "ls": 3},
            "edit": 3,
            "till*": "ask",
        },
    }
    sandbox.write(sandbox.home / OPENCODE, rules)
    names = [f"mcp__git__{name}" for name in ("reset", "status", "log", "push")]
    assert decided(sandbox, "opencode", *names) == ["hidden policy", "visible", "ask danger", "visible"]
    assert decided(sandbox, "opencode", "mcp__till__push", "mcp__till__x") == ["ask danger"] * 2


def test_in_opencode_one_word_is_a_rule_for_all_tools(sandbox: Sandbox) -> None:
    sandbox.write(sandbox.home / OPENCODE, {"mcp": {"git": LOCAL}, "permission": "ask"})
    assert decided(sandbox, "opencode", "mcp__git__status") == ["ask danger"]
    sandbox.write(sandbox.home / OPENCODE, {"mcp": {"git": LOCAL}, "permission": "nonsense"})
    assert decided(sandbox, "opencode", "mcp__git__status") == ["visible"]
