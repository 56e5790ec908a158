"""What is said where the package of a framework is missing."""

import sys
from importlib import import_module

import pytest

from remit import ToolRegistry

FRAMEWORKS = [
    ("langchain", "langchain", "langchain"),
    ("fastmcp", "fastmcp", "fastmcp"),
    ("pydantic_ai", "pydantic_ai", "pydantic-ai"),
    ("openai_agents", "agents", "openai-agents"),
]


@pytest.mark.parametrize(("module", "package", "extra"), FRAMEWORKS)
def test_a_missing_package_is_an_error_that_names_its_extra(
    monkeypatch: pytest.MonkeyPatch, module: str, package: str, extra: str
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, f"remit.integrations.{module}", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    told = rf"the package `{package}[^`]*` is not installed; run `pip install 'remit\[{extra}\]'`"
    with pytest.raises(ImportError, match=told):
        import_module(f"remit.integrations.{module}")
    with pytest.raises(ImportError, match=told):
        getattr(ToolRegistry(), f"as_{module}")()
