"""The commands that fit how Remit was installed, and the environments that may vanish."""

import subprocess
import sys
from pathlib import Path

import pytest

from remit.errors import InstallError
from remit.installation import INSTALL, OwnEnvironment, own_command, own_environment, short_lived

NOWHERE = "/no/such/temporary/directory"


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


@pytest.mark.parametrize(
    "prefix",
    [
        "/home/ada/.cache/uv/archive-v0/Xy1",
        "/home/ada/.cache/uv/environments-v2/remit-1",
        "/home/ada/.local/share/pipx/.cache/9f",
    ],
)
def test_the_cache_of_a_runner_may_be_emptied(prefix: str) -> None:
    found = short_lived(prefix, NOWHERE)
    assert found is not None
    assert (found.kind, found.path, found.lasting) == ("a cache", prefix, INSTALL)


@pytest.mark.parametrize(
    "prefix",
    [
        "/home/ada/.local/share/uv/tools/remit",
        "/home/ada/.local/share/pipx/venvs/remit",
        "/opt/remit",
        "/usr",
    ],
)
def test_the_places_of_installers_last(prefix: str) -> None:
    assert short_lived(prefix, NOWHERE) is None


def test_the_environment_of_a_checkout_goes_with_it(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    found = short_lived(str(tmp_path / ".venv"), NOWHERE)
    assert found is not None
    assert (found.kind, found.lasting) == ("the environment of a checkout", INSTALL)


def test_a_checkout_of_remit_can_install_it_for_good(tmp_path: Path) -> None:
    (tmp_path / "src/remit").mkdir(parents=True)
    (tmp_path / "src/remit/__init__.py").touch()
    (tmp_path / "pyproject.toml").touch()
    found = short_lived(str(tmp_path / ".venv"), NOWHERE)
    assert found is not None
    assert found.lasting == f"run `make install` in {tmp_path}"


def test_a_temporary_directory_is_emptied(tmp_path: Path) -> None:
    found = short_lived(str(tmp_path / "venv"), str(tmp_path))
    assert found is not None
    assert found.kind == "a temporary directory"


def test_a_remit_that_only_a_variable_makes_visible_cannot_be_started_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    results = iter((1, 0))

    def run(*_: object, **__: object) -> subprocess.CompletedProcess[bytes]:
        return subprocess.CompletedProcess([], next(results, 1))

    monkeypatch.setattr(subprocess, "run", run)
    words = own_command()
    assert words[-5:] == [sys.executable, "-E", "-P", "-m", "remit"]
    monkeypatch.setattr(sys, "executable", "/other/python")
    with pytest.raises(InstallError, match="only with `PYTHONPATH`"):
        own_command()
