"""All tests of the gateway run on asyncio, over the files of one user."""

from pathlib import Path

import pytest

from support.gateways import World


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)
