import json

import pytest

from remit.text.token_estimate import definition_tokens, estimate

SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string", "description": "Where the file lies"}},
    "required": ["path"],
}
COMPACT = json.dumps(SCHEMA, separators=(",", ":"))


@pytest.mark.parametrize(
    ("text", "least", "most"),  # what o200k_base, cl100k_base and the tokenizer of Claude 2 count
    [
        ("Reads a file and returns its content as text.", 10, 11),
        (COMPACT, 25, 26),
        ("在浏览器中打开一个页面，等待加载完成。", 11, 17),  # noqa: RUF001 - Chinese punctuation
        ("Открывает страницу в браузере и возвращает её текст.", 13, 28),
        ("เปิดหน้าเว็บแล้วส่งคืนข้อความ", 7, 51),
    ],
)
def test_an_estimate_is_near_what_tokenizers_count(text: str, least: int, most: int) -> None:
    assert least * 0.9 <= estimate(text) <= most * 1.15


def test_nothing_costs_nothing() -> None:
    assert estimate("") == 0


def test_half_a_surrogate_pair_can_be_estimated() -> None:
    assert estimate("a \ud83d b") > 0


def test_a_definition_costs_the_same_however_its_schema_is_stored() -> None:
    schema = {**SCHEMA, "description": "Größe"}
    compact = json.dumps(schema, separators=(",", ":"), ensure_ascii=False)
    costs = {definition_tokens("read", "Reads.", text) for text in (compact, json.dumps(schema))}
    assert len(costs) == 1


def test_every_part_of_a_definition_costs_something() -> None:
    whole = definition_tokens("read_file", "Reads a file.", COMPACT)
    assert whole > definition_tokens("read_file", None, COMPACT) > estimate(COMPACT)
    assert whole > definition_tokens("read_file", "Reads a file.")


def test_what_has_no_schema_costs_its_name_and_description() -> None:
    assert definition_tokens("/review", "Reviews the changes.") == estimate("- /review: Reviews the changes.")
    assert 0 < definition_tokens("/review") < definition_tokens("/review", "Reviews the changes.")
