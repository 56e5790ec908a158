"""Commands, skills and subagents of Claude Code and klaude: names, descriptions, precedence, profiles."""

from pathlib import Path

import pytest

from remit.clients import ClientReading
from remit.decision import AgentProfile, Kind, Launch
from support.homes import Home, reasons, servers, statuses

KINDS = {Kind.SLASH_COMMAND, Kind.SKILL, Kind.SUBAGENT}
AGENT = "an agent needs a `description`, and a `name` without `:` that does not begin with `-`"


def markdown(description: str, *lines: str) -> str:
    return "\n".join(["---", f"description: {description}", *lines, "---", "text", ""])


def agent(name: str, *lines: str) -> str:
    return markdown("does things", f"name: {name}", *lines)


def listed(reading: ClientReading) -> dict[str, str | None]:
    """Map every command, skill and agent to its description, or to the source that shadows it."""
    return {
        f"{item.declaration.scope} {item.declaration.name}": item.declaration.description
        if item.shadowed_by is None
        else item.shadowed_by.source
        for item in reading.resolved
        if item.declaration.kind in KINDS
    }


def test_items_of_every_scope_are_found_with_their_names(home: Home, shop: Path) -> None:
    home.write(".claude/commands/hello.md", markdown("Says hello"))
    home.write(shop / ".claude/commands/db/seed.md", markdown("Fills the database"))
    home.write(shop / ".claude/skills/changelog/SKILL.md", markdown("Writes the changelog"))
    home.write(shop / ".claude/agents/deep/auditor.md", agent("auditor"))
    home.write(home.managed / ".claude/commands/policy.md", markdown("Shows the policy"))
    assert listed(home.read(shop)) == {
        "managed /policy": "Shows the policy",
        "global /hello": "Says hello",
        "project /db:seed": "Fills the database",
        "project changelog": "Writes the changelog",
        "project auditor": "does things",
    }


def test_skills_lie_one_level_deep_and_other_names_are_left_out(home: Home, shop: Path) -> None:
    for path in (
        *("commands/upper.MD", "commands/notes.txt", "skills/group/deep/SKILL.md", "skills/lower/skill.md"),
        "skills/SKILL.md",
    ):
        home.write(shop / ".claude" / path, markdown("x"))
    home.write(shop / ".claude/agents/readme.md", "just text")
    reading = home.read(shop)
    assert (listed(reading), reading.problems) == ({}, [])


def test_an_agent_without_a_usable_name_or_description_is_a_problem(home: Home, shop: Path) -> None:
    texts = (markdown("no name"), agent("a:b"), agent("-a"), agent("7"), "---\nname: undescribed\n---\n")
    for at, text in enumerate(texts):
        home.write(shop / f".claude/agents/{at}.md", text)
    assert reasons(home.read(shop)) == [AGENT] * 5
    assert listed(home.read(shop)) == {}


def test_your_skill_wins_a_skill_wins_over_a_command_and_the_projects_agent_wins(
    home: Home, shop: Path
) -> None:
    mine = home.write(".claude/skills/ship/SKILL.md", markdown("mine"))
    home.write(shop / ".claude/skills/ship/SKILL.md", markdown("the project's"))
    home.write(".claude/commands/tidy.md", markdown("my command"))
    skill = home.write(shop / ".claude/skills/tidy/SKILL.md", markdown("the project's skill"))
    home.write(".claude/agents/auditor.md", agent("auditor"))
    theirs = home.write(shop / ".claude/agents/auditor.md", agent("auditor"))
    assert listed(home.read(shop)) == {
        "global /tidy": str(skill),
        "global ship": "mine",
        "global auditor": str(theirs),
        "project ship": str(mine),
        "project tidy": "the project's skill",
        "project auditor": "does things",
    }


def test_the_nearer_directory_wins_up_to_the_root_of_the_repository(home: Home, shop: Path) -> None:
    home.write(shop.parent / ".claude/commands/above.md", markdown("above the repository"))
    home.write(shop / ".claude/commands/ship.md", markdown("top"))
    home.write(shop / "api/.claude/commands/ship.md", markdown("api"))
    assert listed(home.read(shop)) == {"project /ship": "top"}
    [winner] = [item.declaration for item in home.read(shop / "api").resolved if item.shadowed_by is None]
    assert winner.description == "api"


def test_without_a_repository_the_walk_ends_before_the_home(home: Home) -> None:
    notes = home.path / "work/notes"
    notes.mkdir(parents=True)
    home.write("work/.claude/commands/up.md", markdown("above"))
    home.write(home.root / ".claude/commands/out.md", markdown("outside"))
    home.write(".claude/commands/mine.md", markdown("mine"))
    assert listed(home.read(notes)) == {"global /mine": "mine", "project /up": "above"}


def test_what_only_a_person_may_invoke_shadows_nothing(home: Home, shop: Path) -> None:
    home.write(".claude/skills/ship/SKILL.md", markdown("mine", "disable-model-invocation: yes"))
    home.write(shop / ".claude/skills/ship/SKILL.md", markdown("the project's"))
    assert listed(home.read(shop))["project ship"] == "the project's"
    assert {"manual", "enabled"} == {item.status for item in home.read(shop).declarations}


def test_settings_override_skills_and_commands_by_name(home: Home, shop: Path) -> None:
    overrides = {"ship": "off", "tidy": "user-invocable-only", "stay": "off", "brief": "name-only"}
    home.write(".claude/settings.json", {"skillOverrides": overrides})
    home.write(shop / ".claude/settings.json", {"skillOverrides": {"stay": "on"}})
    for name in overrides:
        home.write(shop / f".claude/commands/{name}.md", markdown(name))
    assert statuses(home.read(shop)) == {
        "project /ship": "disabled",
        "project /tidy": "manual",
        "project /stay": "enabled",
        "project /brief": "enabled",
    }


def test_an_administrator_can_admit_plugins_only(home: Home, shop: Path) -> None:
    home.write(shop / ".claude/commands/ship.md", markdown("x"))
    home.write(shop / ".claude/agents/auditor.md", agent("auditor"))
    managed = home.write(
        home.managed / "managed-settings.json", {"strictPluginOnlyCustomization": ["skills"]}
    )
    assert statuses(home.read(shop)) == {"project /ship": "denied", "project auditor": "enabled"}
    home.write(managed, {"strictPluginOnlyCustomization": True})
    assert statuses(home.read(shop))["project auditor"] == "denied"


@pytest.mark.parametrize(
    ("text", "description"),
    [
        ("# A title\n\nmore", "A title"),
        ("---\nmodel: opus\n---\n\n## Sub\n", "Sub"),
        ("---\ndescription: Ships\nwhen_to_use: on Fridays\n---\n", "Ships - on Fridays"),
        ("---\ndescription: |\n  two\n  lines\n---\n", "two lines"),
        ("---\ndescription: [a, b]\n---\nbody", "body"),
        ("x" * 200, "x" * 97 + "..."),
        ("", None),
    ],
)
def test_a_description_is_what_the_model_is_told(
    home: Home, shop: Path, text: str, description: str | None
) -> None:
    home.write(shop / ".claude/commands/ship.md", text)
    assert listed(home.read(shop)) == {"project /ship": description}


def profile(home: Home, shop: Path, *lines: str) -> AgentProfile:
    home.write(shop / ".claude/agents/scout.md", agent("scout", *lines))
    [found] = [item.profile for item in home.read(shop).declarations if item.kind is Kind.SUBAGENT]
    assert found is not None
    return found


def test_the_lists_of_an_agent_may_be_written_in_any_of_the_usual_ways(home: Home, shop: Path) -> None:
    lists = ("tools: Read, Bash(git add:*, git commit:*)", "disallowedTools: [Write, 5]")
    flags = ("inheritProjectMcps: no", "inheritParentMcps: 1", "allowedAgents: lead, scribe")
    assert profile(home, shop, "mcpServers: []", *lists, *flags) == AgentProfile(
        servers=(),
        inherits_project=False,
        inherits_parent=True,
        tools=("Read", "Bash(git add:*, git commit:*)"),
        denied_tools=("Write",),
        allowed_agents=("lead", "scribe"),
    )
    assert profile(home, shop, "tools: []").tools is None, "an empty tool list means all"


def test_an_agents_own_servers_are_declared_for_it(home: Home, shop: Path) -> None:
    lines = ("mcpServers:", "  - git", "  - maps:", "      command: run-maps")
    found = profile(home, shop, *lines)
    assert (found.servers, found.own_servers) == (("git", "maps"), ("maps",))
    [own] = [item for item in home.read(shop).declarations if item.agent is not None]
    assert (own.agent, own.server, own.status) == ("scout", "maps", "enabled")
    assert own.launch == Launch(command="run-maps", syntaxes=own.launch.syntaxes if own.launch else ())


def test_of_two_agents_of_one_name_in_one_folder_the_first_file_counts(home: Home, shop: Path) -> None:
    for name in ("a", "b"):
        home.write(shop / f".claude/agents/{name}.md", markdown(f"from {name}", "name: auditor"))
    assert listed(home.read(shop)) == {"project auditor": "from a"}


def test_links_that_form_a_circle_end(home: Home, shop: Path) -> None:
    home.write(shop / ".claude/commands/ship.md", markdown("x"))
    (shop / ".claude/commands/again").symlink_to(shop / ".claude/commands")
    assert "project /ship" in listed(home.read(shop))


def test_agents_of_klaude_come_from_the_root_and_the_home(home: Home, shop: Path) -> None:
    home.write(".claude/agents/scout.md", agent("scout", "mcpServers: git"))
    home.write(shop / ".claude/agents/heir.md", agent("heir"))
    home.write(shop / ".mcp.json", servers("git"))
    reading = home.read(shop, client="klaude")
    assert statuses(reading) == {
        "project git": "enabled",
        "project heir": "enabled",
        "global scout": "enabled",
    }
    at_home = home.read(home.path, client="klaude")
    assert statuses(at_home) == {"global scout": "enabled"}
