from pathlib import Path

import pytest

from support.hooks import Client


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("REMIT_CONFIG", raising=False)
    return Client(tmp_path, monkeypatch.setenv)
