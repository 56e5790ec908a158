"""A repository's package is read for names: the files that are generated stay in the checkout."""

import pytest

from attacks.worlds import World

PACKAGE = (
    "import click\n\n@click.group()\ndef main(): ...\n\n@main.command()\ndef build():\n    'Builds it.'\n"
)


@pytest.mark.parametrize("place", ["names.py", "gen/.profile"], ids=["file", "folder"])
def test_names_are_not_written_through_a_link_out_of_the_checkout(world: World, place: str) -> None:
    world.write(world.repository / "shop/cli.py", PACKAGE)
    profile = world.home / ".profile"
    profile.touch()
    (world.repository / "names.py").symlink_to(profile)
    (world.repository / "gen").symlink_to(world.home)
    done = world.attempt("names", "generate", "shop", "--out", place)
    assert (done.code, profile.read_text()) == (2, "")


def test_scopes_are_not_written_through_a_link_out_of_the_checkout(world: World) -> None:
    world.write(world.repository / "shop/cli.py", PACKAGE)
    world.remit("names", "generate", "shop", "--out", "names.py")
    profile = world.home / ".profile"
    profile.touch()
    (world.repository / "scopes.toml").symlink_to(profile)
    done = world.attempt("names", "label", "names.py", "--out", "scopes.toml")
    assert (done.code, profile.read_text()) == (2, "")


@pytest.mark.parametrize("suffix", ["py", "json"])
def test_half_of_a_surrogate_pair_in_a_package_is_no_traceback(world: World, suffix: str) -> None:
    text = PACKAGE.replace("Builds it.", "Builds \\ud800 it.").replace("command()", 'command("b\\ud800d")')
    world.write(world.repository / "shop/cli.py", text)
    for words in (
        ["generate", "shop"],
        ["generate", "shop", "--out", f"names.{suffix}"],
        ["label", f"names.{suffix}", "--out", "scopes.toml"],
        ["server", f"names.{suffix}", "scopes.toml"],
    ):
        done = world.attempt("names", *words)
        assert "Traceback" not in done.stderr, done.stderr
        assert done.code in (0, 2)
