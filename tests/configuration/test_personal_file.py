"""The personal file of a checkout, as Remit writes to it."""

from pathlib import Path

import pytest

from remit.configuration.personal_file import PersonalFile
from remit.errors import BadFileError
from remit.files.checkout import locate
from support.sandbox import Sandbox


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    return sandbox.project("shop")


def test_a_link_that_leads_out_of_the_checkout_is_neither_read_nor_written_through(
    sandbox: Sandbox, shop: Path
) -> None:
    target = sandbox.write(sandbox.home / ".config/remit/remit.toml", "token_budget = 1\n")
    (shop / "remit.local.toml").symlink_to(target)
    with pytest.raises(BadFileError, match="leads out"):
        PersonalFile(locate(str(shop)))


def test_a_link_that_comes_meanwhile_is_not_written_through(sandbox: Sandbox, shop: Path) -> None:
    file = PersonalFile(locate(str(shop)))
    target = sandbox.home / "elsewhere.toml"
    (shop / "remit.local.toml").symlink_to(target)
    with pytest.raises(BadFileError, match="leads out"):
        file.write("x = 1\n")
    assert not target.exists()


def test_a_link_within_the_checkout_stays_one(sandbox: Sandbox, shop: Path) -> None:
    target = sandbox.write(shop / "config/own.toml", "token_budget = 1\n")
    (shop / "remit.local.toml").symlink_to(target)
    file = PersonalFile(locate(str(shop)))
    file.write("token_budget = 2\n")
    assert (shop / "remit.local.toml").is_symlink()
    assert target.read_text(encoding="utf-8") == "token_budget = 2\n"
