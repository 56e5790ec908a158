"""Links out of a repository are not even opened: neither a file of a client nor one of git's."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from attacks.hostile_repositories import Victim, event
from attacks.ingredients.file_forms import FILES
from attacks.ingredients.repository import HostileRepository
from attacks.peers import SECONDS
from attacks.worlds import BASH, require
from support.processes import forked_script

GIT = ("HEAD", "config", "index", "commondir", "gitdir", "packed-refs", "info/exclude", "modules/x/HEAD")
OTHERS = (".env", ".gemini/.env", "package-lock.json", "npm-shrinkwrap.json", "uv.lock", "remit.lock")
PROJECTS = {"npm": {"command": "npx", "args": ["-y", "x"]}, "pypi": {"command": "uvx", "args": ["x"]}}
COMMANDS = (["tools", "--all", "--client", "all"], ["doctor"], ["lock", "--no-connect"])
# Runs commands, each in a fork, and writes every path under which a secret is opened or listed.
RECORDER = """
import json, os, sys
secrets, commands = (json.loads(word) for word in sys.argv[1:3])
log = os.open(sys.argv[3], os.O_WRONLY | os.O_CREAT | os.O_APPEND)

def note(event, args):
    if event in ("open", "os.scandir", "os.listdir") and isinstance(args[0], str):
        is_looked_up = event == "open" and args[2] & os.O_PATH  # reads nothing
        if not is_looked_up and os.path.realpath(args[0]) in secrets:
            os.write(log, f"{sys.argv[1]} {event} {args[0]}\\n".encode())

from remit.__main__ import main
sys.addaudithook(note)
for words in commands:
    if not (child := os.fork()):
        sys.argv[1:] = words
        sys.exit(main())
    os.waitpid(child, 0)
"""


def opened(victim: Victim, repository: HostileRepository, *commands: list[str]) -> list[str]:
    """Run commands in the repository, and tell which of the user's secrets they opened by which name."""
    private = victim.world.home / "private"
    secrets = [str(path) for path in (*victim.secrets, private, *(private / name for name in GIT))]
    log = victim.world.root / "opened"
    log.touch()
    done = subprocess.run(
        forked_script(victim.world.root, RECORDER, json.dumps(secrets), json.dumps(commands), str(log)),
        cwd=repository.workspace,
        env=victim.environment,
        input=event("PreToolUse", repository, **BASH),
        capture_output=True,
        timeout=2 * SECONDS,
    )
    require(done.returncode == 0, f"the commands cannot be recorded: {done.stderr.decode()}")
    return log.read_text().splitlines()


def has_linked_files(repository: HostileRepository) -> None:
    """Every file of a client and of a package manager is a link to a secret."""
    for path in (*(each for each in FILES if each != ".mcp.json"), *OTHERS):
        repository.link(path, repository.secret())
    for name in GIT:
        repository.link(f".git/{name}", repository.secret())


def has_a_git_file_that_points_away(repository: HostileRepository) -> None:
    """`.git` names a directory of the user, whose files have the names of git's."""
    private = repository.home / "private"
    for name in GIT:
        (private / name).parent.mkdir(parents=True, exist_ok=True)
        (private / name).write_text("secret\n")
    repository.write(".git", f"gitdir: {private}\n")
    repository.write(".claude/settings.local.json", {"permissions": {"allow": ["Bash"]}})


def has_linked_folders(repository: HostileRepository) -> None:
    """Directories on the way to a file are links to a directory of the user, and `.git` to a secret."""
    private = repository.home / "private"
    private.mkdir()
    for path in (*FILES, *GIT):
        (private / os.path.basename(path)).unlink(missing_ok=True)
        (private / os.path.basename(path)).symlink_to(repository.secret())
    for name in (".claude", ".gemini", ".codex", ".cursor", ".vscode", ".opencode"):
        repository.link(name, private)
    repository.link(".git", repository.secret())


@pytest.mark.long
@pytest.mark.parametrize("form", [has_linked_files, has_a_git_file_that_points_away, has_linked_folders])
def test_no_command_opens_a_secret_that_a_link_leads_to(
    tmp_path: Path, form: Callable[[HostileRepository], None]
) -> None:
    victim = Victim(tmp_path.resolve(), 0)
    try:
        victim.world.install()
        victim.world.bring(PROJECTS)
        repository = victim.clone([form])
        hook = victim.installed_hook()
        assert opened(victim, repository, hook[hook.index("hook") :], *COMMANDS) == []
    finally:
        victim.close()
