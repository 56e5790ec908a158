import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from remit.decision.client_settings import ClientSettings
from remit.decision.context import Context
from remit.decision.decide import UNKNOWN
from remit.decision.gates import Gate
from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.resolve import resolve
from remit.decision.scopes import Scope
from remit.decision.tool_names import REMIT
from remit.decision.tools import Tool
from remit.errors import UnknownClientError, UnknownProjectError
from remit.memory.memory_scopes import memory_id
from remit.registry import Registry
from remit.scanning.scanner import ClientPresence
from remit.text.token_estimate import definition_tokens
from support.builders import servers, visible_names
from support.databases import run_sql
from support.processes import git
from support.sandbox import Sandbox


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    return sandbox.project("shop")


@pytest.fixture
def blog(sandbox: Sandbox) -> Path:
    return sandbox.project("blog")


@pytest.fixture
def registry(sandbox: Sandbox) -> Registry:
    return sandbox.registry()


def at(registry: Registry, directory: Path) -> Context:
    return registry.at(str(directory))


def test_a_project_sees_its_own_tools_and_the_global_ones(
    sandbox: Sandbox, shop: Path, blog: Path, registry: Registry
) -> None:
    sandbox.write_state("wiki", local={shop: servers("ledger"), blog: servers("ghost")})
    sandbox.write(shop / ".mcp.json", servers("till"))
    sandbox.write(blog / ".mcp.json", servers("press"))
    assert visible_names(registry, at(registry, shop)) == ["global wiki", "local ledger", "project till"]
    assert visible_names(registry, at(registry, blog)) == ["global wiki", "local ghost", "project press"]


def test_a_name_of_another_project_is_explained_like_one_that_exists_nowhere(
    sandbox: Sandbox, shop: Path, blog: Path, registry: Registry
) -> None:
    sandbox.write(blog / ".mcp.json", servers("press"))
    registry.scan(at(registry, blog))
    there, nowhere = (registry.explain(name, at(registry, shop)) for name in ("press", "nonsense"))
    assert (there.tool, there.decision) == (None, UNKNOWN)
    assert (there.decision, there.gates, there.shadowed) == (
        nowhere.decision,
        nowhere.gates,
        nowhere.shadowed,
    )


def test_an_edit_is_seen_by_the_next_question(sandbox: Sandbox, shop: Path, registry: Registry) -> None:
    for label in ("one", "two", "six"):  # of one length, within one tick of the file system's clock
        sandbox.write(shop / ".mcp.json", servers(label))
        assert visible_names(registry, at(registry, shop)) == [f"project {label}"]


def test_nothing_is_read_again_while_nothing_changed(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write(shop / ".mcp.json", servers("till"))
    sandbox.later_ns = 10**10  # all files have settled
    registry.tools(at(registry, shop))
    scanned = run_sql(sandbox.database, "select scanned_at from views")
    registry.tools(at(registry, shop))
    assert run_sql(sandbox.database, "select scanned_at from views") == scanned
    registry.scan(at(registry, shop))
    assert run_sql(sandbox.database, "select scanned_at from views") != scanned


def test_a_file_that_appears_is_found(sandbox: Sandbox, shop: Path, registry: Registry) -> None:
    assert visible_names(registry, at(registry, shop)) == []
    sandbox.write(shop / ".mcp.json", servers("till"))
    assert visible_names(registry, at(registry, shop)) == ["project till"]


def test_a_removed_server_goes_stale_and_comes_back_with_its_history(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    here = at(registry, shop)
    sandbox.write(shop / ".mcp.json", servers("till", "scale"))
    registry.scan(here)
    registry.usage.record("mcp__till__ring", here)
    sandbox.write(shop / ".mcp.json", servers("scale"))
    gone = registry.explain("till", here)
    assert (gone.decision.gate, gone.decision.full_reason) == (
        Gate.CONFIG,
        "no longer configured in .mcp.json",
    )
    assert registry.explain("mcp__till__ring", here).decision.gate is Gate.CONFIG
    sandbox.write(shop / ".mcp.json", servers("till", "scale"))
    back = registry.explain("till", here)
    assert back.decision.is_available
    assert back.tool is not None
    assert back.tool.usage_count == 1


def test_a_scan_tells_what_was_added_removed_and_changed(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    here = at(registry, shop)
    sandbox.write(shop / ".mcp.json", servers("kept", "gone", edited={"command": "old"}))
    assert sorted(item.server or "" for item in registry.scan(here).changes.added) == [
        "edited",
        "gone",
        "kept",
    ]
    sandbox.write(shop / ".mcp.json", servers("kept", "new", edited={"command": "changed"}))
    changes = registry.scan(here).changes
    assert [item.server for item in changes.added] == ["new"]
    assert [item.server for item in changes.removed] == ["gone"]
    assert [item.server for item in changes.changed] == ["edited"]


def test_switching_a_server_off_is_a_change(sandbox: Sandbox, shop: Path, registry: Registry) -> None:
    here = at(registry, shop)
    sandbox.write_state("wiki")
    registry.scan(here)
    sandbox.write_state("wiki", local={shop: {"disabledMcpServers": ["wiki"]}})
    assert [item.server for item in registry.scan(here).changes.changed] == ["wiki"]
    assert (
        registry.explain("wiki", here).decision.full_reason
        == "declared in ~/.claude.json, disabled in the client"
    )


def test_a_server_switched_off_in_one_project_stays_on_in_another(
    sandbox: Sandbox, shop: Path, blog: Path, registry: Registry
) -> None:
    sandbox.write_state("wiki", local={shop: {"disabledMcpServers": ["wiki"]}})
    assert visible_names(registry, at(registry, shop)) == []
    assert visible_names(registry, at(registry, blog)) == ["global wiki"]
    assert visible_names(registry, at(registry, shop)) == []


def test_the_winner_is_explained_and_the_losers_are_listed_with_it(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write_state("git", local={shop: servers("git")})
    sandbox.write(shop / ".mcp.json", servers("git"))
    explained = registry.explain("git", at(registry, shop))
    assert explained.tool is not None
    assert explained.tool.scope == "local"
    assert [(tool.scope, decision.full_reason) for tool, decision in explained.shadowed] == [
        ("global", "shadowed by the local declaration in ~/.claude.json"),
        ("project", "shadowed by the local declaration in ~/.claude.json"),
    ]


def test_a_disabled_winner_is_still_the_one_explained(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write_state("git", local={shop: {**servers("git"), "disabledMcpServers": ["git"]}})
    explained = registry.explain("git", at(registry, shop))
    assert explained.tool is not None
    assert explained.tool.scope == "local"


def test_a_tool_nobody_has_seen_is_explained_by_its_server(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write(shop / ".mcp.json", servers("my", "my__server"))
    explained = registry.explain("mcp__my__server__new", at(registry, shop))
    assert (explained.name, explained.is_assumed) == ("mcp__my__server__new", True)
    assert explained.tool is not None
    assert (explained.tool.server, explained.decision.is_available) == ("my__server", True)
    for name in ("my__server", "mcp__my__server__*"):
        assert not registry.explain(name, at(registry, shop)).is_assumed


def test_a_server_whose_name_looks_odd_is_found_by_it(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write(shop / ".mcp.json", servers("we ird.näme"))
    for name in ("we ird.näme", "mcp__we_ird_n_me__*"):
        assert registry.explain(name, at(registry, shop)).decision.is_available


def test_remits_own_entry_is_kept_as_a_row_and_hidden(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.install_gateway()
    reason = registry.explain("remit", at(registry, shop)).decision.full_reason
    assert reason == "declared in ~/.claude.json, is Remit itself"


def test_an_entry_that_looks_like_the_gateway_is_judged_like_any_other_and_never_served(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.install_gateway()
    lookalike = {"command": "/opt/python", "args": ["-I", "-m", "remit", "serve"]}
    sandbox.write(shop / ".mcp.json", servers(remit=lookalike, other={"command": "uvx remit serve"}))
    here = at(registry, shop)
    rows = [tool for tool, _ in registry.tools(here) if tool.server == "remit"]
    assert {tool.scope: tool.config_status for tool in rows} == {
        Scope.PROJECT: ConfigStatus.NESTED,
        Scope.GLOBAL: ConfigStatus.ITSELF,
    }
    reasons = {
        tool.scope: decision.reason
        for tool, decision in registry.tools(replace(here, starts_servers=True))
        if tool.server == "remit"
    }
    assert "starts another gateway of Remit" in reasons[Scope.PROJECT]
    assert reasons[Scope.GLOBAL] == "is Remit itself"


def test_two_workspaces_share_local_tools_and_keep_their_own_files_apart(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write_state(local={shop: servers("ledger")})
    for name in ("api", "web"):
        sandbox.write(shop / name / ".mcp.json", servers(name))
    api, web = at(registry, shop / "api"), at(registry, shop / "web")
    for _ in range(2):
        assert visible_names(registry, api) == ["local ledger", "project api"]
        assert visible_names(registry, web) == ["local ledger", "project web"]
        registry.scan(at(registry, shop))


@pytest.fixture
def checkouts(tmp_path: Path) -> tuple[Path, Path]:
    """A real repository and a linked worktree of it."""
    main, feature = tmp_path.resolve() / "main", tmp_path.resolve() / "feature"
    main.mkdir()
    git("init", cwd=main)
    git("commit", "--allow-empty", "--message", "start", cwd=main)
    git("worktree", "add", str(feature), cwd=main)
    return main, feature


def test_worktrees_share_local_tools_and_keep_their_own_files_apart(
    sandbox: Sandbox, registry: Registry, checkouts: tuple[Path, Path]
) -> None:
    main, feature = checkouts
    sandbox.write_state(local={main: servers("ledger")})
    sandbox.write(main / ".mcp.json", servers("old"))
    sandbox.write(feature / ".mcp.json", servers("new"))
    for _ in range(2):
        assert visible_names(registry, at(registry, main)) == ["local ledger", "project old"]
        assert visible_names(registry, at(registry, feature)) == ["local ledger", "project new"]


def test_a_tool_seen_in_a_worktree_is_not_known_in_the_main_checkout(
    registry: Registry, checkouts: tuple[Path, Path]
) -> None:
    main, feature = checkouts
    registry.usage.record("mcp__x__y", at(registry, feature))
    assert visible_names(registry, at(registry, feature)) == ["project x"]
    assert visible_names(registry, at(registry, main)) == []


def test_a_directory_that_becomes_a_repository_leaves_its_old_project_behind(
    sandbox: Sandbox, registry: Registry
) -> None:
    above = sandbox.project("above", git=False)
    below = above / "below"
    sandbox.write(below / ".mcp.json", servers("till"))
    assert visible_names(registry, at(registry, below)) == ["project till"]
    git("init", cwd=above)
    assert at(registry, below).workspace.project.path == str(above)
    assert visible_names(registry, at(registry, below)) == ["project till"]


@pytest.mark.parametrize("broken", ['{"mcpServers": {', "", "{} trailing"])
def test_a_file_that_breaks_loses_nothing_that_was_known(
    sandbox: Sandbox, shop: Path, registry: Registry, broken: str
) -> None:
    here = at(registry, shop)
    sandbox.write_state("wiki", local={shop: {"disabledMcpServers": ["till"]}})
    sandbox.write(shop / ".mcp.json", servers("till", "scale"))
    registry.scan(here)
    sandbox.write(shop / ".mcp.json", broken)
    problems = registry.scan(here).problems
    assert [problem.reason.endswith("; using the last valid version") for problem in problems] == [True]
    assert visible_names(registry, here) == ["global wiki", "project scale"]
    assert registry.problems(here)[0].source == str(shop / ".mcp.json")


def test_a_file_that_was_never_read_is_not_said_to_hold(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write(shop / ".mcp.json", "{")
    problems = registry.scan(at(registry, shop)).problems
    assert ["last valid version" in problem.reason for problem in problems] == [False]


@pytest.mark.parametrize("content", ["[]", "{}", '{"mcpServers": 7}'])
def test_a_file_of_another_shape_is_believed_to_declare_nothing(
    sandbox: Sandbox, shop: Path, registry: Registry, content: str
) -> None:
    here = at(registry, shop)
    sandbox.write(shop / ".mcp.json", servers("till"))
    registry.scan(here)
    sandbox.write(shop / ".mcp.json", content)
    assert len(registry.scan(here).problems) == 1
    assert visible_names(registry, here) == []


def _is_declared(tool: Tool) -> bool:
    return tool.source != REMIT


def test_what_a_broken_file_switched_off_stays_off_in_a_directory_never_seen_before(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    off = {"disabledMcpServers": ["wiki"], "disabledMcpjsonServers": ["scale"]}
    sandbox.write(
        sandbox.home / ".claude.json",
        {**servers("wiki"), "projects": {str(shop): off}},
    )
    sandbox.write(shop / ".mcp.json", servers("till"))
    registry.scan(at(registry, shop))
    sandbox.write(sandbox.home / ".claude.json", "{")
    sandbox.write(shop / "new/.mcp.json", servers("scale"))
    assert visible_names(registry, at(registry, shop / "new"), keep=_is_declared) == ["project till"]


def test_switching_on_again_is_believed_while_another_file_is_broken(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    here = at(registry, shop)
    sandbox.write_state("wiki", local={shop: {"disabledMcpServers": ["wiki"]}})
    registry.scan(here)
    sandbox.write(shop / ".mcp.json", "{")
    sandbox.write_state("wiki")
    assert visible_names(registry, here) == ["global wiki"]


def test_a_state_file_that_breaks_leaves_what_it_switched_off_switched_off(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    here = at(registry, shop)
    off = {"disabledMcpServers": ["till"], "disabledMcpjsonServers": ["scale"]}
    sandbox.write_state("wiki", local={shop: {**servers("ledger"), **off}})
    sandbox.write(shop / ".mcp.json", servers("till", "scale", "lamp"))
    before = visible_names(registry, here)
    sandbox.write(sandbox.home / ".claude.json", '{"half')
    assert visible_names(registry, here) == before == ["global wiki", "local ledger", "project lamp"]


def test_a_file_that_was_repaired_is_believed_again(sandbox: Sandbox, shop: Path, registry: Registry) -> None:
    here = at(registry, shop)
    sandbox.write(shop / ".mcp.json", servers("till"))
    registry.scan(here)
    sandbox.write(shop / ".mcp.json", "{")
    registry.scan(here)
    sandbox.write(shop / ".mcp.json", servers("scale"))
    assert visible_names(registry, here) == ["project scale"]
    assert registry.problems(here) == []


def test_another_config_directory_shows_its_own_tools_and_stales_nothing(
    sandbox: Sandbox, shop: Path, blog: Path, registry: Registry
) -> None:
    sandbox.write_state("wiki", "default")
    sandbox.write(sandbox.root / "other/.claude.json", servers("wiki", "moved"))
    assert visible_names(registry, at(registry, blog)) == ["global default", "global wiki"]
    sandbox.variables["CLAUDE_CONFIG_DIR"] = str(sandbox.root / "other")
    assert visible_names(registry, at(registry, shop)) == ["global moved", "global wiki"]
    sandbox.write(sandbox.root / "other/.claude.json", servers("moved"))
    assert visible_names(registry, at(registry, shop)) == ["global moved"]
    del sandbox.variables["CLAUDE_CONFIG_DIR"]
    wiki = registry.explain("wiki", at(registry, blog))
    assert (wiki.decision.is_available, wiki.decision.reason) == (True, "declared in ~/.claude.json")
    assert visible_names(registry, at(registry, shop)) == ["global default", "global wiki"]


def test_a_slow_scan_cannot_take_away_what_a_later_one_found(
    sandbox: Sandbox, shop: Path, blog: Path, registry: Registry
) -> None:
    sandbox.write_state("old")
    slow = sandbox.registry()
    before = sandbox.client_files().read(at(slow, shop).view("claude-code"))
    sandbox.write_state("old", "new")
    assert visible_names(registry, at(registry, blog)) == ["global new", "global old"]
    resolved = resolve(before.declarations, ClientSettings(before.rules))
    slow._store.scans.save(before, resolved, at(slow, shop).view("claude-code"), 1)  # pyright: ignore[reportPrivateUsage]
    assert (
        visible_names(registry, at(registry, blog))
        == visible_names(registry, at(registry, shop))
        == ["global new", "global old"]
    )


def test_a_tool_seen_before_its_server_was_switched_off_is_switched_off_with_it(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write(shop / "api/.mcp.json", servers("till"))
    registry.usage.record("mcp__till__ring", at(registry, shop))
    assert visible_names(registry, at(registry, shop / "api")) == ["project till", "project till"]
    sandbox.write_state(local={shop: {"disabledMcpServers": ["till"]}})
    assert visible_names(registry, at(registry, shop / "api")) == []


def test_a_tool_whose_old_server_is_gone_is_explained_by_the_one_in_force(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    here = at(registry, shop)
    sandbox.write_state("git", local={shop: servers("git")})
    registry.usage.record("mcp__git__commit", here)
    sandbox.write_state("git")
    assert registry.explain("mcp__git__commit", here).decision.is_available


def test_a_server_is_found_by_its_name_as_written_before_any_that_looks_alike(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write_state("a.b", "a_b", local={shop: {"disabledMcpServers": ["a.b"]}})
    for name, visible in (("a.b", False), ("a_b", True)):
        explained = registry.explain(name, at(registry, shop))
        assert explained.tool is not None
        assert (explained.tool.server, explained.decision.is_available) == (name, visible)


def test_a_tool_of_a_server_that_an_agent_brings_along_is_visible_to_that_agent_alone(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    own = "---\nname: auditor\ndescription: d\nmcpServers:\n  - vault: {command: vault-mcp}\n---\n"
    sandbox.write(shop / ".claude" / "agents" / "auditor.md", own)
    sandbox.write(shop / ".claude" / "agents" / "other.md", "---\nname: other\ndescription: d\n---\n")
    registry.usage.record("mcp__vault__read", at(registry, shop), server="vault")
    answers = {
        agent: registry.explain("mcp__vault__read", registry.at(str(shop), agent=agent)).decision
        for agent in (None, "auditor", "other")
    }
    assert {agent: answer.is_available for agent, answer in answers.items()} == {
        None: False,
        "auditor": True,
        "other": False,
    }
    assert answers[None].reason == "it is agent `auditor`'s own"


def test_an_agent_has_the_servers_of_its_own_definition_and_not_of_one_it_shadows(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    for folder, label in ((sandbox.home, "theirs"), (shop, "ours")):
        own = f"---\nname: auditor\ndescription: d\nmcpServers:\n  - {label}: {{command: x}}\n---\n"
        sandbox.write(folder / ".claude" / "agents" / "auditor.md", own)
    here = registry.at(str(shop), agent="auditor")
    servers = [item for item in registry.tools(here) if item.tool.agent == "auditor"]
    assert {tool.server: decision.is_available for tool, decision in servers} == {
        "ours": True,
        "theirs": False,
    }


@pytest.mark.parametrize("is_scanned", [True, False])
def test_an_agent_that_lists_a_plugins_server_has_its_tools(
    sandbox: Sandbox, shop: Path, registry: Registry, is_scanned: bool
) -> None:
    shelf = sandbox.root / "shelf"
    sandbox.write(
        shelf / ".claude-plugin/marketplace.json", {"plugins": [{"name": "quill", "source": "./quill"}]}
    )
    sandbox.write(shelf / "quill/.claude-plugin/plugin.json", {"name": "quill", **servers("ink")})
    known = {"m": {"source": {"source": "directory", "path": str(shelf)}, "installLocation": str(shelf)}}
    sandbox.write(sandbox.home / ".claude/plugins/known_marketplaces.json", known)
    lists = "---\nname: auditor\ndescription: d\nmcpServers: ['plugin:quill:ink']\n---\n"
    sandbox.write(shop / ".claude" / "agents" / "auditor.md", lists)
    enabled = {"enabledPlugins": {"quill@m": True}}
    if is_scanned:
        sandbox.write(sandbox.home / ".claude/settings.json", enabled)
    registry.usage.record("mcp__plugin_quill_ink__dip", at(registry, shop))
    sandbox.write(sandbox.home / ".claude/settings.json", enabled)
    auditor = registry.at(str(shop), agent="auditor")
    assert registry.explain("mcp__plugin_quill_ink__dip", auditor).decision.reason == (
        f"its server `ink` is declared in {shelf / 'quill/.claude-plugin/plugin.json'}"
    )


def test_a_use_in_a_session_started_in_another_way_is_placed_by_what_the_files_say_now(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write(shop / ".mcp.json", servers("till"))
    registry.scan(at(registry, shop))
    sandbox.write(shop / ".mcp.json", servers("other"))
    registry.usage.record("mcp__till__ring", registry.at(str(shop), is_headless=True), server="till")
    placed = "select server_id from tools where name = 'mcp__till__ring'"
    assert run_sql(sandbox.database, placed) == [(None,)]


def test_the_session_context_shows_only_what_is_visible_here(
    sandbox: Sandbox, shop: Path, blog: Path, registry: Registry
) -> None:
    sandbox.write_state("wiki", local={shop: {"disabledMcpServers": ["off"]}})
    sandbox.write(shop / ".mcp.json", servers("till", "off"))
    sandbox.write(blog / ".mcp.json", servers("press"))
    sandbox.provide("wiki", "till")
    registry.scan(at(registry, blog))
    registry.usage.record("mcp__wiki__read", at(registry, blog))
    registry.usage.record("Read", at(registry, shop))
    assert registry.session_context(at(registry, shop)).splitlines() == [
        "## Project Memory",
        f"project_id: {memory_id(at(registry, shop).workspace.project)}",
        "",
        "## Available Tools",
        "- MCP: till (project)",
        "- MCP: wiki (global)",
    ]


@pytest.mark.parametrize("budget", [0, 10, 40, 60])
def test_the_session_context_stays_inside_any_budget(
    sandbox: Sandbox, shop: Path, registry: Registry, budget: int
) -> None:
    sandbox.write(shop / ".mcp.json", servers("till", "scale"))
    assert len(registry.session_context(at(registry, shop), budget=budget)) <= budget


def test_what_a_tool_costs_is_known_where_its_definition_is(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write_state("git")
    here, there = at(registry, shop), at(registry, sandbox.project("blog"))
    registry.usage.report_tool("mcp__git", here, description="A server's own words are sent to nobody.")
    assert [tool.tokens for tool, _ in registry.tools(here)] == [None]
    registry.usage.report_tool(
        "mcp__git__log", here, description="Shows commits.", input_schema={"type": "object"}
    )
    cost = definition_tokens("mcp__git__log", "Shows commits.", '{"type":"object"}')
    assert [tool.tokens for tool, _ in registry.tools(here)] == [cost, cost]
    assert {tool.tokens for tool, _ in registry.tools(there)} == {None}


def test_only_the_first_scan_of_a_workspace_is_the_first(shop: Path, registry: Registry) -> None:
    here = at(registry, shop)
    assert [registry.scan(here).is_first for _ in range(2)] == [True, False]


def test_a_report_keeps_description_and_schema(shop: Path, registry: Registry) -> None:
    here = at(registry, shop)
    registry.usage.report_tool("mcp__till__ring", here, description="Rings.", input_schema={"type": "object"})
    explained = registry.explain("mcp__till__ring", here)
    assert explained.tool is not None
    assert (explained.tool.description, explained.tool.kind) == ("Rings.", Kind.MCP_TOOL)


def test_forgetting_a_project_erases_its_rows_uses_and_words_and_nothing_else(
    sandbox: Sandbox, shop: Path, blog: Path, registry: Registry
) -> None:
    sandbox.write_state("wiki")
    sandbox.write(shop / ".mcp.json", servers("till"))
    for here in (at(registry, shop), at(registry, blog)):
        registry.scan(here)
        registry.usage.record("mcp__wiki__read", here)
    registry.usage.record("OnlyInShop", at(registry, shop))
    registry.usage.record("mcp__wiki__acme", at(registry, shop))
    registry.usage.report_tool("mcp__till__ring", at(registry, shop), description="Rings, in the shop.")
    sandbox.write(shop / ".mcp.json", servers("replaced"))
    registry.scan(at(registry, shop))
    registry.projects.forget(registry.projects.find(str(shop)))
    left = b"".join(file.read_bytes() for file in sandbox.database.parent.iterdir())
    traces = (str(shop).encode(), b"till", b"replaced", b"OnlyInShop", b"acme", b"Rings")
    assert [trace for trace in traces if trace in left] == []
    known = {item.tool.name: item.tool.usage_count for item in registry.tools(at(registry, blog))}
    assert known == {"mcp__wiki__*": 1, "mcp__wiki__read": 1}
    with pytest.raises(UnknownProjectError, match="nothing is stored"):
        registry.projects.find(str(shop))


def test_a_project_can_be_forgotten_after_its_directory_is_gone(shop: Path, registry: Registry) -> None:
    here = at(registry, shop)
    registry.scan(here)
    (shop / ".git").rmdir()
    shop.rmdir()
    for name in (here.workspace.project.hash, str(shop), f"{shop}/"):
        assert registry.projects.find(name).path == str(shop)


@pytest.mark.parametrize("name", ["/nowhere", "0123456789abcdef", "half\ud800", ""])
def test_what_is_no_known_project_is_an_error(registry: Registry, name: str) -> None:
    with pytest.raises(UnknownProjectError):
        registry.projects.find(name)


def test_a_clients_own_tool_is_explained_before_its_first_use(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    here = at(registry, shop)
    assert registry.explain("WebFetch", here).decision.reason == "built into the client"
    sandbox.write(shop / "remit.toml", 'block = ["WebFetch"]\n')
    assert registry.explain("WebFetch", here).decision.gate is Gate.POLICY
    assert registry.explain("WebFecth", here).suggestions == ["WebFetch"]


def test_an_unknown_client_is_an_error_that_lists_the_known_ones(shop: Path, registry: Registry) -> None:
    with pytest.raises(UnknownClientError) as raised:
        registry.at(str(shop), "emacs")
    assert "`claude-code`" in str(raised.value.hint)


def test_all_clients_are_an_inventory(sandbox: Sandbox, shop: Path, registry: Registry) -> None:
    sandbox.write(shop / ".mcp.json", servers("till"))
    (sandbox.home / ".klaude").mkdir()
    sandbox.write(sandbox.home / ".cursor/mcp.json", servers("kite"))
    sandbox.write(sandbox.home / ".config/zed/settings.json", {"context_servers": {"kite": {"command": "x"}}})
    everything = registry.at(str(shop), "all")
    registry.usage.record("mcp__x__y", everything)
    visible = [item.tool for item in registry.tools(everything) if item.decision.is_available]
    assert sorted(f"{tool.client} {tool.scope} {tool.server}" for tool in visible) == [
        "claude-code project till",
        "claude-code project x",
        "cursor global kite",
        "klaude project till",
        "zed global kite",
    ]


def test_a_client_is_found_when_one_of_its_files_is_there(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    broken = sandbox.write(sandbox.home / ".cursor/mcp.json", "{")
    kite = sandbox.write(shop / ".cursor/mcp.json", servers("kite", "maps", bad={"args": []}))
    (shop / ".continue/mcpServers").mkdir(parents=True)
    found = {item.client: item for item in registry.clients(registry.at(str(shop), "all"))}
    assert found["cursor"] == ClientPresence(
        client="cursor", files=[str(broken), str(kite)], servers=2, problems=2
    )
    assert not found["continue"].is_found
    assert not found["windsurf"].is_found


def test_rows_of_a_client_that_was_uninstalled_go(sandbox: Sandbox, shop: Path, registry: Registry) -> None:
    folder = sandbox.home / ".cursor"
    sandbox.write(shop / ".cursor/mcp.json", servers("kite"))
    sandbox.write(folder / "mcp.json", servers())
    registry.scan(registry.at(str(shop), "cursor"))
    here = registry.at(str(shop))
    assert registry.explain("kite", here).decision.reason == "declared for cursor"
    shutil.rmtree(folder)
    assert registry.explain("kite", here).tool is None
    assert "cursor" not in {item.tool.client for item in registry.tools(registry.at(str(shop), "all"))}
    assert [item.tool.server for item in registry.tools(registry.at(str(shop), "cursor"))] == ["kite"]


def test_a_client_that_is_alone_on_the_machine_is_the_usual_one(sandbox: Sandbox, registry: Registry) -> None:
    assert registry.usual_client == "claude-code"
    shutil.rmtree(sandbox.home / ".claude")
    sandbox.variables["PATH"] = "/nowhere"
    with sandbox.registry() as bare:
        assert bare.usual_client == "claude-code"
        (sandbox.home / ".cursor").mkdir()
        assert bare.usual_client == "cursor"


def test_a_server_in_a_settings_file_is_explained_with_the_command_that_adds_it(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write(shop / ".claude/settings.json", servers("figma"))
    registry.scan(registry.at(str(shop), "klaude"))  # which reads that file
    here = at(registry, shop)
    for name in ("figma", "mcp__figma__draw"):
        told = registry.explain(name, here)
        assert (told.name, told.decision.gate) == ("mcp__figma__*", Gate.CONFIG)
        assert told.decision.reason == "declared in a file where claude-code reads no servers"
        assert told.decision.full_reason.startswith("declared in `mcpServers` in .claude/settings.json")
        assert "claude mcp add-json --scope project figma" in str(told.decision.unlock)
        assert [result.passed for gate, result in told.gates if gate is Gate.CONFIG] == [False]
    assert registry.explain("figma", registry.at(str(shop), "klaude")).decision.is_available
    assert registry.explain("figmas", here).tool is None
    sandbox.write_state("figma")
    assert registry.explain("figma", here).decision.is_available


def test_an_unknown_name_that_an_agent_reports_belongs_to_the_project(
    shop: Path, sandbox: Sandbox, registry: Registry
) -> None:
    here, blog = at(registry, shop), registry.at(str(sandbox.project("blog")))
    registry.usage.report_tool("Frobnicate", here)
    registry.usage.report_tool("Bash", here)
    assert [tool.name for tool, _ in registry.tools(here)] == ["Bash", "Frobnicate"]
    assert [tool.name for tool, _ in registry.tools(blog)] == ["Bash"]
