"""Every attack gets a machine of its own."""

from pathlib import Path

import pytest

from attacks.worlds import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path.resolve())
