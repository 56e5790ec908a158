"""A project's configuration file is read within limits; the user's own may be larger."""

from pathlib import Path

import pytest

from remit.configuration.config_model import ConfigurationFile, ConfigurationLayer, TomlDocument
from remit.configuration.toml_files import TomlFiles
from remit.files.bounded_reader import Machine
from remit.files.checkout import locate


def read(path: Path, *, is_projects: bool = True) -> TomlDocument | None:
    layer = ConfigurationLayer.PROJECT if is_projects else ConfigurationLayer.MACHINE
    file = ConfigurationFile(layer, str(path), str(path.parent) if is_projects else None)
    return TomlFiles(Machine(home=str(path.parent), variables={})).read(file, locate(str(path.parent)))


@pytest.mark.parametrize(
    "text",
    [
        "".join(f'[tools."t{number}"]\napproval = true\n' for number in range(1_100)),
        f"block = {[f't{number}' for number in range(1_100)]}",
        f"[servers.x]\nblock = {[f't{number}' for number in range(1_100)]}",
    ],
    ids=["tables", "a list", "a list in a table"],
)
def test_a_project_has_a_limited_number_of_rules(tmp_path: Path, text: str) -> None:
    path = tmp_path.resolve() / "remit.toml"
    path.write_text(text, encoding="utf-8")
    found, own = read(path), read(path, is_projects=False)
    assert found is not None
    assert found.problem == "more than 1,000 rules"
    assert own is not None
    assert not own.problem


def test_a_projects_file_has_a_limited_size_and_is_no_link_out_of_it(tmp_path: Path) -> None:
    path = tmp_path.resolve() / "shop/remit.toml"
    path.parent.mkdir()
    path.write_text("#" * 300_000, encoding="utf-8")
    large, own = read(path), read(path, is_projects=False)
    assert large is not None
    assert "bytes; at most" in str(large.problem)
    assert own is not None
    assert not own.problem
    path.rename(tmp_path / "elsewhere.toml")
    path.symlink_to(tmp_path / "elsewhere.toml")
    led = read(path)
    assert led is not None
    assert "leads out of the project" in str(led.problem)


@pytest.mark.parametrize("header", ["tools.mcp__git__*", "servers.git-*"])
def test_a_pattern_in_a_header_is_told_to_be_quoted(tmp_path: Path, header: str) -> None:
    path = tmp_path.resolve() / "remit.toml"
    path.write_text(f"block = []\n[{header}]\n", encoding="utf-8")
    found = read(path)
    assert found is not None
    table, _, pattern = header.partition(".")
    assert found.place.startswith("line 2")
    assert str(found.problem).endswith(f'; quote it: `[{table}."{pattern}"]`')
    path.write_text("block = [\n", encoding="utf-8")
    other = read(path)
    assert other is not None
    assert "quote" not in str(other.problem)
