from pathlib import Path

import pytest

from remit.decision.kinds import Kind
from remit.registry import Registry
from support.builders import servers
from support.sandbox import Sandbox

KINDS = {Kind.SLASH_COMMAND, Kind.SKILL, Kind.SUBAGENT}


def markdown(description: str, *lines: str) -> str:
    return "\n".join(["---", f"description: {description}", *lines, "---", "text", ""])


def agent(name: str, *lines: str) -> str:
    return markdown("does things", f"name: {name}", *lines)


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    return sandbox.project("shop")


@pytest.fixture
def registry(sandbox: Sandbox) -> Registry:
    return sandbox.registry()


def listed(registry: Registry, directory: Path) -> dict[str, str]:
    """Every command, skill and agent: its decision's reason, or its description where it is visible."""
    context = registry.at(str(directory))
    return {
        f"{tool.scope} {tool.name}": (tool.description or "")
        if decision.is_available
        else decision.full_reason
        for tool, decision in registry.tools(context)
        if tool.kind in KINDS
    }


def test_commands_skills_and_agents_of_every_scope_are_found_with_their_names(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write(sandbox.home / ".claude/commands/hello.md", markdown("Says hello"))
    sandbox.write(shop / ".claude/commands/db/seed.md", markdown("Fills the database"))
    sandbox.write(shop / ".claude/skills/changelog/SKILL.md", markdown("Writes the changelog"))
    sandbox.write(shop / ".claude/agents/deep/auditor.md", agent("auditor"))
    sandbox.write(
        sandbox.root / "machine/etc/claude-code/.claude/commands/policy.md", markdown("Shows the policy")
    )
    assert listed(registry, shop) == {
        "global /hello": "Says hello",
        "project /db:seed": "Fills the database",
        "project changelog": "Writes the changelog",
        "project auditor": "does things",
        "managed /policy": "Shows the policy",
    }


def test_what_is_not_named_or_placed_as_the_client_wants_it_is_left_out(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    for path in (
        "commands/upper.MD",
        "commands/notes.txt",
        "skills/group/deep/SKILL.md",
        "skills/lower/skill.md",
        "skills/SKILL.md",
    ):
        sandbox.write(shop / ".claude" / path, markdown("x"))
    sandbox.write(shop / ".claude/agents/readme.md", "just text")
    assert listed(registry, shop) == {}
    assert registry.problems(registry.at(str(shop))) == []


def test_an_agent_without_a_usable_name_or_description_is_a_problem(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    for at, text in enumerate(
        (markdown("no name"), agent("a:b"), agent("-a"), agent("7"), "---\nname: undescribed\n---\n")
    ):
        sandbox.write(shop / f".claude/agents/{at}.md", text)
    assert listed(registry, shop) == {}
    problems = registry.problems(registry.at(str(shop)))
    assert len(problems) == 5
    assert {problem.reason for problem in problems} == {
        "an agent needs a `description`, and a `name` without `:` that does not begin with `-`"
    }


def test_your_skill_wins_over_the_projects_and_a_skill_over_a_command(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write(sandbox.home / ".claude/skills/ship/SKILL.md", markdown("mine"))
    sandbox.write(shop / ".claude/skills/ship/SKILL.md", markdown("the project's"))
    sandbox.write(sandbox.home / ".claude/commands/tidy.md", markdown("my command"))
    sandbox.write(shop / ".claude/skills/tidy/SKILL.md", markdown("the project's skill"))
    assert listed(registry, shop) == {
        "global ship": "mine",
        "project ship": "shadowed by the global declaration in ~/.claude/skills/ship/SKILL.md",
        "global /tidy": "shadowed by the project declaration in .claude/skills/tidy/SKILL.md",
        "project tidy": "the project's skill",
    }


def test_the_projects_agent_wins_over_yours(sandbox: Sandbox, shop: Path, registry: Registry) -> None:
    sandbox.write(sandbox.home / ".claude/agents/auditor.md", agent("auditor"))
    sandbox.write(shop / ".claude/agents/auditor.md", agent("auditor"))
    assert listed(registry, shop) == {
        "global auditor": "shadowed by the project declaration in .claude/agents/auditor.md",
        "project auditor": "does things",
    }


def test_the_nearer_directory_wins_up_to_the_root_of_the_repository(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write(sandbox.root / "code/.claude/commands/above.md", markdown("above the repository"))
    sandbox.write(shop / ".claude/commands/ship.md", markdown("top"))
    sandbox.write(shop / "api/.claude/commands/ship.md", markdown("api"))
    assert listed(registry, shop) == {"project /ship": "top"}
    visible = [
        tool.description
        for tool, decision in registry.tools(registry.at(str(shop / "api")))
        if decision.is_available
    ]
    assert visible == ["api"]


def test_without_a_repository_the_walk_ends_at_the_home(sandbox: Sandbox, registry: Registry) -> None:
    notes = sandbox.home / "work/notes"
    notes.mkdir(parents=True)
    sandbox.write(sandbox.home / "work/.claude/commands/up.md", markdown("above"))
    sandbox.write(sandbox.root / ".claude/commands/out.md", markdown("outside"))
    sandbox.write(sandbox.home / ".claude/commands/mine.md", markdown("mine"))
    assert listed(registry, notes) == {"project /up": "above", "global /mine": "mine"}


def test_what_only_a_person_may_invoke_is_hidden_and_shadows_nothing(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write(
        sandbox.home / ".claude/skills/ship/SKILL.md", markdown("mine", "disable-model-invocation: yes")
    )
    sandbox.write(shop / ".claude/skills/ship/SKILL.md", markdown("the project's"))
    found = listed(registry, shop)
    assert found["project ship"] == "the project's"
    assert found["global ship"].endswith("only a person may invoke it")


def test_settings_switch_skills_and_commands_off_by_name(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    overrides = {"ship": "off", "tidy": "user-invocable-only", "stay": "off", "brief": "name-only"}
    sandbox.write(sandbox.home / ".claude/settings.json", {"skillOverrides": overrides})
    sandbox.write(shop / ".claude/settings.json", {"skillOverrides": {"stay": "on"}})
    for name in overrides:
        sandbox.write(shop / f".claude/commands/{name}.md", markdown(name))
    found = listed(registry, shop)
    assert found["project /ship"].endswith("disabled in the client")
    assert found["project /tidy"].endswith("only a person may invoke it")
    assert (found["project /stay"], found["project /brief"]) == ("stay", "brief")


def test_an_administrator_can_admit_plugins_only(sandbox: Sandbox, shop: Path, registry: Registry) -> None:
    sandbox.write(shop / ".claude/commands/ship.md", markdown("x"))
    sandbox.write(shop / ".claude/agents/auditor.md", agent("auditor"))
    managed = sandbox.root / "machine/etc/claude-code/managed-settings.json"
    sandbox.write(managed, {"strictPluginOnlyCustomization": ["skills"]})
    found = listed(registry, shop)
    assert found["project /ship"].endswith("denied by a policy in the client's settings")
    assert found["project auditor"] == "does things"
    sandbox.write(managed, {"strictPluginOnlyCustomization": True})
    assert "denied" in listed(registry, shop)["project auditor"]


@pytest.mark.parametrize(
    ("text", "description"),
    [
        ("# A title\n\nmore", "A title"),
        ("---\nmodel: opus\n---\n\n## Sub\n", "Sub"),
        ("---\ndescription: Ships\nwhen_to_use: on Fridays\n---\n", "Ships - on Fridays"),
        ("---\ndescription: |\n  two\n  lines\n---\n", "two lines"),
        ("---\ndescription: [a, b]\n---\nbody", "body"),
        ("x" * 200, "x" * 97 + "..."),
        ("", ""),
    ],
)
def test_a_description_is_what_the_model_is_told(
    text: str, description: str, sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write(shop / ".claude/commands/ship.md", text)
    assert listed(registry, shop) == {"project /ship": description}


def test_links_that_go_round_in_a_circle_end(sandbox: Sandbox, shop: Path, registry: Registry) -> None:
    sandbox.write(shop / ".claude/commands/ship.md", markdown("x"))
    (shop / ".claude/commands/again").symlink_to(shop / ".claude/commands")
    assert "project /ship" in listed(registry, shop)


def test_a_new_changed_or_removed_file_is_noticed_at_once(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    assert listed(registry, shop) == {}
    command = sandbox.write(shop / ".claude/commands/ship.md", markdown("one"))
    assert listed(registry, shop) == {"project /ship": "one"}
    sandbox.write(command, markdown("two"))
    assert listed(registry, shop) == {"project /ship": "two"}
    command.unlink()
    assert listed(registry, shop) == {"project /ship": "no longer configured in .claude/commands/ship.md"}


def test_an_agent_has_what_its_definition_gives_it(sandbox: Sandbox, shop: Path, registry: Registry) -> None:
    sandbox.write(shop / ".mcp.json", servers("git", "wiki"))
    sandbox.write(
        shop / ".claude/agents/scout.md",
        agent(
            "scout",
            "mcpServers:",
            "  - git",
            "  - maps:",
            "      command: run-maps",
            "tools: Skill, mcp__git",
        ),
    )
    sandbox.write(shop / ".claude/skills/ship/SKILL.md", markdown("ships"))

    def visible(agent: str | None = None) -> set[str]:
        tools = registry.tools(registry.at(str(shop), agent=agent))
        return {tool.server or tool.name for tool, decision in tools if decision.is_available}

    assert visible() == {"git", "wiki", "scout", "ship"}
    assert visible("scout") == {"git", "ship"}
    reasons = {
        tool.server: decision.reason
        for tool, decision in registry.tools(registry.at(str(shop), agent="scout"))
        if not decision.is_available
    }
    assert reasons["wiki"] == "agent `scout` has only the servers it lists: `git`, `maps`"
    assert reasons["maps"] == "it is not among the tools of agent `scout`"
    main = registry.explain("maps", registry.at(str(shop)))
    assert (main.decision.gate, main.decision.reason) == ("agent", "it is agent `scout`'s own")


def test_the_lists_of_an_agent_may_be_written_in_any_of_the_usual_ways(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write(
        shop / ".claude/agents/scout.md",
        agent(
            "scout",
            "mcpServers: []",
            "tools: Read, Bash(git add:*, git commit:*)",
            "disallowedTools: [Write, 5]",
            "allowedAgents: lead, scribe",
            "inheritProjectMcps: no",
            "inheritParentMcps: 1",
        ),
    )
    profiles = [tool.profile for tool, _ in registry.tools(registry.at(str(shop))) if tool.name == "scout"]
    assert profiles[0] is not None
    assert profiles[0].servers == ()
    assert profiles[0].tools == ("Read", "Bash(git add:*, git commit:*)")
    assert profiles[0].denied_tools == ("Write",)
    assert profiles[0].allowed_agents == ("lead", "scribe")
    assert (profiles[0].inherits_project, profiles[0].inherits_parent) == (False, True)


def test_of_two_agents_of_one_name_in_one_folder_the_first_file_counts(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    for name in ("a", "b"):
        text = markdown(f"from {name}", "name: auditor")
        sandbox.write(shop / f".claude/agents/{name}.md", text)
    assert listed(registry, shop) == {"project auditor": "from a"}
