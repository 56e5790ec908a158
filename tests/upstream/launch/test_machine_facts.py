from dataclasses import replace
from pathlib import Path

import pytest

from remit.decision.declared_launch import Launch, Transport
from remit.decision.projects import Workspace, identify
from remit.files.bounded_reader import Machine
from remit.upstream.launch.machine_facts import collect_launch_facts
from support.builders import declared


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine with one program on PATH, one in the project, and a file that cannot be run."""
    root = tmp_path.resolve()
    for name, mode in (
        ("bin/ledger", 0o755),
        ("shop/tools/till", 0o755),
        ("bin/notes", 0o644),
        ("home/run", 0o755),
    ):
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#!/bin/sh\n")
        file.chmod(mode)
    return root


def absent(launch: Launch, root: Path, platform: str = "linux") -> tuple[str, ...]:
    shop = str(root / "shop")
    variables = {"PATH": f"/nowhere:{root}/bin", "PATHEXT": ".EXE;.CMD", "SECRET": "x"}
    machine = Machine(home=str(root / "home"), variables=variables, platform=platform)
    declaration = replace(declared(), launch=launch)
    facts = collect_launch_facts(
        [declaration, declared("kept")], Workspace(shop, shop, identify(shop)), machine
    )
    assert facts.variables == {"PATH", "PATHEXT", "SECRET"}
    return tuple(facts.absent.get(declaration.key, ()))


@pytest.mark.parametrize(
    "command",
    ["ledger", "@/bin/ledger", "./tools/till", "tools/till", "~/run", "${HOME}/x", "//host/x", "a\0b"],
)
def test_existing_and_uncheckable_programs_are_not_absent(root: Path, command: str) -> None:
    assert absent(Launch(command=command.replace("@", str(root))), root) == ()


@pytest.mark.parametrize("command", ["till", "notes", "@/bin", "@/bin/other", "./ledger", "~/other"])
def test_programs_that_do_not_exist_or_cannot_be_run_are_absent(root: Path, command: str) -> None:
    assert absent(Launch(command=command.replace("@", str(root))), root) == ("command",)


def test_the_file_that_an_interpreter_is_to_run_must_exist(root: Path) -> None:
    (root / "bin" / "node").symlink_to(root / "bin" / "ledger")
    script = str(root / "bin" / "notes")
    assert absent(Launch(command="node", args=(script,)), root) == ()
    assert absent(Launch(command="node", args=(script + ".js",)), root) == ("args[0]",)
    assert absent(Launch(command="node", args=("--flag", script + ".js")), root) == ()
    assert absent(Launch(command="ledger", args=(script + ".js",)), root) == ()


def test_an_entrys_own_directory_and_path_count(root: Path) -> None:
    assert absent(Launch(command="./till", cwd=str(root / "shop" / "tools")), root) == ()
    assert absent(Launch(command="till", env={"PATH": str(root / "shop" / "tools")}), root) == ()
    assert absent(Launch(command="ledger", env={"PATH": "${PATH}:/x"}), root) == ()


def test_on_windows_a_program_has_an_ending(root: Path) -> None:
    (root / "bin" / "npx.CMD").symlink_to(root / "bin" / "ledger")
    assert absent(Launch(command="npx"), root) == ("command",)
    assert absent(Launch(command="npx"), root, platform="win32") == ()


def test_a_remote_server_needs_no_program(root: Path) -> None:
    assert absent(Launch(transport=Transport.HTTP, url="https://mcp.test"), root) == ()
