"""Everything that a user can meet is in the reference."""

import importlib.util
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import cast

import pytest

from remit.cli.app import COMMANDS, app
from remit.clients import CLIENTS
from remit.config import config_keys
from remit.decision import Gate
from remit.errors import RemitError
from support.documents import ROOT, World

ANSWERS = (
    *("", "tools --all", "why tickets", "why nothing", "doctor", "doctor --rules", "doctor --clients"),
    *(
        "search close",
        "calls",
        "usage",
        "usage --prune",
        "states",
        "trust",
        "approve",
        "lock --check",
        "context",
    ),
    *("memory id", "memory list"),
)
BY_NAME = ("states", "visible")  # objects whose keys are names

REFERENCE = ROOT / "docs/reference"


def test_the_generated_pages_are_current() -> None:
    stale = [path.name for path, page in _generator().pages().items() if path.read_text("utf-8") != page]
    assert stale == [], "run `make docs`"


def test_every_setting_is_documented() -> None:
    page = _page("configuration.md")
    names = [name.removeprefix("servers.NAME.").split("NAME.")[-1] for name, _ in config_keys()]
    assert [name for name in names if f"`{name.removeprefix('memory.')}`" not in page] == []


def test_every_command_is_documented() -> None:
    page = _page("command-line.md")
    listed = [name for name, entry in COMMANDS.items() if entry.heading]
    assert [name for name in listed if f"## `remit {name}`\n" not in page] == []


def test_every_command_with_json_has_its_shape_documented() -> None:
    page = _page("json.md")
    listed = [name for name, entry in COMMANDS.items() if entry.heading]
    assert [name for name in listed if _has_json(name) and f"`remit {name}`" not in page] == []


@pytest.mark.long
def test_every_key_of_an_answer_is_documented(tmp_path: Path) -> None:
    world, page = World(tmp_path), _page("json.md")
    world.run("remit tools --refresh")
    for words in ANSWERS:
        keys = set(_keys(json.loads(world.run(f"remit {words} --json").stdout)))
        assert {key for key in keys if not re.search(rf"[`\"]{key}[`\"]", page)} == set(), words


def test_every_error_is_documented() -> None:
    page = _page("errors.md")
    assert [name for name in _errors(RemitError) if f"`{name}`" not in page] == []


def test_every_client_is_documented() -> None:
    page = _page("clients.md")
    assert [name for name in CLIENTS if f"`{name}`" not in page] == []


def test_every_gate_is_documented() -> None:
    page = (ROOT / "docs/concepts/deciding-and-scopes.md").read_text("utf-8")
    assert [gate.value for gate in Gate if f"| `{gate.value}` |" not in page] == []


def test_the_versions_that_are_tested_are_documented() -> None:
    page = _page("compatibility.md")
    makefile = (ROOT / "Makefile").read_text("utf-8")
    frameworks = re.findall(r"([a-z-]+)==([\d.]+)", makefile)
    assert [name for name, version in frameworks if f"`{name}` {version}" not in page] == []
    assert [version for version in re.findall(r"claude-code@([\d.]+)", makefile) if version not in page] == []


def _keys(value: object) -> Iterator[str]:
    if isinstance(value, list):
        for item in cast("list[object]", value):
            yield from _keys(item)
    elif isinstance(value, dict):
        for key, inner in cast("dict[str, object]", value).items():
            yield key
            if key not in BY_NAME or not isinstance(inner, dict):
                yield from _keys(inner)


def _page(name: str) -> str:
    return (REFERENCE / name).read_text("utf-8")


def _has_json(name: str) -> bool:
    import click

    command = app.get_command(click.Context(app), name)
    return command is not None and any("--json" in parameter.opts for parameter in command.params)


def _errors(error: type[Exception]) -> Iterator[str]:
    for inner in error.__subclasses__():
        yield inner.__name__
        yield from _errors(inner)


def _generator() -> ModuleType:
    path = ROOT / "docs/generate.py"
    spec = importlib.util.spec_from_file_location("generate", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
