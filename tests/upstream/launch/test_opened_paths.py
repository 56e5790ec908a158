import sys
from dataclasses import replace
from pathlib import Path

import pytest

from remit.decision.declared_launch import Launch, Transport, VariableSyntax
from remit.decision.projects import Workspace, identify
from remit.files.bounded_reader import Machine
from remit.trust.server_sandbox import OpenedPaths, Sandbox
from remit.upstream.launch.ready_server import opened_paths


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path.resolve() / "home"
    tool = home / ".pyenv/versions/3.12/bin/python3.12"
    for path in (tool, home / "code/shop/tools/serve.py", home / "code/shop/docs/a.md"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
        path.chmod(0o755)
    (home / ".pyenv/versions/3.12/lib/python3.12").mkdir(parents=True)
    return home


def opened(home: Path, *words: str, read: tuple[str, ...] = ()) -> OpenedPaths:
    return opened_by(home, Launch(command=words[0], args=words[1:]), read)


def opened_by(home: Path, launch: Launch, read: tuple[str, ...] = ()) -> OpenedPaths:
    shop = str(home / "code/shop")
    machine = Machine(str(home), {"PATH": f"{home}/.pyenv/versions/3.12/bin", "HOME": str(home)})
    sandbox = Sandbox(shop, False, tuple(f"{shop}/{each}" for each in read))
    return opened_paths(launch, sandbox, Workspace(shop, shop, identify(shop)), machine, is_projects=True)


def test_the_interpreter_and_the_directory_of_the_script_are_opened(home: Path) -> None:
    found = opened(home, "python3.12", "tools/serve.py")
    assert found.problem is None
    assert found.paths == ("~/.pyenv/versions/3.12", "tools")


def test_what_the_sandbox_names_is_not_told_twice(home: Path) -> None:
    assert opened(home, "python3.12", "tools/serve.py", read=("tools",)).paths == ("~/.pyenv/versions/3.12",)
    assert opened(home, sys.executable if sys.platform == "win32" else "/bin/sh").paths == ()


def test_a_program_that_cannot_run_in_it_is_named_with_the_reason(home: Path) -> None:
    missing = OpenedPaths(problem="its command was not found", hint="install it, or write its whole path")
    assert opened(home, "missing") == missing
    (home / "secret").mkdir()
    (home / "secret/run").write_text("")
    (home / "secret/run").chmod(0o755)
    problem = opened(home, str(home / "secret/run")).problem
    assert problem is not None
    assert problem.startswith("the project makes it run `")
    unset = opened_by(home, Launch(command="${TOOL}", syntaxes=(VariableSyntax.BRACES,)))
    assert unset == OpenedPaths(problem="the variable TOOL is not set")


def test_of_a_remote_server_only_the_command_for_its_headers_counts(home: Path) -> None:
    remote = Launch(transport=Transport.HTTP, url="https://example.com/mcp")
    assert opened_by(home, remote) == OpenedPaths()
    assert opened_by(home, replace(remote, headers_helper="./x")) == OpenedPaths()
