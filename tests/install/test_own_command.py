"""Which environments may vanish while a client still starts Remit from them."""

from pathlib import Path

import pytest

from remit.install.own_command import INSTALL, short_lived

NOWHERE = "/no/such/temporary/directory"


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
