"""A project with the rules of a shop, in which the tests run."""

from collections.abc import Iterator

import pytest

from remit import ToolRegistry
from support import shop as shop_tools
from support.sandbox import Sandbox


@pytest.fixture
def shop(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[ToolRegistry]:
    shop_tools.RAN.clear()
    for name, value in sandbox.environment.items():
        monkeypatch.setenv(name, value)
    root = sandbox.project("shop")
    sandbox.write(root / "remit.toml", shop_tools.RULES)
    monkeypatch.chdir(root)
    with ToolRegistry(project=str(root)) as registry:
        yield registry
