from pathlib import Path

import pytest

from support.command_line import CommandLine


@pytest.fixture
def remit(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)
