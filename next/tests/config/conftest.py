from collections.abc import Iterator
from pathlib import Path

import pytest

from support.configuration import Files


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Files]:
    opened = Files(tmp_path)
    yield opened
    opened.store.close()
