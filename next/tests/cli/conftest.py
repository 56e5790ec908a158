from pathlib import Path

import pytest

from support.command_line import CommandLine
from support.installed import Installed, make_python


@pytest.fixture
def remit(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_python(tmp_path_factory.mktemp("environment"))


@pytest.fixture
def installed(tmp_path: Path, python: Path) -> Installed:
    return Installed(tmp_path, python)
