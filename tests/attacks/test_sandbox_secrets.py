"""Servers that wait in a sandbox for secrets to appear in a directory that they may read."""

import os
import subprocess
from pathlib import Path

import pytest

from support.sandboxed_servers import SandboxMachine, inside, obstacle, started

pytestmark = pytest.mark.skipif(obstacle() is not None, reason=str(obstacle()))
READER = 'while read -r name; do cat "$HOME/$name" 2>/dev/null || echo refused; done'


@pytest.fixture
def machine(tmp_path: Path) -> SandboxMachine:
    made = SandboxMachine(tmp_path.resolve())
    (made.home / ".claude.json").write_text("first\n")
    (made.home / "notes.txt").write_text("notes\n")
    return made


def ask(server: "subprocess.Popen[str]", name: str) -> str:
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(f"{name}\n")
    server.stdin.flush()
    return server.stdout.readline().strip()


def replace(path: Path, text: str) -> None:
    """Write a file as clients do, with a new file under its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.new")
    new.write_text(text)
    os.replace(new, path)


def test_a_secret_that_a_client_replaces_or_makes_stays_hidden(machine: SandboxMachine) -> None:
    names = (".claude.json", ".netrc", ".kube/config", ".config/gh/hosts.yml", ".cargo/credentials.toml")
    (machine.home / ".config/nvim").mkdir(parents=True)
    (machine.home / ".cargo").mkdir()
    home = str(machine.home)
    with started(machine, "sh", "-c", READER, read=(home, f"{home}/.config", f"{home}/.cargo")) as server:
        assert ask(server, "notes.txt") == "notes"
        assert [ask(server, name) for name in names] == ["refused"] * len(names)
        for name in names:
            replace(machine.home / name, "secret\n")
        assert [ask(server, name) for name in names] == ["refused"] * len(names)
        assert ask(server, "notes.txt") == "notes"


def test_a_secret_is_hidden_where_its_link_leads_to(machine: SandboxMachine) -> None:
    (machine.home / "dotfiles").mkdir()
    (machine.home / "dotfiles/pgpass").write_text("secret\n")
    (machine.home / "dotfiles/gitconfig").write_text("plain\n")
    (machine.home / ".pgpass").symlink_to("dotfiles/pgpass")
    (machine.home / ".gitconfig").symlink_to("dotfiles/gitconfig")
    home = str(machine.home)
    read = "cat ~/.pgpass ~/dotfiles/*; cat ~/.gitconfig"
    assert inside(machine, "sh", "-c", read, read=(home,)).stdout == "plain\n"
    named = (home, f"{home}/.gitconfig")
    assert inside(machine, "sh", "-c", read, read=named).stdout == "plain\nplain\n"


def test_a_project_in_a_readable_home_is_still_writable(machine: SandboxMachine) -> None:
    done = inside(
        machine,
        "sh",
        "-c",
        "cat ~/code/other/plan.txt; echo x > out/x",
        read=(str(machine.home),),
        write=("out",),
    )
    assert (done.stdout, done.stderr) == ("hunter22", "")
    assert (machine.project / "out/x").read_text() == "x\n"
