"""The text that a model reads of a tool's result."""

import datetime
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pytest
from pydantic import BaseModel

from remit.python_tools.function_tools import result_text


class Level(Enum):
    LOW = "low"


@dataclass
class Author:
    name: str


class Post(BaseModel):
    author: Author
    level: Level
    day: datetime.date


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("já", "já"),
        (None, "null"),
        (["já"], '["já"]'),
        (Author("Ada"), '{"name":"Ada"}'),
        ({1, 2}, "[1,2]"),
        (
            [Post(author=Author("Ada"), level=Level.LOW, day=datetime.date(2026, 1, 2))],
            '[{"author":{"name":"Ada"},"level":"low","day":"2026-01-02"}]',
        ),
        (b"tea", '"tea"'),
        (b"\xff", '"_w=="'),
        ({"kind": Level}, '{"kind":"<enum \'Level\'>"}'),
    ],
)
def test_a_result_is_text_or_json(result: Any, text: str) -> None:
    assert result_text(result) == text
