"""Links out of a repository: what they lead to reaches no model, and every link is a problem that is told."""

import json

import pytest

from attacks.peers import tool
from attacks.worlds import World, require

SECRET = "hunter2-correct-horse"  # noqa: S105 - of nobody


def lead_out(world: World) -> None:
    """Link to the user's passwords, notes and everything from where Claude Code looks."""
    world.write(world.home / ".netrc", f"machine example.com login me password {SECRET}\n")
    world.write(world.home / "notes/diary.md", f"---\nname: diary\ndescription: {SECRET}\n---\n")
    world.write(world.home / "private/SKILL.md", f"---\ndescription: {SECRET}\n---\n")
    folder = world.repository / ".claude"
    (folder / "commands").mkdir(parents=True)
    (folder / "commands/leak.md").symlink_to(world.home / ".netrc")
    (folder / "commands/notes").symlink_to(world.home / "notes")
    (folder / "skills").symlink_to(world.home)
    (folder / "agents").symlink_to("/")


@pytest.mark.parametrize(
    "words", [("scan",), ("tools", "--all"), ("context",), ("search", "password diary"), ("doctor", "--json")]
)
def test_no_command_tells_what_a_link_leads_to(world: World, words: tuple[str, ...]) -> None:
    lead_out(world)
    done = world.attempt(*words)
    assert SECRET not in done.stdout + done.stderr
    assert "diary:" not in done.stdout


def test_a_session_is_not_told_what_a_link_leads_to(world: World) -> None:
    lead_out(world)
    said = json.dumps(world.hook("SessionStart", source="startup"))
    assert SECRET not in said
    assert "diary" not in said
    assert "leak" not in said


def test_each_link_is_a_problem_that_names_its_file(world: World) -> None:
    lead_out(world)
    findings = world.doctor()
    for name in ("commands/leak.md", "commands/notes", ".claude/skills", ".claude/agents"):
        assert name in findings
    assert "leads out of the project" in findings


def test_links_inside_a_checkout_are_followed(world: World) -> None:
    world.write(world.repository / "docs/prompts/greet.md", "Greet the user\n")
    world.write(world.repository / "docs/deploy.md", "Deploy the shop\n")
    folder = world.repository / ".claude/commands"
    folder.mkdir(parents=True)
    (folder / "prompts").symlink_to("../../docs/prompts")
    (folder / "deploy.md").symlink_to("../../docs/deploy.md")
    listed = world.remit("tools", "--all")
    assert "/prompts:greet" in listed
    assert "/deploy" in listed


def test_the_users_own_files_may_be_links_to_anywhere(world: World) -> None:
    world.write(world.root / "dotfiles/greet.md", "Greet the user\n")
    (world.home / ".claude/commands").mkdir(parents=True)
    (world.home / ".claude/commands/greet.md").symlink_to(world.root / "dotfiles/greet.md")
    assert "/greet" in world.remit("tools", "--all")


@pytest.mark.parametrize("is_there", [True, False])
def test_a_linked_lock_is_not_written_through(world: World, is_there: bool) -> None:
    world.declare({}, approved=["till"])
    world.bring({"till": world.server("till", tool("sum"))})
    target = world.home / ".bashrc"
    if is_there:
        target.write_text("# mine\n")
    world.remit("trust", "till", "--yes")
    world.remit("scan", "--connect")
    (world.repository / "remit.lock").symlink_to(target)
    done = world.attempt("lock", "--no-connect")
    assert f"remit.lock` is a link to `{target}`" in done.stderr
    assert (target.read_text() if target.exists() else None) == ("# mine\n" if is_there else None)
    (world.repository / "remit.lock").unlink()
    world.remit("lock", "--no-connect")
    require((world.repository / "remit.lock").read_text().startswith("# Written"), "a lock can be written")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("remit.toml", ("disable", "till", "--shared")),
        ("remit.local.toml", ("disable", "till")),
        ("remit.lock", ("lock", "--no-connect")),
        ("export.jsonl", ("memory", "export", "--output", "export.jsonl")),
    ],
)
def test_no_file_of_the_repository_is_written_through_a_link_to_another(
    world: World, name: str, words: tuple[str, ...]
) -> None:
    world.declare({}, approved=["till"])
    world.bring({"till": world.server("till", tool("sum"))})
    world.remit("trust", "till", "--yes")
    world.remit("scan", "--connect")
    victim = world.repository / ".git/config"
    world.write(victim, "# mine\n")
    (world.repository / name).symlink_to(".git/config")
    done = world.attempt(*words)
    assert f"{name}` is a link" in done.stderr
    assert victim.read_text() == "# mine\n"
    assert (world.repository / name).is_symlink()


def test_no_export_goes_through_a_linked_directory_or_into_a_hard_link(world: World) -> None:
    victim = world.repository / ".git/hooks/pre-commit"
    world.write(victim, "# mine\n")
    (world.repository / "out").symlink_to(".git/hooks")
    (world.repository / "export.jsonl").hardlink_to(victim)
    for path, reason in (("out/pre-commit", "out` is a link"), ("export.jsonl", "it is a hard link")):
        assert reason in world.attempt("memory", "export", "--output", path).stderr
    assert victim.read_text() == "# mine\n"


def test_a_hard_link_in_place_of_a_configuration_file_is_replaced(world: World) -> None:
    world.declare({}, approved=["till"])
    world.bring({"till": world.server("till", tool("sum"))})
    victim = world.repository / ".git/description"
    world.write(victim, "# mine\n")
    world.remit("trust", "till", "--yes")
    world.remit("scan", "--connect")
    (world.repository / "remit.lock").hardlink_to(victim)
    world.remit("lock", "--no-connect")
    assert victim.read_text() == "# mine\n"
    require((world.repository / "remit.lock").read_text().startswith("# Written"), "a lock is written")
