import json
import os
from pathlib import Path

import pytest

from remit.upstream.launch.npx_packages import find_installed, manifest_of, npx_cache, npx_command


def install(modules: Path, name: str, version: str, bins: dict[str, str] | str | None = None) -> None:
    package = modules / name
    package.mkdir(parents=True)
    manifest = {"version": version, "bin": bins if bins is not None else {name.rpartition("/")[2]: "x.js"}}
    (package / "package.json").write_text(json.dumps(manifest))
    names = bins if isinstance(bins, dict) else {name.rpartition("/")[2]: ""}
    for each in names:
        (modules / ".bin").mkdir(exist_ok=True)
        (modules / ".bin" / each).write_text("")


def found(home: Path, *words: str) -> list[str] | None:
    command = npx_command(words)
    assert command is not None
    made = find_installed(
        command, (str(home / "shop"), str(home)), npx_cache({}, str(home)), within=[str(home)]
    )
    return None if made is None else [os.path.relpath(made[0], home), *made[1:]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    install(tmp_path / ".npm/_npx/a/node_modules", "@x/files", "1.0.0", {"mcp-files": "x"})
    install(tmp_path / ".npm/_npx/b/node_modules", "@x/files", "2.0.0", {"mcp-files": "x"})
    os.utime(tmp_path / ".npm/_npx/a", (1, 1))
    return tmp_path


def test_the_version_that_is_asked_for_is_found(home: Path) -> None:
    one = [".npm/_npx/a/node_modules/.bin/mcp-files", "/data"]
    two = [".npm/_npx/b/node_modules/.bin/mcp-files", "/data"]
    assert found(home, "npx", "-y", "@x/files@1.0.0", "/data") == one
    assert found(home, "npx", "-y", "@x/files", "/data") == two  # the newest
    assert found(home, "npx", "--yes", "@x/files@^1", "--", "/data") == two
    assert found(home, "npx", "@x/files@3.0.0") is None
    assert found(home, "npx", "other") is None


@pytest.mark.parametrize("runner", [("bunx",), ("bun", "x"), ("pnpm", "dlx"), ("pnpx",), ("yarn", "dlx")])
def test_other_runners_find_the_same_packages(home: Path, runner: tuple[str, ...]) -> None:
    one = [".npm/_npx/a/node_modules/.bin/mcp-files", "/data"]
    assert found(home, *runner, "@x/files@1.0.0", "/data") == one
    assert found(home, *runner, "other") is None


def test_a_program_may_be_named_apart_from_its_package(home: Path) -> None:
    assert found(home, "npx", "-y", "-p", "@x/files@1.0.0", "mcp-files", "a") == [
        *(".npm/_npx/a/node_modules/.bin/mcp-files", "a")
    ]
    assert found(home, "npx", "--package=@x/files", "absent") is None


def test_the_projects_own_installation_comes_first(home: Path) -> None:
    install(home / "shop/node_modules", "@x/files", "2.0.0", {"mcp-files": "x", "files": "y"})
    assert found(home, "npx", "@x/files") == ["shop/node_modules/.bin/files"]
    install(home / "node_modules", "plain", "1.0.0", "x.js")
    assert found(home, "npx", "plain") == ["node_modules/.bin/plain"]


def test_other_commands_are_left_alone() -> None:
    for words in (("node", "x"), ("npx", "github:x/y"), ("npx", "./local"), ("npx",), ("npx", "${PACKAGE}")):
        assert npx_command(words) is None


def test_a_manifest_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    assert manifest_of(str(tmp_path), within=[]) is None
    for text in ("[]", "{", ""):
        (tmp_path / "package.json").write_text(text)
        assert manifest_of(str(tmp_path), within=[]) is None


def test_a_package_that_is_a_link_out_of_the_project_is_not_read(home: Path) -> None:
    install(home / "elsewhere", "plain", "1.0.0")
    (home / "shop/node_modules").mkdir(parents=True)
    (home / "shop/node_modules/plain").symlink_to(home / "elsewhere/plain")
    assert manifest_of(str(home / "shop/node_modules/plain"), within=[str(home / "shop")]) is None
    assert manifest_of(str(home / "shop/node_modules/plain"), within=[str(home)]) is not None
