"""Schemas of functions, and the arguments of calls."""

import datetime
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict
from uuid import UUID

import jsonschema
import pytest
from pydantic import BaseModel

from remit.errors import ArgumentsError, ToolError
from remit.python_tools.call_arguments import read
from remit.python_tools.schema import input_schema, parameters


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
    assert input_schema(create) == {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "What it is called"},
            "level": {"enum": ["low", "high"], "default": "low"},
            "count": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
            "ratio": {"type": "number", "default": 0.5},
            "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
            "day": {
                "anyOf": [{"type": "string", "format": "date"}, {"type": "null"}],
                "default": None,
            },
        },
        "required": ["title"],
        "additionalProperties": False,
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
        (Point, {"x": 1}, Point(1)),
        (Person, {"name": "A", "address": {"street": "B"}}, Person(name="A", address=Address(street="B"))),
        (Annotated[int, "many"], 3, 3),
    ],
)
def test_arguments_that_the_schema_allows_get_the_types_of_the_hints(
    hint: Any, given: Any, made: object
) -> None:
    function = of_a_type(hint)
    schema = input_schema(function)
    json.dumps(schema)
    jsonschema.Draft202012Validator(schema).validate({"value": given})  # pyright: ignore[reportUnknownMemberType]
    read_as = read({"value": given}, parameters(function)).named["value"]
    assert (read_as, type(read_as)) == (made, type(made))


@pytest.mark.parametrize(
    ("hint", "given", "message"),
    [
        (str, 1, "`value` is not text"),
        (int, True, "`value` is not a whole number"),
        (int, 1.5, "`value` is not a whole number"),
        (list[int], ["x"], r"`value\[0\]` is not a whole number"),
        (list[int], "x", "`value` is no list"),
        (tuple[int, str], [1], "has 1 items, and not 2"),
        (dict[str, int], [1], "`value` is no object"),
        (set[Any], [[1]], "a set has only"),
        (Literal["a"], True, "`value` is none of `a`"),
        (int | None, "x", "`value` is not a whole number; `value` is not null"),
        (Level, "middle", "`value` is none of `low`, `high`"),
        (datetime.date, "tomorrow", "no text that a date could be read from"),
        (Author, {"tags": ["x"]}, "the parameter `name` is missing"),
        (Author, {"nam": "x"}, "there is no parameter `nam`"),
        (Person, {"name": "A", "address": {"x": 1}}, "address.street: Field required"),
    ],
)
def test_arguments_that_the_schema_forbids_are_refused(hint: Any, given: Any, message: str) -> None:
    function = of_a_type(hint)
    is_valid = jsonschema.Draft202012Validator(input_schema(function)).is_valid  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    assert not is_valid({"value": given}) or hint in (set[Any], datetime.date)  # a schema cannot say all
    with pytest.raises(ArgumentsError, match=message):
        read({"value": given}, parameters(function))


def test_missing_and_unknown_arguments_are_named() -> None:
    with pytest.raises(ArgumentsError, match="the parameter `title` is missing"):
        read({}, parameters(create))
    with pytest.raises(ArgumentsError, match="no parameter `titl`") as caught:
        read({"titl": "x"}, parameters(create))
    assert caught.value.hint == "did you mean `title`?"


def test_what_can_only_be_given_by_position_is() -> None:
    def divide(one: int, other: int = 2, /) -> float:
        return one / other

    assert read({"one": 6}, parameters(divide)).positional == [6, 2]


class Ring:
    inner: "Ring"


@dataclass
class Chain:
    inner: "Chain | None" = None


@pytest.mark.parametrize(
    ("hint", "message"),
    [
        (Callable[[], None], "which JSON cannot carry"),
        (Ring, "the type `Ring`"),
        (Chain, "goes round in a circle"),
        ("Missing", "cannot be read"),
    ],
)
def test_a_type_that_json_cannot_carry_is_an_error(hint: Any, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        input_schema(of_a_type(hint))


def test_any_number_of_arguments_is_more_than_a_schema_can_say() -> None:
    def log(*lines: str) -> None: ...

    with pytest.raises(ToolError, match="`log` takes any number of arguments with `lines`"):
        input_schema(log)
