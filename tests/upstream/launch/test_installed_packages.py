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


def installed(home: Path, *words: str) -> LockedPackage | None:
    command = package_command(words)
    assert command is not None
    return installed_package(command, str(home / "shop"), {}, str(home))


def found(home: Path, *words: str) -> LockedPackage:
    package = installed(home, *words)
    assert package is not None
    return package


def test_the_cache_of_npx_knows_versions_and_their_integrity(home: Path) -> None:
    known = LockedPackage("npm", "@x/files", "2.0.0", "sha512-b")
    assert found(home, "npx", "-y", "@x/files") == known
    assert found(home, "npx", "@x/files@2.0.0") == known
    assert found(home, "npx", "@x/files@1.0.0") == LockedPackage("npm", "@x/files", "1.0.0")
    assert found(home, "npx", "odd") == LockedPackage("npm", "odd")


def test_a_runner_that_reads_no_lock_file_of_the_project_gets_nothing_from_one(home: Path) -> None:
    packages = {"node_modules/plain": {"version": "3.0.0", "integrity": "sha512-p"}}
    (home / "shop/package-lock.json").write_text(json.dumps({"packages": packages}))
    (home / "shop/uv.lock").write_text('[[package]]\nname = "plain"\nversion = "3.0.0"\n')
    for words in ("npx plain", "pnpm dlx plain", "bunx plain"):
        assert found(home, *words.split()) == LockedPackage("npm", "plain")
    assert found(home, "uvx", "plain") == LockedPackage("pypi", "plain")
    assert found(home, "pnpm", "dlx", "@x/files") == LockedPackage("npm", "@x/files")  # not npx's cache


def uv_lock(*packages: str) -> str:
    return "".join(f"[[package]]\n{each}\n" for each in packages)


def test_uv_run_is_known_by_all_hashes_that_uv_accepts(home: Path) -> None:
    sdist, wheels = 'sdist = { hash = "sha256:s" }', 'wheels = [{ hash = "sha256:w" }, { hash = "sha256:v" }]'
    head = 'name = "mcp.time"\nversion = "0.6"'
    seen: set[str] = set()
    for files in (f"{sdist}\n{wheels}", f"{sdist}\n{wheels.replace(':w', ':x')}", sdist, wheels, ""):
        (home / "shop/uv.lock").write_text(uv_lock('name = "mcp-time"', f"{head}\n{files}"))
        known = installed(home, "uv", "run", "mcp-time")
        assert known is not None
        assert known[:3] == ("pypi", "mcp-time", "0.6")
        seen.add(known.integrity)
    assert len(seen) == 5
    assert UNKNOWN in seen  # without hashes
    turned = wheels.replace(":w", ":t").replace(":v", ":w").replace(":t", ":v")
    (home / "shop/uv.lock").write_text(uv_lock(f"{head}\n{sdist}\n{turned}"))
    assert installed(home, "uv", "run", "mcp-time") in {
        LockedPackage("pypi", "mcp-time", "0.6", integrity, UNKNOWN) for integrity in seen
    }


def test_a_program_of_the_project_is_no_package(home: Path) -> None:
    assert installed(home, "uv", "run", "server.py") is None
    (home / "shop/uv.lock").write_text("[")
    assert installed(home, "uv", "run", "mcp-time") is None


def test_tools_that_uv_installed_tell_their_version(home: Path) -> None:
    assert found(home, "uvx", "mcp-time") == LockedPackage("pypi", "mcp-time", "0.5")
    assert found(home, "uvx", "mcp-time@0.7") == LockedPackage("pypi", "mcp-time", "0.7")
    assert found(home, "uvx", "unheard-of") == LockedPackage("pypi", "unheard-of")


def test_an_image_is_known_by_what_the_entry_says(home: Path) -> None:
    digest = "sha256:" + "0" * 64
    assert found(home, "docker", "run", f"x/y@{digest}") == LockedPackage("oci", "x/y", digest, digest)
    assert found(home, "docker", "run", "x/y:1") == LockedPackage("oci", "x/y", "1")
    assert found(home, "docker", "run", "localhost:5000/y") == LockedPackage("oci", "localhost:5000/y")


def test_what_comes_from_elsewhere_is_unknown(home: Path) -> None:
    assert found(home, "npx", "github:x/y") == LockedPackage("npm", UNKNOWN)
    assert found(home, "uvx", "--from", "git+https://x.test/y", "y") == LockedPackage("pypi", UNKNOWN)
    assert found(home, "npx", "unheard-of") == LockedPackage("npm", "unheard-of")


def install(home: Path, version: str = "3.0.0") -> None:
    """Install a package in the project, as npm does."""
    folder = home / "shop/node_modules/plain"
    folder.mkdir(parents=True)
    (folder / "package.json").write_text(json.dumps({"name": "plain", "version": version}))


def npm_lock(version: str, integrity: str) -> str:
    return json.dumps({"packages": {"node_modules/plain": {"version": version, "integrity": integrity}}})


def test_an_installed_copy_has_the_integrity_that_npm_compared(home: Path) -> None:
    install(home)
    assert found(home, "npx", "plain").integrity == UNKNOWN
    (home / "shop/package-lock.json").write_text(npm_lock("3.0.0", "sha512-p"))
    assert found(home, "npx", "plain")[2:4] == ("3.0.0", "sha512-p")
    assert found(home, "npm", "exec", "--", "plain@3.0.0")[2:4] == ("3.0.0", "sha512-p")
    (home / "shop/npm-shrinkwrap.json").write_text(npm_lock("3.0.0", "sha512-s"))  # which npm prefers
    assert found(home, "npx", "plain")[2:4] == ("3.0.0", "sha512-s")
    (home / "shop/npm-shrinkwrap.json").write_text(npm_lock("9.9.9", "sha512-s"))  # of another version
    assert found(home, "npx", "plain")[2:4] == ("3.0.0", UNKNOWN)
    (home / "shop/npm-shrinkwrap.json").write_text("{")
    assert found(home, "npx", "plain")[2:4] == ("3.0.0", UNKNOWN)


def test_a_lock_file_that_is_a_link_out_of_the_project_is_not_read(home: Path) -> None:
    install(home)
    (home / "lock.json").write_text(npm_lock("3.0.0", "sha512-p"))
    (home / "shop/package-lock.json").symlink_to(home / "lock.json")
    assert found(home, "npx", "plain").integrity == UNKNOWN
