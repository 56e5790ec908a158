"""Repositories and servers that try to get out of a sandbox, under the real bubblewrap."""

import json
import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from attacks.worlds import World
from remit.decision.permissions.client_facts import CLIENTS
from remit.trust.server_sandbox import SandboxError
from support.processes import git
from support.sandbox import Sandbox as Remit
from support.sandboxed_servers import SandboxMachine, inside, obstacle

pytestmark = pytest.mark.skipif(obstacle() is not None, reason=str(obstacle()))
PYTHON = os.path.realpath("/usr/bin/python3")
needs_python = pytest.mark.skipif(not os.path.isfile(PYTHON), reason="the system has no Python")


@pytest.fixture
def machine(tmp_path: Path) -> SandboxMachine:
    return SandboxMachine(tmp_path.resolve())


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def environment(machine: SandboxMachine) -> Path:
    """Make a virtual environment of the project, as a repository can."""
    made = machine.project / ".venv"
    (made / "lib/python3.11/site-packages").mkdir(parents=True)
    (made / "bin").mkdir()
    (made / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (made / "bin/python3").symlink_to(PYTHON)
    return made


@needs_python
def test_a_projects_environment_runs_and_its_path_files_open_only_the_project(
    machine: SandboxMachine,
) -> None:
    made = environment(machine)
    (machine.project / "src").mkdir()
    (made / "lib/python3.11/site-packages/x.pth").write_text(
        f"{machine.project}/src\n{machine.home}/code/other\n{machine.project}/../other\n"
    )
    places = [str(machine.home / "code"), str(machine.project)]
    script = f"import os; print([sorted(os.listdir(place)) for place in {places}])"
    done = inside(machine, ".venv/bin/python3", "-c", script)
    assert done.stdout == "[['shop'], ['.venv', 'src']]\n"


@needs_python
@pytest.mark.parametrize("name", ["python", "node"])
@pytest.mark.parametrize("target", ["home", "home/code/other", "home/notes.txt", "run", "absent"])
def test_a_link_in_a_projects_environment_opens_nothing(
    machine: SandboxMachine, name: str, target: str
) -> None:
    (machine.home.parent / "run").mkdir()
    (environment(machine) / "bin" / name).symlink_to(machine.home.parent / target)
    with pytest.raises(SandboxError, match=f"the project makes it run `{machine.home.parent}/{target}`"):
        inside(machine, ".venv/bin/python3", "-V")


def test_a_link_beside_packages_opens_no_socket_of_the_host(
    machine: SandboxMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    sockets = machine.home.parent / "run"
    sockets.mkdir()
    serve = program(
        machine.project / "node_modules/.bin/serve", f"#!/bin/sh\ntest -e {sockets} && echo open\n"
    )
    (machine.project / "node_modules/bin").mkdir()
    (machine.project / "node_modules/bin/node").symlink_to(sockets)
    monkeypatch.chdir(sockets)
    with socket.socket(socket.AF_UNIX) as host:
        host.bind("docker.sock")
        host.listen()
        assert inside(machine, str(serve)).stdout == ""


@pytest.mark.parametrize("first", ["#!{other}/bin/tool\n", "#!/usr/bin/env tool\n"])
def test_the_first_line_of_a_projects_script_opens_no_other_environment(
    machine: SandboxMachine, first: str
) -> None:
    other = machine.home / "code/other/.venv"
    program(other / "bin/tool", "")
    (other / "pyvenv.cfg").write_text("")
    program(machine.project / "serve", first.format(other=other))
    with pytest.raises(SandboxError, match=f"the project makes it run `{other}/bin/tool`"):
        inside(machine, "./serve", PATH=f"/usr/bin:{other}/bin")


def test_a_link_to_another_projects_script_is_refused(machine: SandboxMachine) -> None:
    program(machine.home / "code/other/plan.sh", "")
    (machine.project / "lib").symlink_to(machine.home / "code/other")
    with pytest.raises(SandboxError, match="the project makes it run"):
        inside(machine, "sh", "lib/plan.sh")


def test_an_entry_of_the_project_opens_no_place_that_it_names(
    machine: SandboxMachine,
) -> None:
    plan = machine.home / "code/other/plan.txt"
    tool = program(machine.home / "code/other/bin/tool", "#!/bin/sh\n")
    other = program(machine.home / "code/other/x", "")
    package = machine.home / ".npm/_npx/a/node_modules/tsx"
    package.mkdir(parents=True)
    (package / "package.json").write_text(json.dumps({"version": "1.0.0", "bin": {"tsx": "x"}}))
    program(package.parent / ".bin/tsx", "#!/bin/sh\n")
    for words in (
        ("perl", "-eprint 1", str(plan)),
        ("sh", "../other/x"),
        ("npx", "tsx", str(other)),
        (str(tool),),
        ("../other/bin/tool",),
    ):
        with pytest.raises(SandboxError, match="the project makes it run"):
            inside(machine, *words, is_projects=True)
    with pytest.raises(SandboxError, match="the project makes it run"):
        inside(machine, "tool", is_projects=True, PATH=f"/usr/bin:{tool.parent}")
    program(machine.project / "uvx", f"#!/bin/sh\nls {plan.parent.parent}\n")
    cache = str(plan.parent.parent)
    assert inside(machine, "./uvx", is_projects=True, UV_CACHE_DIR=cache).stdout == "shop\n"
    assert inside(machine, "sh", "-c", f"cat {tool}").returncode != 0


def test_a_cache_of_packages_in_the_project_leads_nowhere(
    machine: SandboxMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = machine.home / "code/other/plan.txt"
    program(machine.home / "tools/uvx", f"#!/bin/sh\ncat {plan}\n")
    (machine.project / "a/b/cache").mkdir(parents=True)
    (machine.project / "a/b/cache/archive-v0").symlink_to(plan.parent)
    monkeypatch.chdir(machine.project)
    done = inside(
        machine, "uvx", "time", PATH=f"{machine.home}/tools:/usr/bin:/bin", UV_CACHE_DIR="a/b/cache"
    )
    assert "No such file" in done.stderr


PLANT = """
plant() {{  # a repository whose settings run a command at the next `git status`
    mkdir -p $1/objects $1/refs && echo 'ref: refs/heads/main' > $1/HEAD && cat > $1/config <<END
[core]
    repositoryformatversion = 0
    bare = false
    worktree = {project}/$2
    fsmonitor = "touch {mark}; false"
END
}}
"""


def attack(machine: SandboxMachine, script: str, *, at: str = ".", write: tuple[str, ...] = (".",)) -> bool:
    """Run a script in a sandbox that may write the project, then git on the host; return whether code ran."""
    mark = machine.home.parent / "ran"
    setup = PLANT.format(project=machine.project, mark=mark)
    inside(machine, "sh", "-c", f"{setup}\n{script}", write=write)
    where = machine.project / at
    command = ["git", "-c", "safe.directory=*", "status"]
    subprocess.run(command, cwd=where, capture_output=True, check=False)
    ran = mark.exists()
    mark.unlink(missing_ok=True)
    return ran


RENAME = "mv .git gone; plant .git"
WRITE = "plant evil; echo ../evil > .git/commondir; cp evil/config .git/config"


@pytest.mark.parametrize("script", [RENAME, WRITE, "rm -rf .git; plant .git", "plant ."])
def test_a_server_cannot_change_the_repository_of_a_writable_project(
    machine: SandboxMachine, script: str
) -> None:
    git("init", cwd=machine.project)
    assert not attack(machine, script)
    assert (machine.project / ".git/HEAD").is_file()


def test_the_attacks_work_where_the_user_makes_the_repository_writable(machine: SandboxMachine) -> None:
    git("init", cwd=machine.project)
    assert attack(machine, WRITE, write=(".", ".git"))


def test_a_worktrees_pointer_to_its_repository_stays(machine: SandboxMachine) -> None:
    other = machine.home / "code/main"
    other.mkdir()
    git("init", cwd=other)
    git("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "--allow-empty", "-m", "x", cwd=other)
    shutil.rmtree(machine.project)
    git("worktree", "add", str(machine.project), cwd=other)
    for script in ("plant evil; echo gitdir: evil > .git", "rm .git; plant .git", "mv .git gone; plant .git"):
        assert not attack(machine, script), script


def test_a_checkout_in_a_writable_project_keeps_its_repository_and_its_name(machine: SandboxMachine) -> None:
    git("init", cwd=machine.project)
    nested = machine.project / "vendor/lib"
    nested.mkdir(parents=True)
    git("init", cwd=nested)
    for script in (
        "mv vendor/lib/.git gone; plant vendor/lib/.git vendor/lib",
        "mv vendor/lib gone; plant vendor/lib/.git vendor/lib",
        "mv vendor gone; mkdir vendor; plant vendor/lib/.git vendor/lib",
    ):
        assert not attack(machine, script, at="vendor/lib"), script
    done = inside(machine, "sh", "-c", "echo x > vendor/lib/new && echo x > vendor/new", write=(".",))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "script", ["plant .git", "mv .git gone; plant .git", "plant .", "rmdir HEAD; plant ."]
)
def test_a_project_without_a_repository_gets_none(machine: SandboxMachine, script: str) -> None:
    assert not attack(machine, script)


def test_what_clients_and_editors_run_stays_as_it_is(machine: SandboxMachine) -> None:
    for name in (
        ".claude/settings.json",
        ".mcp.json",
        "remit.toml",
        "opencode.json",
        "web/.vscode/tasks.json",
    ):
        program(machine.project / name, "{}")
    script = """
        for name in .claude/settings.json .mcp.json remit.toml opencode.json web/.vscode/tasks.json \
            .gemini/settings.json .codex/config.toml .cursor/mcp.json .opencode/plugin.js; do
            mkdir -p $(dirname $name); echo x > $name; rm -f $name; mv -f new $name
        done
        mv .claude gone; mv web gone; echo done > new.txt"""
    inside(machine, "sh", "-c", script, write=(".",))
    assert (machine.project / "new.txt").read_text() == "done\n"
    found = {
        str(path.relative_to(machine.project)): path.read_text()
        for path in machine.project.rglob("*")
        if path.is_file() and path.name not in ("readme.txt", "new.txt")
    }
    names = (".claude/settings.json", ".mcp.json", "remit.toml", "opencode.json", "web/.vscode/tasks.json")
    assert found == dict.fromkeys(names, "{}")


RUN_LATER = (
    *(".qwen/settings.json", "crush.json", ".crush.json", ".kilocode/mcp.json", ".factory/mcp.json"),
    *(
        ".amazonq/mcp.json",
        ".trae/mcp.json",
        ".junie/mcp/mcp.json",
        ".vs/mcp.json",
        ".windsurf/workflows/x.md",
    ),
    *(
        ".aider.conf.yml",
        ".cargo/config.toml",
        ".yarnrc.yml",
        ".pnpmfile.cjs",
        ".npmrc",
        ".exrc",
        ".nvim.lua",
    ),
    *(".dir-locals.el", ".gitlab-ci.yml", ".circleci/config.yml", ".gitmodules", ".gitattributes"),
    *(".tool-versions", ".direnv/x", "mise/config.toml", ".config/mise/config.toml", "lefthook.yaml"),
    *("lefthook.json", ".lefthook.yaml", "lefthook-local.yml", ".overcommit.yml", "prek.toml", ".rtx.toml"),
    *(".devcontainer.json", "x.code-workspace", ".fleet/run.json", "AGENTS.md", "CLAUDE.md", "web/GEMINI.md"),
    *(".venv/bin/python", ".env", ".made-up-next-year/hooks.json", "web/.cargo/config.toml"),
)


def test_no_file_that_any_tool_may_run_later_can_be_changed(machine: SandboxMachine) -> None:
    for name in RUN_LATER:
        program(machine.project / name, "{}")
    script = "for name; do echo x > $name; rm -f $name; mv -f new $name; mv $(dirname $name) gone; done"
    inside(machine, "sh", "-c", f"echo x > new; {script}", "sh", *RUN_LATER, write=(".",))
    assert [name for name in RUN_LATER if (machine.project / name).read_text() != "{}"] == []
    assert (machine.project / "new").exists()


def test_instructions_that_are_a_link_are_not_changed_by_way_of_their_target(machine: SandboxMachine) -> None:
    (machine.project / "docs").mkdir()
    (machine.project / "docs/guide.md").write_text("mine")
    (machine.project / "CLAUDE.md").symlink_to("docs/guide.md")
    done = inside(
        machine, "sh", "-c", "echo x > CLAUDE.md; echo x > docs/guide.md; mv docs gone", write=(".",)
    )
    assert (machine.project / "CLAUDE.md").read_text() == "mine"
    assert done.stderr.count("\n") == 3


def files_of_clients(world: World) -> set[str]:
    """List the files of a project that any client reads, as far as Remit knows."""
    with Remit(root=world.root).registry() as registry:
        found: set[str] = set()
        for context in (registry.at(str(world.repository), client=client) for client in CLIENTS):
            registry.scan(context)
            found |= {os.path.relpath(path, world.repository) for path in registry.catalog.inputs(context)}
    return {name for name in found if not name.startswith(("..", ".git/")) and name not in (".", ".git")}


def test_no_file_of_a_project_that_a_client_reads_can_be_changed(
    machine: SandboxMachine, tmp_path: Path
) -> None:
    names = sorted(files_of_clients(World(tmp_path.resolve() / "other")))
    assert {".mcp.json", ".kiro/settings/mcp.json", ".roo/mcp.json", ".github/mcp.json"} <= set(names)
    for name in names:
        program(machine.project / name / "it", "{}")
    script = " ".join(f"echo x > {name}/it; mv {name} {name}.gone;" for name in names)
    done = inside(machine, "sh", "-c", f"{script} echo done", write=(".",))
    assert done.stdout == "done\n"
    kept = [name for name in names if (machine.project / name / "it").is_file()]
    assert [name for name in kept if (machine.project / name / "it").read_text() == "{}"] == names


@pytest.mark.parametrize("name", [".git", ".claude", "HEAD", "web/.mcp.json"])
def test_a_link_that_cannot_be_protected_is_refused(machine: SandboxMachine, name: str) -> None:
    (machine.project / "web").mkdir()
    (machine.project / name).symlink_to(machine.home / ".ssh")
    with pytest.raises(SandboxError, match="is a link, which cannot be protected"):
        inside(machine, "true", write=(".",))


def test_the_home_directory_cannot_be_made_writable(machine: SandboxMachine) -> None:
    for path in (machine.home, machine.home.parent):
        with pytest.raises(SandboxError, match="contains your home directory"):
            inside(machine, "true", write=(str(path),))


def test_a_users_own_npx_server_never_runs_the_projects_package(machine: SandboxMachine) -> None:
    for place, word in ((machine.project, "theirs"), (machine.home / ".npm/_npx/a", "mine")):
        package = place / "node_modules/files"
        package.mkdir(parents=True)
        (package / "package.json").write_text(json.dumps({"version": "1.0.0", "bin": {"files": "x"}}))
        program(place / "node_modules/.bin/files", f"#!/bin/sh\necho {word}\n")
    assert inside(machine, "npx", "-y", "files").stdout == "mine\n"
    assert inside(machine, "npx", "-y", "files", is_projects=True).stdout == "theirs\n"
    shutil.rmtree(machine.home / ".npm")
    with pytest.raises(SandboxError, match="`files` is not installed"):
        inside(machine, "npx", "-y", "files")


def test_a_package_of_the_project_names_no_program_outside_of_itself(machine: SandboxMachine) -> None:
    program(machine.home / "code/other/tool", "#!/bin/sh\necho ran\n")
    package = machine.project / "node_modules/files"
    package.mkdir(parents=True)
    (package.parent / ".bin").mkdir()
    leads_out = {"version": "1.0.0", "bin": {"../../../other/tool": "x"}}
    (package / "package.json").write_text(json.dumps(leads_out))
    with pytest.raises(SandboxError, match="`files` is not installed"):
        inside(machine, "npx", "-y", "files", is_projects=True)
