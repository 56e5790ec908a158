"""Arguments that are repeated in headers, judged as the SDK does."""

import pytest
from mcp.shared.inbound import (
    decode_header_value,
    find_invalid_x_mcp_header,
    mcp_param_headers,
    x_mcp_header_map,
)

from remit.protocol.header_parameters import header_map, header_text, headers, schema_fault

TEXT = {"type": "string"}
PLACE = {**TEXT, "x-mcp-header": "Place"}


def schema(**properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties}


GOOD = [
    None,
    {},
    schema(a=TEXT),
    schema(a=PLACE, b={"type": "boolean", "x-mcp-header": "Loud"}),
    schema(deep=schema(a=PLACE, b=TEXT)),
    {**schema(a=PLACE), "default": PLACE, "properties ": PLACE, "properties": {"a": PLACE, "b": True}},
    {"properties": [PLACE], "allOf": PLACE, "$defs": [PLACE]},
]
BAD = [
    PLACE,
    schema(a={"type": "number", "x-mcp-header": "Place"}),
    schema(a={"type": ["string"], "x-mcp-header": "Place"}),
    schema(a={**TEXT, "x-mcp-header": ""}),
    schema(a={**TEXT, "x-mcp-header": 1}),
    schema(a={**TEXT, "x-mcp-header": "two words"}),
    schema(a=PLACE, b={**TEXT, "x-mcp-header": "place"}),
    schema(a={"type": "array", "items": PLACE}),
    schema(a={"items": schema(b=PLACE)}),
    {"anyOf": [TEXT, PLACE]},
    {"$defs": {"a": PLACE}},
]


@pytest.mark.parametrize("given", [*GOOD, *BAD])
def test_the_marks_of_a_schema_are_judged_as_by_the_sdk(given: object) -> None:
    assert (schema_fault(given) is None) is (find_invalid_x_mcp_header(given) is None)
    if given in GOOD:
        assert header_map(given) == x_mcp_header_map(given)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"a": "x", "b": True, "c": 3, "d": {"e": "ü"}},
        {"a": None, "b": False, "c": [1], "d": "no object"},
        {"a": " padded ", "b": 1, "c": 1.5, "d": {"e": "=?base64?x?="}},
    ],
)
def test_arguments_are_repeated_as_by_the_sdk(arguments: dict[str, object]) -> None:
    found = {("a",): "A", ("b",): "B", ("c",): "C", ("d", "e"): "D"}
    assert headers(found, arguments) == mcp_param_headers(found, arguments)


@pytest.mark.parametrize(
    "text", ["", "plain", "two words", " edge", "edge ", "tab\there", "ü", "=?base64?eA==?="]
)
def test_a_text_survives_in_a_header(text: str) -> None:
    written = header_text(text)
    assert decode_header_value(written) == text
    assert written.isascii()
    assert written.isprintable()
