"""A configuration file that a command edits."""

from pathlib import Path

import pytest

from remit.configuration.editable_file import EditableFile
from remit.errors import BadFileError
from support.sandbox import Sandbox


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    return sandbox.project("shop")


def opened(shop: Path) -> EditableFile:
    return EditableFile(str(shop / "remit.local.toml"), checkout=str(shop))


def test_a_link_that_leads_out_of_the_checkout_is_neither_read_nor_written_through(
    sandbox: Sandbox, shop: Path
) -> None:
    target = sandbox.write(sandbox.home / ".config/remit/remit.toml", "token_budget = 1\n")
    (shop / "remit.local.toml").symlink_to(target)
    with pytest.raises(BadFileError, match="is a link to"):
        opened(shop)


def test_a_link_that_comes_meanwhile_is_not_written_through(sandbox: Sandbox, shop: Path) -> None:
    file = opened(shop)
    target = sandbox.home / "elsewhere.toml"
    (shop / "remit.local.toml").symlink_to(target)
    with pytest.raises(BadFileError, match="is a link to"):
        file.write("x = 1\n")
    assert not target.exists()


def test_a_link_within_the_checkout_is_not_written_through_either(sandbox: Sandbox, shop: Path) -> None:
    target = sandbox.write(shop / "config/own.toml", "token_budget = 1\n")
    (shop / "remit.local.toml").symlink_to(target)
    with pytest.raises(BadFileError, match="is a link to"):
        opened(shop)
    (shop / "linked").symlink_to("config")
    with pytest.raises(BadFileError, match=r"linked` is a link to `config`"):
        EditableFile(str(shop / "linked/own.toml"), checkout=str(shop))


def test_what_somebody_wrote_meanwhile_is_not_lost(sandbox: Sandbox, shop: Path) -> None:
    file = opened(shop)
    sandbox.write(shop / "remit.local.toml", "token_budget = 1\n")
    with pytest.raises(BadFileError, match="changed meanwhile"):
        file.write("token_budget = 2\n")
    assert opened(shop).text == "token_budget = 1\n"


def test_a_file_in_a_directory_that_does_not_exist_yet_is_made(sandbox: Sandbox) -> None:
    path = sandbox.home / ".config/remit/remit.toml"
    file = EditableFile(str(path))
    assert file.text == ""
    file.write("token_budget = 1\n")
    assert path.read_text(encoding="utf-8") == "token_budget = 1\n"
    file.write("")
    assert not path.exists()


def test_a_file_that_is_no_text_is_left_alone(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / "remit.local.toml", b"\xff")
    with pytest.raises(BadFileError, match="is not UTF-8 text"):
        opened(shop)
