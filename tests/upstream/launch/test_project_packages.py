import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from shutil import which

import pytest

from remit.trust.package_commands import package_command
from remit.upstream.launch import project_packages
from remit.upstream.launch.project_packages import ProjectPackage, project_package

PRINTS = "#!/usr/bin/env node\nconsole.log('{}');\n"
Edit = Callable[[Path], None]


def package(
    modules: Path, name: str, *, version: str = "1.0.0", says: str = "honest", **more: object
) -> Path:
    """Install a package with a program of its name, as npm does."""
    folder = modules / name
    folder.mkdir(parents=True, exist_ok=True)
    program = name.rpartition("/")[2]
    manifest = {"name": name, "version": version, "bin": {program: "cli.js"}, **more}
    (folder / "package.json").write_text(json.dumps(manifest))
    (folder / "cli.js").write_text(PRINTS.format(says))
    (folder / "cli.js").chmod(0o755)
    return folder


def link(modules: Path, program: str, target: str) -> None:
    (modules / ".bin").mkdir(parents=True, exist_ok=True)
    (modules / ".bin" / program).unlink(missing_ok=True)
    (modules / ".bin" / program).symlink_to(target)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    modules = tmp_path / "shop/node_modules"
    color = {"color": {"optional": True}}
    package(modules, "calc", dependencies={"words": "*"}, peerDependenciesMeta=color)
    link(modules, "calc", "../calc/cli.js")
    package(modules, "words", optionalDependencies={"fast": "*", "words-linux": "*", "gone": "*"})
    package(modules, "fast")
    package(modules, "words-linux", os=["linux"])
    package(modules, "other")
    return tmp_path / "shop"


def brought(shop: Path, words: str = "npx -y calc@1.0.0", *below: str) -> ProjectPackage | None:
    command = package_command(words.split())
    assert command is not None
    directories = [str(shop / each) for each in below] + [str(shop)]
    exact = command.version if (command.version or "")[:1].isdigit() else None
    return project_package(command, exact, directories, str(shop))


def ran(shop: Path, words: str = "npx -y calc@1.0.0") -> str:
    """Run it with the real npx, offline."""
    variables = {**os.environ, "HOME": str(shop.parent), "npm_config_offline": "true"}
    done = subprocess.run(
        words.split(), cwd=shop, env=variables, capture_output=True, text=True, timeout=60, check=False
    )
    return done.stdout.strip()


def edit_program(shop: Path) -> None:
    package(shop / "node_modules", "calc", says="evil", dependencies={"words": "*"})


def turn_link(shop: Path) -> None:
    package(shop / "node_modules", "other", says="evil")
    link(shop / "node_modules", "calc", "../other/cli.js")


def take_written_name(shop: Path) -> None:
    package(shop / "node_modules", "other", says="evil")
    link(shop / "node_modules", "calc@1.0.0", "../other/cli.js")


@pytest.mark.long
@pytest.mark.skipif(which("npx") is None, reason="npm is not installed")
@pytest.mark.parametrize("edit", [edit_program, turn_link, take_written_name])
def test_what_npx_runs_instead_changes_the_digest(shop: Path, edit: Edit) -> None:
    before = brought(shop)
    assert before is not None
    assert ran(shop) == "honest"
    edit(shop)
    assert ran(shop) == "evil"
    assert brought(shop) != before


@pytest.mark.long
@pytest.mark.skipif(which("npx") is None, reason="npm is not installed")
def test_npx_takes_a_package_of_that_name_from_any_folder(tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    assert brought(shop) is None
    modules = shop / "node_modules"
    package(modules, "other", says="evil", bin={"sly": "cli.js"})
    folder = package(modules / "other/node_modules", "calc", bin={"sly": "cli.js"})
    folder.rename(folder.with_name("alias"))  # neither on top, nor in a folder of its name
    link(modules, "sly", "../other/cli.js")
    assert ran(shop) == "evil"
    before = brought(shop)
    assert before is not None
    (modules / "other/cli.js").write_text(PRINTS.format("worse"))
    assert brought(shop) != before


@pytest.mark.parametrize("needed", ["words", "fast", "color"])
def test_what_a_package_declares_to_need_counts(shop: Path, needed: str) -> None:
    before = brought(shop)
    package(shop / "node_modules", needed, says="evil")
    assert brought(shop) != before


def test_a_nearer_copy_of_what_a_package_needs_counts(shop: Path) -> None:
    before = brought(shop)
    package(shop / "node_modules/calc/node_modules", "words")
    assert brought(shop) != before


@pytest.mark.parametrize("unrelated", ["other", "new", "words-linux"])
def test_other_packages_and_those_of_one_platform_do_not_count(shop: Path, unrelated: str) -> None:
    before = brought(shop)
    package(shop / "node_modules", unrelated, says="otherwise", os=["linux"])
    assert brought(shop) == before


def test_the_digest_is_the_same_in_another_checkout(shop: Path) -> None:
    before = brought(shop)
    assert before is not None
    moved = shop.rename(shop.with_name("elsewhere"))
    after = brought(moved)
    assert after is not None
    assert after.files == before.files


def test_a_copy_of_another_version_is_not_what_runs(shop: Path) -> None:
    assert brought(shop, "npx calc@2.0.0") is None
    found = brought(shop, "npx calc@latest")
    assert found is not None
    assert found.copies[0].version == "1.0.0"


def test_the_nearest_copy_counts_first(shop: Path) -> None:
    package(shop / "app/node_modules", "calc", version="1.5.0")
    found = brought(shop, "npx calc", "app")
    assert found is not None
    assert [each.version for each in found.copies] == ["1.5.0", "1.0.0"]


def test_npm_believes_the_lock_in_node_modules_and_so_it_counts(shop: Path) -> None:
    claims = {"node_modules/other": {"name": "calc", "version": "2.0.0", "bin": {"sly": "cli.js"}}}
    (shop / "node_modules/.package-lock.json").write_text(json.dumps({"packages": claims}))
    before = brought(shop, "npx calc@2.0.0")
    assert before is not None
    link(shop / "node_modules", "sly", "../fast/cli.js")
    assert brought(shop, "npx calc@2.0.0") != before


def test_the_projects_own_package_can_take_the_name(tmp_path: Path) -> None:
    shop = package(tmp_path, "shop", bin={"sly": "cli.js"})
    assert brought(shop) is None
    (shop / "package.json").write_text(json.dumps({"name": "calc", "version": "1.0.0"}))
    assert brought(shop) is not None


def test_linked_packages_of_the_project_count_with_their_files(shop: Path) -> None:
    real = shop / "node_modules/.pnpm/calc@3.0.0/node_modules"
    package(real, "calc", version="3.0.0", dependencies={"nearby": "*"})
    package(real, "nearby")
    (shop / "node_modules/linked").symlink_to(real / "calc")
    before = brought(shop, "npx calc@3.0.0")
    assert before is not None
    package(real, "nearby", says="evil")
    assert brought(shop, "npx calc@3.0.0") != before


def test_what_cannot_be_digested_is_said_in_words(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = brought(shop)
    outside = package(shop.parent, "outside")
    (shop / "node_modules/calc/extra.js").symlink_to(outside / "cli.js")
    found = brought(shop)
    assert found is not None
    assert found.files.startswith("unknown: `node_modules/calc/extra.js`: a symbolic link leads out")
    (shop / "node_modules/calc/extra.js").unlink()
    (shop / "node_modules/calc/lib").symlink_to(shop / "node_modules/other")
    assert brought(shop) == ProjectPackage("unknown: `node_modules/calc/lib` is a link to a directory")
    (shop / "node_modules/calc/lib").unlink()
    (shop / "node_modules/calc/gone.js").symlink_to("nowhere")
    assert brought(shop) not in (None, known)
    (shop / "node_modules/calc/gone.js").unlink()
    (shop / "node_modules/color").symlink_to(outside)
    assert brought(shop) == ProjectPackage("unknown: the link `node_modules/color` leads out of the project")
    (shop / "node_modules/color").unlink()
    assert brought(shop) == known
    (shop / "app").mkdir()
    (shop / "app/node_modules").symlink_to(outside)
    assert brought(shop, "npx calc", "app") == ProjectPackage(
        "unknown: the link `app/node_modules` leads out of the project"
    )
    (shop / "node_modules/linked").symlink_to(outside)  # of another name: not what runs
    assert brought(shop) == known
    (shop / "node_modules/outside").symlink_to(outside)
    assert brought(shop, "npx outside") == ProjectPackage(
        "unknown: the link of `outside` in `node_modules` leads out of the project"
    )
    monkeypatch.setattr(project_packages, "_MOST_FILES", 3)
    found = brought(shop)
    assert found is not None
    assert found.files.startswith("unknown: more than ")
