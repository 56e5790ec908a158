import json
from pathlib import Path

import pytest

from remit.decision.definitions.project_lock import UNKNOWN, LockedPackage
from remit.trust.package_commands import package_command
from remit.upstream.launch.installed_packages import installed_package


@pytest.fixture
def home(tmp_path: Path) -> Path:
    cached = tmp_path / ".npm/_npx/a/node_modules"
    cached.mkdir(parents=True)
    files = {"version": "2.0.0", "integrity": "sha512-b"}
    packages: dict[str, dict[str, str]] = {"node_modules/@x/files": files, "node_modules/odd": {}}
    (cached / ".package-lock.json").write_text(json.dumps({"packages": packages}))
    (tmp_path / "shop").mkdir()
    installed = tmp_path / ".local/share/uv/tools/mcp-time/lib/python3.12/site-packages"
    (installed / "mcp_time-0.5.dist-info").mkdir(parents=True)
    return tmp_path


def found(home: Path, *words: str) -> LockedPackage:
    command = package_command(words)
    assert command is not None
    return installed_package(command, str(home / "shop"), {}, str(home))


def test_the_cache_of_npx_knows_versions_and_their_integrity(home: Path) -> None:
    known = LockedPackage("npm", "@x/files", "2.0.0", "sha512-b")
    assert found(home, "npx", "-y", "@x/files") == known
    assert found(home, "npx", "@x/files@2.0.0") == known
    assert found(home, "npx", "@x/files@1.0.0") == LockedPackage("npm", "@x/files", "1.0.0")
    assert found(home, "npx", "odd") == LockedPackage("npm", "odd")


def test_the_projects_own_lock_files_come_first(home: Path) -> None:
    packages = {"node_modules/@x/files": {"version": "3.0.0"}}
    (home / "shop/package-lock.json").write_text(json.dumps({"packages": packages}))
    assert found(home, "npx", "@x/files") == LockedPackage("npm", "@x/files", "3.0.0", UNKNOWN)
    (home / "shop/uv.lock").write_text(
        '[[package]]\nname = "mcp.time"\nversion = "0.6"\nsdist = { hash = "sha256:s" }\n'
        '[[package]]\nname = "bare"\nversion = "1"\n[[package]]\nname = "mcp-time"\n'
    )
    assert found(home, "uvx", "mcp-time") == LockedPackage("pypi", "mcp-time", "0.6", "sha256:s")
    assert found(home, "uvx", "bare[x]==1") == LockedPackage("pypi", "bare", "1")


def test_tools_that_uv_installed_tell_their_version(home: Path) -> None:
    assert found(home, "uvx", "mcp-time") == LockedPackage("pypi", "mcp-time", "0.5")
    assert found(home, "uvx", "mcp-time@0.7") == LockedPackage("pypi", "mcp-time", "0.7")
    assert found(home, "uvx", "unheard-of") == LockedPackage("pypi", "unheard-of")


def test_an_image_is_known_by_what_the_entry_says(home: Path) -> None:
    digest = "sha256:" + "0" * 64
    assert found(home, "docker", "run", f"x/y@{digest}") == LockedPackage("oci", "x/y", digest, digest)
    assert found(home, "docker", "run", "x/y:1") == LockedPackage("oci", "x/y", "1")
    assert found(home, "docker", "run", "localhost:5000/y") == LockedPackage("oci", "localhost:5000/y")


def test_what_comes_from_elsewhere_or_cannot_be_read_is_unknown(home: Path) -> None:
    assert found(home, "npx", "github:x/y") == LockedPackage("npm", UNKNOWN)
    assert found(home, "uvx", "--from", "git+https://x.test/y", "y") == LockedPackage("pypi", UNKNOWN)
    (home / "shop/package-lock.json").write_text("{")
    (home / "shop/uv.lock").write_text("[")
    assert found(home, "npx", "unheard-of") == LockedPackage("npm", "unheard-of")
    assert found(home, "uvx", "unheard-of") == LockedPackage("pypi", "unheard-of")


def test_a_lock_file_that_is_a_link_out_of_the_project_is_not_read(home: Path) -> None:
    packages = {"node_modules/plain": {"version": "3.0.0"}}
    (home / "lock.json").write_text(json.dumps({"packages": packages}))
    (home / "shop/package-lock.json").symlink_to(home / "lock.json")
    assert found(home, "npx", "plain") == LockedPackage("npm", "plain")
