"""Edits of one key: everything else in the file stays."""

import os
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as some

from remit.config import read_table, remove_key, set_key
from remit.errors import PolicyError

OFF = ("tools", "mcp__git__*", "ai_enabled")
BEFORE = ["", "# mine\n", 'mode = "plan"', '[tools."x"]\nai_enabled = true\n', "# no end of line"]


@pytest.mark.parametrize("before", BEFORE)
def test_a_rule_is_added_and_taken_out_again(tmp_path: Path, before: str) -> None:
    path = tmp_path / "projects/shop.toml"
    path.parent.mkdir()
    path.write_text(before)
    set_key(str(path), OFF, False)
    assert read_table(str(path))["tools"]["mcp__git__*"] == {"ai_enabled": False}
    assert before.strip() in path.read_text()
    remove_key(str(path), OFF)
    assert (path.read_text().strip() if path.exists() else "") == before.strip()


def test_a_file_is_made_private_and_deleted_when_nothing_is_left(tmp_path: Path) -> None:
    path = tmp_path / "config/remit/projects/shop-1a2b3c4d.toml"
    set_key(str(path), OFF, False)
    assert path.read_text() == '[tools."mcp__git__*"]\nai_enabled = false\n'
    assert path.stat().st_mode & 0o077 == 0
    remove_key(str(path), OFF)
    assert not path.exists()


def test_a_rule_that_exists_is_completed_in_place(tmp_path: Path) -> None:
    path = tmp_path / "remit.toml"
    path.write_text('[tools.x]  # careful\ndanger = "safe"\n\n[tools.y]\napproval = true\n')
    set_key(str(path), ("tools", "x", "ai_enabled"), False)
    set_key(str(path), ("tools", "y", "approval"), False)
    assert path.read_text() == (
        '[tools.x]  # careful\ndanger = "safe"\nai_enabled = false\n\n[tools.y]\napproval = false\n'
    )


@given(some.lists(some.text(min_size=1), unique=True, max_size=5))
def test_any_name_is_written_so_that_it_means_itself(names: list[str]) -> None:
    clean = [
        name
        for name in names
        if name.isprintable() and not any("\ud800" <= char <= "\udfff" for char in name)
    ]
    with TemporaryDirectory() as root:
        path = Path(root) / "remit.toml"
        for name in clean:
            set_key(str(path), ("tools", name, "ai_enabled"), False)
        text = path.read_text(encoding="utf-8") if clean else ""
        assert tomllib.loads(text).get("tools", {}) == {name: {"ai_enabled": False} for name in clean}


def test_a_broken_file_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "remit.toml"
    path.write_text("[")
    with pytest.raises(PolicyError, match="not valid TOML") as failure:
        set_key(str(path), OFF, False)
    assert (failure.value.hint or "").startswith("run `remit doctor`")
    assert path.read_text() == "["


def test_no_link_in_a_checkout_is_written_through(tmp_path: Path) -> None:
    shop = tmp_path.resolve() / "shop"
    (shop / ".git").mkdir(parents=True)
    (tmp_path / "elsewhere.toml").write_text("")
    os.symlink(tmp_path / "elsewhere.toml", shop / "remit.toml")
    with pytest.raises(PolicyError, match="no link in a project is written through"):
        set_key(str(shop / "remit.toml"), OFF, False)
    assert (tmp_path / "elsewhere.toml").read_text() == ""
