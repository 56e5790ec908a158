"""A project with the rules of a shop, in which the tests run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from remit.python_tools import ToolRegistry
from support.shop import opened_shop


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ToolRegistry]:
    with opened_shop(tmp_path, monkeypatch) as registry:
        yield registry


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
