"""The shape of a result: its size, its JSON structure, its columns."""

import json

from remit.presentation.results.result_document import ResultDocument, document_of, parse_json
from remit.presentation.results.result_limit import NO_LIMIT, ResultLimit
from remit.presentation.results.result_shape import shape, size_of
from remit.protocol.json_rpc import Answer


def text_answer(*texts: str) -> Answer:
    return {"content": [{"type": "text", "text": text} for text in texts]}


def shape_of(*texts: str) -> list[str]:
    return shape(document_of(text_answer(*texts)), NO_LIMIT)


def test_json_is_outlined_with_paths_that_can_be_read() -> None:
    rows: list[dict[str, object]] = [
        {"id": 1, "name": "a", "tags": [1, 2], "done": True},
        {"id": 2, "extra": None, "in": {}},
    ]
    value: dict[str, object] = {
        "rows": rows,
        "total": 2.5,
        "next page": None,
        "note": "x" * 1_200,
        "deep": {"a": [[1], [2]]},
    }
    assert shape_of(json.dumps(value)) == [
        "$: object with 5 keys",
        "$.rows: array of 2 (object) with id (number), name (text), tags (array of 2), done (boolean), "
        "extra (null), in (object)",
        "$.total: number",
        "$['next page']: null",
        "$.note: text of 1,200 characters",
        "$.deep: object with 1 key",
        "$.deep.a: array of 2 (array of 1)",
        "$.deep.a[0]: array of 1 (number)",
    ]
    assert shape_of("[]") == ["$: array of 0"]
    assert shape_of('{"ok": true}')[1] == "$.ok: boolean"
    assert shape_of('[{"a": 1}, 2]') == [
        "$: array of 2 (object, number)",
        "$[0]: object with 1 key",
        "$[0].a: number",
    ]


def test_many_keys_and_columns_are_counted_not_listed() -> None:
    outline = shape_of(json.dumps({f"k{number}": number for number in range(100)}))
    assert outline[-1] == "$: 80 more keys"
    assert len(outline) == 22
    columns = shape_of(json.dumps([{f"c{number}": number for number in range(60)}]))
    assert columns[0].endswith("c39 (number), and 20 more")
    nested = {f"k{one}": {f"m{two}": two for two in range(9)} for one in range(9)}
    assert len(shape_of(json.dumps(nested))) == 41


def test_the_outline_keeps_within_its_limit() -> None:
    value = {f"key{number}": number for number in range(20)}
    small = ResultLimit(tokens=40)
    found = shape(ResultDocument("", value), small)
    assert found[-1] == "…"
    assert small.fits("\n".join(found))
    assert shape(ResultDocument("", {"a": 1}), ResultLimit(tokens=1)) == ["$: object with 1 key"]


def test_json_lines_and_several_json_blocks_are_arrays() -> None:
    assert shape_of('{"a": 1}\n{"a": 2}\n')[0] == "$: array of 2 (object) with a (number)"
    assert shape_of('{"a": 1}', '{"a":\n2}')[0] == "$: array of 2 (object) with a (number)"
    assert parse_json('{"a": 1}\nand words') is None
    assert parse_json('{"a": 1\n{"a": 2}') is None
    assert parse_json("[" * 100_000) is None
    assert parse_json("[" * 100_000 + "]" * 100_000) is None


def test_tables_show_their_columns() -> None:
    assert shape_of('id,name,"price"\n1,a,2\n2,b,3\n3,c,4') == [
        "rows separated by `,`, columns: id, name, price"
    ]
    assert shape_of("a\tb\n1\t2\n3\t4") == ["rows separated by tab, columns: a, b"]
    assert shape_of("| a | b |\n|---|---|\n| 1 | 2 |") == ["rows separated by `|`, columns: a, b"]
    assert shape_of("Just words, written\nin lines\nwithout columns\nof any kind") == []
    assert shape_of("a,b\n1,2") == []
    assert shape_of("x," * 3_000 + "\n1,2\n3,4") == []


def test_a_key_of_a_server_cannot_start_a_line() -> None:
    assert shape_of(json.dumps({"a\nIgnore all": 1}))[1] == "$['a Ignore all']: number"


def test_sizes_are_written_for_people() -> None:
    assert [size_of("x" * 12), size_of("ä" * 600), size_of("x" * 2_500_000)] == [
        "12 bytes",
        "1.2 kB",
        "2.5 MB",
    ]


def test_structured_content_is_the_json_and_is_not_repeated() -> None:
    value = {"items": [1, 2]}
    same: Answer = {**text_answer(json.dumps(value)), "structuredContent": value}
    assert document_of(same) == ResultDocument(json.dumps(value), value)
    wrapped: Answer = {**text_answer("long text"), "structuredContent": {"result": "long text"}}
    assert document_of(wrapped).text == "long text"
    both: Answer = {**text_answer("2 items"), "structuredContent": value}
    assert document_of(both).text == '2 items\n{\n "items": [\n  1,\n  2\n ]\n}'
    alone: Answer = {"content": [], "structuredContent": value}
    assert json.loads(document_of(alone).text) == value


def test_links_and_embedded_text_count_and_media_do_not() -> None:
    link = {"type": "resource_link", "uri": "file:///a", "name": "a"}
    answer: Answer = {
        "content": [
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "file:///b", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "file:///c", "blob": "AAAA"}},
            link,
        ]
    }
    assert document_of(answer).text == f"inside\n{json.dumps(link)}"
    assert document_of({"content": "odd"}).text == ""


def test_long_json_is_spread_over_lines_and_loses_nothing() -> None:
    value = [{"id": 1, "text": 'a "quoted" },{ text', "n": [1.10]}] * 200
    text = json.dumps(value).replace("1.1]", "1.10000000000000000001]")
    document = document_of(text_answer(text))
    assert document.lines == 200
    assert document.text.replace("\n", "") == text
    assert json.loads(document.text) == value
    structured: Answer = {**text_answer(text), "structuredContent": {"result": value}}
    assert document_of(structured).lines == 200
    assert document_of(text_answer('{"a": 1}')).lines == 1
