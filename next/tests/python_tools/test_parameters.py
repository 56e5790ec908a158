"""Schemas of functions, and the arguments of calls."""

import datetime
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NotRequired,  # pydantic needs these before Python 3.12
)
from uuid import UUID

import jsonschema
import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from remit.errors import ArgumentsError, ToolError
from remit.python_tools.parameters import Parameters


class Level(StrEnum):
    LOW = "low"
    HIGH = "high"


@dataclass
class Author:
    name: str
    tags: list[str] = field(default_factory=list[str])


class Post(TypedDict):
    title: str
    draft: NotRequired[bool]


class Point(NamedTuple):
    x: int
    y: int = 0


class Address(BaseModel):
    street: str


class Person(BaseModel):
    name: str
    address: Address


def create(
    title: Annotated[str, "What it is called", object()],
    level: Level = Level.LOW,
    *,
    count: int | None = None,
    ratio: float = 0.5,
    tags: frozenset[str] = frozenset(),
    day: datetime.date | None = None,
) -> None: ...


def test_a_schema_says_what_a_function_takes() -> None:
    assert Parameters(create).schema == {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "What it is called"},
            "level": {"$ref": "#/$defs/Level", "default": "low"},
            "count": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
            "ratio": {"type": "number", "default": 0.5},
            "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "default": []},
            "day": {
                "anyOf": [{"type": "string", "format": "date"}, {"type": "null"}],
                "default": None,
            },
        },
        "required": ["title"],
        "additionalProperties": False,
        "$defs": {"Level": {"enum": ["low", "high"], "title": "Level", "type": "string"}},
    }


def of_a_type(hint: Any) -> Callable[..., object]:
    def function(value: Any) -> None: ...

    function.__annotations__["value"] = hint
    return function


@pytest.mark.parametrize(
    ("hint", "given", "made"),
    [
        (str, "x", "x"),
        (int, 3, 3),
        (int, 3.0, 3),
        (list[int | str], [3.0, "a"], [3, "a"]),
        (int | float, 3.0, 3.0),
        (float, 3, 3.0),
        (bool, True, True),
        (None, None, None),
        (Any, {"a": [1]}, {"a": [1]}),
        (dict, {"a": 1}, {"a": 1}),
        (set, [1, 2], {1, 2}),
        (list[int], [1, 2], [1, 2]),
        (Sequence[str], ["a"], ["a"]),
        (tuple[int, ...], [1, 2], (1, 2)),
        (tuple[int, str], [1, "a"], (1, "a")),
        (dict[str, float], {"a": 1}, {"a": 1.0}),
        (Literal["a", 1], 1, 1),
        (int | str, "a", "a"),
        (Level, "high", Level.HIGH),
        (Path, "a/b", Path("a/b")),
        (UUID, "0" * 32, UUID(int=0)),
        (
            datetime.datetime,
            "2026-01-02T03:04:05+00:00",
            datetime.datetime(2026, 1, 2, 3, 4, 5, 0, datetime.UTC),
        ),
        (Author, {"name": "Ada"}, Author("Ada")),
        (list[Author], [{"name": "Ada", "tags": ["x"]}], [Author("Ada", ["x"])]),
        (Post, {"title": "x"}, {"title": "x"}),
        (Point, [1], Point(1)),
        (Person, {"name": "A", "address": {"street": "B"}}, Person(name="A", address=Address(street="B"))),
        (Annotated[int, "many"], 3, 3),
    ],
)
def test_arguments_that_the_schema_allows_get_the_types_of_the_hints(
    hint: Any, given: Any, made: object
) -> None:
    function = of_a_type(hint)
    schema = Parameters(function).schema
    json.dumps(schema)
    jsonschema.Draft202012Validator(schema).validate({"value": given})  # pyright: ignore[reportUnknownMemberType]
    read_as = Parameters(function).read({"value": given})[1]["value"]
    assert (read_as, type(read_as)) == (made, type(made))


@pytest.mark.parametrize(
    ("hint", "given", "place"),
    [
        (str, 1, "value"),
        (int, True, "value"),
        (int, 1.5, "value"),
        (list[int], ["x"], "value.0"),
        (Literal["a"], True, "value"),
        (Level, "middle", "value"),
        (datetime.date, "tomorrow", "value"),
        (Author, {"tags": ["x"]}, "value.name"),
        (Author, {"nam": "x"}, "value.name"),
        (Person, {"name": "A", "address": {"x": 1}}, "value.address.street"),
    ],
)
def test_arguments_that_the_schema_forbids_are_refused(hint: Any, given: Any, place: str) -> None:
    with pytest.raises(ArgumentsError, match=f"`{place}`: "):
        Parameters(of_a_type(hint)).read({"value": given})


def test_missing_and_unknown_arguments_are_named() -> None:
    with pytest.raises(ArgumentsError, match="`title`: Missing"):
        Parameters(create).read({})
    with pytest.raises(ArgumentsError, match="no parameter `titl`") as caught:
        Parameters(create).read({"titl": "x"})
    assert caught.value.hint == "did you mean `title`?"


def test_what_can_only_be_given_by_position_is() -> None:
    def divide(one: int, other: int = 2, /) -> float:
        return one / other

    assert Parameters(divide).read({"one": 6}) == ([6, 2], {})


class Ring:
    inner: "Ring"


@dataclass
class Chain:
    inner: "Chain | None" = None


@pytest.mark.parametrize(
    ("hint", "message"),
    [
        (Callable[[], None], "JSON cannot represent"),
        (Ring, "JSON cannot represent"),
        ("Missing", "cannot be read"),
    ],
)
def test_a_type_that_json_cannot_carry_is_an_error(hint: Any, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        Parameters(of_a_type(hint))


def test_a_type_may_contain_itself() -> None:
    read = Parameters(of_a_type(Chain)).read({"value": {"inner": {"inner": None}}})
    assert read[1]["value"] == Chain(Chain(None))


def test_parameters_may_have_any_name() -> None:
    def run(_text: str, /, json: int = 1, model_config: float = float("inf"), copy: bool = False) -> None: ...

    parameters = Parameters(run)
    assert parameters.schema["properties"] == {
        "_text": {"type": "string"},
        "json": {"type": "integer", "default": 1},
        "model_config": {"type": "number"},
        "copy": {"type": "boolean", "default": False},
    }
    assert parameters.read({"_text": "x", "copy": True})[0] == ["x"]


def test_values_that_are_not_json_are_refused() -> None:
    with pytest.raises(ArgumentsError, match="cannot be written as JSON"):
        Parameters(of_a_type(Path)).read({"value": Path("a")})
    with pytest.raises(ArgumentsError, match="Invalid JSON"):
        Parameters(of_a_type(str)).read({"value": "\ud800"})


def test_any_number_of_arguments_is_more_than_a_schema_can_say() -> None:
    def log(*lines: str) -> None: ...

    with pytest.raises(ToolError, match="`log` takes any number of arguments with `lines`"):
        Parameters(log)


def search(
    query: str = Field(description="What to find"),
    limit: Annotated[int, Field(le=9)] = Field(3, ge=1),
    tags: list[str] = Field(default_factory=list),  # noqa: B008 - as users of pydantic write it
    at: Annotated[int, Field(default=7)] = 8,
    /,
    *,
    sort: Annotated[str, Field(default="name")],
) -> None: ...


def test_a_field_as_a_default_is_read_as_pydantic_reads_it() -> None:
    parameters = Parameters(search)
    assert parameters.schema["required"] == ["query"]
    assert parameters.schema["properties"] == {
        "query": {"type": "string", "description": "What to find"},
        "limit": {"type": "integer", "default": 3, "minimum": 1, "maximum": 9},
        "tags": {"type": "array", "items": {"type": "string"}},
        "at": {"type": "integer", "default": 8},
        "sort": {"type": "string", "default": "name"},
    }
    assert parameters.read({"query": "tea"}) == (["tea", 3, [], 8], {"sort": "name"})
    with pytest.raises(ArgumentsError, match="`query`: Missing"):
        parameters.read({})
    with pytest.raises(ArgumentsError, match="`limit`: Input should be greater than or equal to 1"):
        parameters.read({"query": "tea", "limit": 0})


def sell(what: str, to: Annotated[str, "Its buyer"], count: int = Field(1, description="How many")) -> None:
    """Sell something.

    Args:
        what (str): What to sell,
            by its name.
        to: Ignored, since the hint says it.
        count: Ignored, too.

    Returns:
        Nothing.
    """


def test_a_docstring_describes_the_parameters_that_nothing_else_describes() -> None:
    parameters = Parameters(sell)
    properties: Any = parameters.schema["properties"]
    assert {name: each["description"] for name, each in properties.items()} == {
        "what": "What to sell, by its name.",
        "to": "Its buyer",
        "count": "How many",
    }
    assert parameters.description == "Sell something.\n\nReturns:\n    Nothing."


@pytest.mark.parametrize(
    "section", ["Args:\n    Whatever you like.", "Args:\n    other: Not there.", "Args: none"]
)
def test_a_section_that_does_not_list_the_parameters_stays_in_the_description(section: str) -> None:
    def pay(amount: int) -> None: ...

    pay.__doc__ = f"Pay.\n\n{section}"
    parameters = Parameters(pay)
    assert parameters.description == pay.__doc__
    assert parameters.schema["properties"] == {"amount": {"type": "integer"}}


class Greeter:
    """Greet somebody."""

    def __call__(self, name: str, *, greeting: str = "Hello") -> str:
        return f"{greeting} {name}"


def test_a_callable_object_is_described_by_its_class_and_its_call() -> None:
    parameters = Parameters(Greeter())
    assert parameters.description == "Greet somebody."
    assert parameters.schema["required"] == ["name"]
    assert parameters.read({"name": "Ada"}) == ([], {"name": "Ada", "greeting": "Hello"})


def test_a_model_neither_sees_nor_changes_what_a_partial_sets() -> None:
    parameters = Parameters(partial(Greeter(), greeting="a secret"))
    assert parameters.schema["properties"] == {"name": {"type": "string"}}
    with pytest.raises(ArgumentsError, match="no parameter `greeting`"):
        parameters.read({"name": "Ada", "greeting": "Bye"})
