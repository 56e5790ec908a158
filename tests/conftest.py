"""Every test gets a machine of its own, whose user approves of all projects' servers."""

from pathlib import Path

import pytest

from support import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(root=tmp_path.resolve())
    made.home.mkdir()
    made.write(made.home / ".claude/settings.json", {"enableAllProjectMcpServers": True})
    return made
