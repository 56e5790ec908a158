from pathlib import Path

import pytest

from support.homes import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def shop(home: Home) -> Path:
    return home.project("shop")
