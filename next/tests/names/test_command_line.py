"""Arguments as the words of a command line."""

import argparse

import click
import pytest
from click.testing import CliRunner

from remit.errors import ArgumentsError
from remit.names import Form, Parameter
from remit.names.command_line import schema_of, words_of

PARAMETERS = (
    Parameter("title", Form.ARGUMENT, is_required=True),
    Parameter("files", Form.ARGUMENT, is_many=True),
    Parameter("level", Form.OPTION, "--level", type="integer"),
    Parameter("tags", Form.OPTION, "--tag", is_many=True),
    Parameter("mode", Form.OPTION, "-m", choices=("a", "-b", "")),
    Parameter("force", Form.FLAG, "--force", "--no-force", type="boolean"),
    Parameter("quiet", Form.FLAG, "--quiet", type="boolean"),
    Parameter("verbose", Form.COUNT, "-v", type="integer"),
    Parameter("size", Form.OPTION, "--size", type="number", is_many=True, is_spread=True),
)


def test_options_come_first_and_places_after_the_dashes() -> None:
    given = {
        "title": "--force",
        "files": ["a b", "-x"],
        "level": 3,
        "tags": ["--x", ""],
        "mode": "-b",
        "force": False,
        "quiet": False,
        "verbose": 2,
        "size": [1, 2.5],
    }
    assert words_of(given, PARAMETERS) == [
        *("--level=3", "--tag=--x", "--tag=", "-m-b", "--no-force", "-v", "-v", "--size", "1", "2.5"),
        *("--", "--force", "a b", "-x"),
    ]
    assert words_of({"title": "x", "mode": "", "quiet": True, "level": None}, PARAMETERS) == [
        *("-m", "", "--quiet", "--", "x")
    ]


@pytest.mark.parametrize("value", ["--evil", "-x", "", "a=b", "--", "x y", "--name=z"])
def test_no_value_is_read_as_another_option(value: str) -> None:
    parameters = (
        Parameter("name", Form.OPTION, "--name"),
        Parameter("places", Form.ARGUMENT, is_many=True),
    )
    words = words_of({"name": value, "places": [value, value]}, parameters)

    @click.command()
    @click.option("--name")
    @click.option("--evil", is_flag=True)
    @click.option("-x", is_flag=True)
    @click.argument("places", nargs=-1)
    def command(**given: object) -> None:
        click.echo(repr(given))

    wanted = {"name": value, "evil": False, "x": False, "places": (value, value)}
    assert eval(CliRunner().invoke(command, words).output) == wanted  # noqa: S307 - our own words
    parser = argparse.ArgumentParser()
    parser.add_argument("--name")
    parser.add_argument("--evil", action="store_true")
    parser.add_argument("-x", action="store_true")
    parser.add_argument("places", nargs="*")
    read = vars(parser.parse_args(words))
    assert (read["evil"], read["x"]) == (False, False)
    if value != "--":  # which some versions of argparse drop wherever it is
        assert (read["name"], read["places"]) == (value, [value, value])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "`title` is missing"),
        ({"title": None}, "`title` must be text"),
        ({"title": 1}, "`title` must be text"),
        ({"title": "a\0b"}, "null character"),
        ({"title": "x", "level": True}, "`level` must be a whole number"),
        ({"title": "x", "tags": "y"}, "`tags` must be a list"),
        ({"title": "x", "mode": "c"}, "`mode` must be one of `a`"),
        ({"title": "x", "verbose": 1000}, "from 0 to 10"),
        ({"title": "x", "size": ["-1"]}, "`size` must be a number"),
        ({"title": "x", "size": [-1]}, "must not start with `-`"),
        ({"titl": "x"}, "no parameter `titl`"),
    ],
)
def test_arguments_that_do_not_fit_never_reach_a_command(given: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentsError, match=message):
        words_of(given, PARAMETERS)


def test_a_schema_says_what_a_command_takes() -> None:
    schema = schema_of((*PARAMETERS[:2], PARAMETERS[4]._replace(help="How"), PARAMETERS[7]))
    assert schema == {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "files": {"type": "array", "items": {"type": "string"}},
            "mode": {"enum": ["a", "-b", ""], "description": "How"},
            "verbose": {"type": "integer", "minimum": 0, "maximum": 10},
        },
        "required": ["title"],
        "additionalProperties": False,
    }
