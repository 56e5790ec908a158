"""The package: its public names, and the distributions that it depends on."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import remit
from support.builders import servers
from support.sandbox import Sandbox
from support.source_trees import source_modules


def test_the_public_names_are_few_sorted_and_there() -> None:
    assert remit.__all__ == sorted(remit.__all__)
    assert len(remit.__all__) <= 12
    assert all(getattr(remit, name) is not None for name in remit.__all__)


def test_a_name_that_is_not_offered_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute `nonsense`"):
        _ = remit.nonsense  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]


def test_a_use_can_be_recorded_from_a_process_that_lives_only_for_it(sandbox: Sandbox) -> None:
    shop = sandbox.project("shop")
    sandbox.write(shop / ".mcp.json", servers("till"))
    script = 'import remit; print(remit.record_use("mcp__till__ring", call_id="toolu_1", session_id="s"))'
    run = [
        subprocess.run(
            [sys.executable, "-c", script],
            cwd=shop,
            env=sandbox.environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    ]
    assert run == ["True\n", "False\n"]
    with sandbox.registry() as registry:
        used = {item.tool.name: item.tool.usage_count for item in registry.tools(registry.at(str(shop)))}
    assert used == {"mcp__till__*": 1, "mcp__till__ring": 1}


ROOT = Path(__file__).parent.parent


UNINSTALLED = {  # frameworks, which only `make test-frameworks` installs
    "agents": ["openai-agents"],
    "fastmcp": ["fastmcp"],
    "langchain": ["langchain"],
    "langchain_core": ["langchain-core"],
    "langgraph": ["langgraph"],
    "pydantic_ai": ["pydantic-ai-slim"],
}


def test_every_module_that_is_imported_belongs_to_a_declared_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    declared = {plain(each) for group in (project["dependencies"], *extras.values()) for each in group}
    modules = {name.partition(".")[0] for module in source_modules().values() for name in module.imported}
    distributions = {**UNINSTALLED, **packages_distributions()}
    for module in sorted(modules - sys.stdlib_module_names - {"remit"}):
        assert {plain(each) for each in distributions[module]} & declared, module


def plain(requirement: str) -> str:
    """Write the name of a distribution in its normal form, without versions."""
    return re.split(r"[<>=!~\[; ]", requirement)[0].lower().replace("_", "-")
