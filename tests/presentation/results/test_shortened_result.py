"""What a model gets instead of a result that is too large."""

import json
from collections.abc import Callable
from typing import Any

from remit.presentation.results.excerpts import Excerpt
from remit.presentation.results.result_document import document_of
from remit.presentation.results.result_limit import ResultLimit
from remit.presentation.results.shortened_result import NOTE_KEY, excerpt_answer, shortened
from remit.protocol.json_rpc import Answer

LIMIT = ResultLimit(tokens=1_000)
ROWS = [{"id": number, "name": f"name {number}"} for number in range(3_000)]


def answer_of(value: object, **more: object) -> Answer:
    return {"content": [{"type": "text", "text": json.dumps(value)}], **more}


def short(answer: Answer, is_valid: Callable[[Any], bool] | None = None) -> Answer:
    return shortened(answer, document_of(answer), "abc123", LIMIT, is_valid)


def has_only(*names: str) -> Callable[[Any], bool]:
    """A schema that allows no other keys."""
    return lambda value: set(value) == set(names)


def words(answer: Answer) -> str:
    return "\n".join(each["text"] for each in answer["content"] if each["type"] == "text")


def test_it_names_the_size_the_structure_and_how_to_read_on_and_begins_the_result() -> None:
    given = answer_of(ROWS, isError=True, _meta={"x": 1})
    made = short(given)
    note, beginning = (each["text"] for each in made["content"])
    tokens = made["_meta"]["remit/result"]["tokens"]
    shown = beginning.count("\n")
    assert note.splitlines() == [
        "Remit kept this result, which is over the limit of 1,000 tokens: 105.8 kB, 3,000 lines, "
        f"about {tokens:,} tokens.",
        "Structure:",
        "$: array of 3,000 (object) with id (number), name (text)",
        'Read on with `read_result` (through `call_tool` if it is not listed): `result` = "abc123" and '
        "`line`, `search` or `path`.",
        f"The beginning follows. Lines 1 to {shown} of 3,000. Continue with `line` = {shown + 1}.",
    ]
    assert given["content"][0]["text"].startswith(beginning.replace("\n", ""))
    assert len(beginning) > 1_000
    assert LIMIT.fits(words(made))
    assert made["isError"]
    assert made["_meta"]["x"] == 1
    assert made["_meta"]["remit/result"]["result"] == "abc123"


def test_media_stay_whole_and_in_order() -> None:
    image = {"type": "image", "data": "A" * 50_000, "mimeType": "image/png"}
    blob = {"type": "resource", "resource": {"uri": "file:///x", "blob": "B" * 50_000}}
    given = answer_of(ROWS)
    made = short({"content": [image, *given["content"], blob]})
    assert [each["type"] for each in made["content"]] == ["text", "text", "image", "resource"]
    assert made["content"][2:] == [image, blob]


def test_structured_content_without_a_schema_is_left_out() -> None:
    assert "structuredContent" not in short(answer_of(ROWS, structuredContent={"rows": ROWS}))


def test_structured_content_with_a_schema_becomes_a_valid_excerpt_that_says_so() -> None:
    value = {"rows": ROWS, "total": 3_000}
    made = short(answer_of(value, structuredContent=value), lambda each: isinstance(each["rows"], list))
    part = made["structuredContent"]
    assert part["rows"] == ROWS[: len(part["rows"])]
    assert part["total"] == 3_000
    assert "read on with `read_result` " in part[NOTE_KEY]
    assert '`result` = "abc123"' in part[NOTE_KEY]
    assert LIMIT.fits(json.dumps(part))


def test_where_the_schema_allows_no_further_key_a_cut_text_says_so() -> None:
    value = {"content": "word " * 20_000}
    made = short(answer_of(value, structuredContent=value), has_only("content"))
    assert made["structuredContent"]["content"].startswith("word word")
    assert "[cut by Remit: " in made["structuredContent"]["content"]
    names = {"names": [f"name {number}" for number in range(9_000)], "n": 1.5}
    made = short(answer_of(names, structuredContent=names), has_only("names", "n"))
    assert "cut by Remit" in made["structuredContent"]["names"][-1]


def test_where_no_excerpt_is_valid_or_could_say_so_structured_content_stays_whole() -> None:
    value = {"rows": ROWS}
    for is_valid in (has_only(), has_only("rows")):
        made = short(answer_of(value, structuredContent=value), is_valid)
        assert made["structuredContent"] == value
        assert LIMIT.fits(words(made))
    deep: Any = "x" * 90_000
    for _ in range(60):
        deep = [deep]
    assert short(answer_of(deep, structuredContent={"deep": deep}), lambda _: True)["structuredContent"] == {
        "deep": deep
    }
    wide = {str(number): {str(each): each for each in range(100)} for number in range(500)}
    part = short(answer_of(wide, structuredContent=wide), lambda _: True)["structuredContent"]
    assert part == wide or len(part) < 40


def test_an_excerpt_names_its_tool_and_result() -> None:
    assert words(excerpt_answer(Excerpt("Line 1 of 2.", "a"), "fs__read", "abc")) == (
        "From the result `abc` of `fs__read`. Line 1 of 2.\na"
    )
    assert len(excerpt_answer(Excerpt("0 matching lines.", ""), "fs__read", "abc")["content"]) == 1
