"""The commands that fit how Remit was installed."""

import subprocess
import sys
from pathlib import Path

import pytest

from remit.files.own_environment import OwnEnvironment, own_environment


def environment(prefix: Path, marker: str | None, *, has_pip: bool) -> OwnEnvironment:
    (prefix / "bin").mkdir(parents=True)
    if marker is not None:
        (prefix / marker).touch()
    return OwnEnvironment(str(prefix), str(prefix / "bin/python"), has_pip)


def test_a_package_is_installed_by_the_pip_of_the_environment_or_by_uv(tmp_path: Path) -> None:
    with_pip = environment(tmp_path / "one", "pipx_metadata.json", has_pip=True)
    without = environment(tmp_path / "two", "uv-receipt.toml", has_pip=False)
    assert with_pip.add_command("psycopg[binary]") == (
        f"{tmp_path}/one/bin/python -m pip install 'psycopg[binary]'"
    )
    assert without.add_command("psycopg[binary]") == (
        f"uv pip install --python {tmp_path}/two/bin/python 'psycopg[binary]'"
    )


def test_the_command_that_adds_a_package_here_can_be_run() -> None:
    found = own_environment()
    assert found.prefix == sys.prefix
    words = found.add_command("pip").split()
    assert words[0] == (sys.executable if found.has_pip else "uv")
    if found.has_pip:
        subprocess.run([*words[:3], "--version"], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("marker", "has_pip", "command"),
    [
        ("uv-receipt.toml", False, "uv tool uninstall remit"),
        ("pipx_metadata.json", True, "pipx uninstall remit"),
        (None, True, "{prefix}/bin/python -m pip uninstall remit"),
        (None, False, "uv pip uninstall --python {prefix}/bin/python remit"),
    ],
)
def test_remit_is_removed_by_what_installed_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, marker: str | None, has_pip: bool, command: str
) -> None:
    program(tmp_path / "programs/pipx")
    monkeypatch.setenv("PATH", str(tmp_path / "programs"))
    found = environment(tmp_path / "remit", marker, has_pip=has_pip)
    assert found.remove_command() == command.format(prefix=found.prefix)


def test_without_pipx_on_the_path_its_environment_and_link_are_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = environment(tmp_path / "remit", "pipx_metadata.json", has_pip=True)
    program(tmp_path / "remit/bin/remit")
    (tmp_path / "programs").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "programs"))
    assert found.remove_command() == f"rm -r {tmp_path}/remit"
    (tmp_path / "programs/remit").symlink_to(tmp_path / "remit/bin/remit")
    assert found.remove_command() == f"rm -r {tmp_path}/remit {tmp_path}/programs/remit"


def program(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
