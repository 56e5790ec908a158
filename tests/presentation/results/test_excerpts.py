"""What a model reads of a large result: ranges, matches and JSON paths, each within the limit."""

import json
from typing import Any

import pytest

from remit.presentation.results.excerpts import (
    BadReadError,
    ReadRequest,
    excerpt,
    head,
    plain_matches,
    read_request,
    selected_text,
)
from remit.presentation.results.result_document import ResultDocument, document_of
from remit.presentation.results.result_limit import ResultLimit

LOG = "\n".join(f"{number} GET /page/{number}" for number in range(1, 2_001))
LIMIT = ResultLimit(tokens=600)


def read(text: str, **asked: Any) -> tuple[str, str]:
    return excerpt(text, ReadRequest(**asked), LIMIT, plain_matches)


def test_reading_on_from_note_to_note_gives_the_whole_text_each_part_within_the_limit() -> None:
    parts, line = list[str](), 1
    while True:
        note, text = read(LOG, line=line)
        assert LIMIT.fits(note + text)
        parts.append(text)
        if note.endswith("(the end)."):
            break
        line = int(note.rpartition("= ")[2].rstrip("."))
    assert "".join(parts) == LOG
    assert len(parts) > 10


def test_one_long_line_is_read_on_by_characters() -> None:
    minified, parts, offset = "word " * 5_000, list[str](), 0
    while True:
        note, text = read(minified, offset=offset)
        parts.append(text)
        assert note.startswith(f"Line 1 of 1, characters {offset:,} to ") or "(the end)" in note
        if "(the end)" in note:
            break
        offset = int(note.rpartition("`offset` = ")[2].rstrip("."))
    assert "".join(parts) == minified


def test_a_range_has_at_most_as_many_lines_as_wanted() -> None:
    assert read(LOG, line=10, limit=2) == (
        "Lines 10 to 11 of 2,000. Continue with `line` = 12.",
        "10 GET /page/10\n11 GET /page/11\n",
    )
    assert read("a\nb\n", line=2, limit=5) == ("Line 2 of 2 (the end).", "b\n")
    assert read("", offset=0) == ("Line 1 of 1 (the end).", "")


def test_a_search_gives_the_lines_with_their_numbers_and_where_to_go_on() -> None:
    note, text = read(LOG, search="PAGE/19")
    assert text.splitlines()[:2] == ["19: 19 GET /page/19", "190: 190 GET /page/190"]
    assert note.startswith("111 matching lines of 2,000. Shown: ")
    following = int(note.partition("`line` = ")[2].split()[0])
    assert read(LOG, search="PAGE/19", line=following)[1].startswith(f"{following}: ")
    assert read(LOG, search="page/19", limit=1)[1] == "19: 19 GET /page/19"
    assert read(LOG, search="nothing") == ("0 matching lines of 2,000.", "")
    assert read(LOG, search="page/1999")[0] == "1 matching line of 2,000."


def test_a_match_in_a_long_line_comes_with_what_is_around_it() -> None:
    line = "x" * 5_000 + "needle" + "y" * 5_000
    _, text = read(f"first\n{line}", search="needle")
    assert text.startswith("2: …xxx")
    assert text.endswith("yyy…")
    assert "needle" in text
    assert len(text) < 500
    assert read("needle" + "y" * 900, search="needle")[1].startswith("1: needle")
    assert read("y" * 900 + "needle", search="needle")[1].endswith("needle")


def test_a_limit_in_characters_holds_as_well() -> None:
    found = head(LOG, ResultLimit(characters=1_000))
    assert len(found.text) <= 1_000
    assert found.text.endswith("\n")


def test_a_path_selects_json_as_a_text_that_can_be_read_and_searched() -> None:
    items = [{"id": number, "name": f"n{number}", "note": "a\nb"} for number in range(50)]
    document = document_of({"content": [{"type": "text", "text": json.dumps({"items": items, "n": 50})}]})

    def at(path: str | None) -> str:
        return selected_text(document, path).text

    assert at("$.items[3].name") == "n3"
    assert at("$.items[0:2].id") == "[0,\n1]"
    assert at("items[-1].note") == "a\nb"
    assert json.loads(at("$.items[1]")) == items[1]
    assert json.loads(at("$..id")) == list(range(50))
    assert json.loads(at("$['items'][*].name"))[49] == "n49"
    assert json.loads(at("$.*")) == [items, 50]
    assert at(None) == document.text
    assert at("$.n") == "50"


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"line": 0}, "`line` must be a whole number of at least 1"),
        ({"line": True}, "`line` must be a whole number of at least 1"),
        ({"offset": "3"}, "`offset` must be a whole number of at least 0"),
        ({"line": 1, "offset": 1}, "use `line` or `offset`, not both"),
        ({"search": ""}, "`search` must be a text"),
        ({"path": "x" * 2_000}, "`path` must be a text"),
    ],
)
def test_wrong_arguments_are_named(asked: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadReadError, match=problem):
        read_request(asked)


def test_right_arguments_are_read() -> None:
    asked = read_request({"result": "abc", "line": 3, "search": "a+", "regex": True})
    assert asked == ReadRequest(line=3, search="a+", is_regex=True)


def test_what_does_not_exist_is_named_with_what_does() -> None:
    with pytest.raises(BadReadError, match="there are 2,000 lines"):
        read(LOG, line=2_001)
    with pytest.raises(BadReadError, match=f"there are {len(LOG):,} characters"):
        read(LOG, offset=len(LOG))
    with pytest.raises(BadReadError, match="not JSON"):
        selected_text(ResultDocument(LOG), "$.a")
    with pytest.raises(BadReadError, match=r"selects nothing. The structure is:\n\$: object with 1 key\n"):
        selected_text(ResultDocument("", {"a": 1}), "$.b")
    with pytest.raises(BadReadError, match=r"`path`: cannot read the path from `\[\?"):
        selected_text(ResultDocument("", {"a": 1}), "$.a[?(@.b)]")
