"""Every test gets a machine of its own."""

from pathlib import Path

import pytest

from support import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(root=tmp_path.resolve())
    made.home.mkdir()
    return made
