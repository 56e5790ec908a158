"""What search reads of a tool, and of a query."""

import pytest

from remit.decision.tools import Definition
from remit.search.documents import (
    Document,
    QueryTerms,
    both_ends,
    build_document,
    definition_document,
    indexed_columns,
    params_from_json,
    parse_query,
    query_parts,
    query_words,
)
from remit.text.words import split


@pytest.mark.parametrize(
    ("identifier", "words"),
    [
        ("readFile", "read File"),
        ("read_file", "read file"),
        ("mcp__git__git_commit", "mcp git git commit"),
        ("listDBIndexes_v2", "list DB Indexes v2"),
        ("read-only", "read only"),
        ("", ""),
        ("__", ""),
    ],
)
def test_an_identifier_counts_as_its_words(identifier: str, words: str) -> None:
    assert split(identifier) == words


def test_a_tool_goes_by_its_own_name_and_its_servers_label() -> None:
    definition = Definition(
        name="mcp__git__git_commit",
        server="git",
        tool="git_commit",
        title="Commit",
        description="Records\n changes.",
        input_schema=(
            '{"properties": {"repoPath": {"description": "Where"}, "message": {"description": 1}, "x": 2}}'
        ),
    )
    assert definition_document(definition) == Document(
        "git commit", "git", "Records changes.", ("repo Path", "message", "x"), "Commit", "Where"
    )


def test_a_tool_whose_own_name_is_not_known_goes_by_the_last_part_of_its_name() -> None:
    assert definition_document(Definition(name="mcp__git__git_commit", server="git")).name == "git commit"


def test_a_server_goes_by_its_label() -> None:
    assert (
        definition_document(Definition(name="mcp__brave-search__*", server="brave-search")).name
        == "brave search"
    )


def test_what_has_neither_server_nor_description_is_read_by_its_name() -> None:
    assert definition_document(Definition(name="/commit")) == Document("commit")


@pytest.mark.parametrize("schema", [None, "[]", "true", '{"properties": []}', "{}"])
def test_a_schema_of_another_shape_names_no_parameters(schema: str | None) -> None:
    assert params_from_json(schema) == {}


def test_an_identifier_in_a_description_is_found_by_its_words_too() -> None:
    body = indexed_columns(build_document("x", description="Calls getUser and list_all.", title="Users")).body
    assert body == "Users Calls getUser and list_all. get User list all"


def test_words_that_say_nothing_are_dropped_from_a_query() -> None:
    assert query_words("How do I list the files in my Folder?") == ["list", "files", "folder"]


def test_a_query_of_such_words_alone_keeps_them() -> None:
    assert query_words("how to do it") == ["how", "to", "do", "it"]


def test_a_query_has_each_word_once_and_not_too_many() -> None:
    assert query_words("read read readFile") == ["read", "file"]
    assert len(query_words(" ".join(f"word{i}" for i in range(10_000)))) == 48


@pytest.mark.parametrize("query", ["", "  ", "!?", '"', "\ud800", "***"])
def test_a_query_without_words_has_none(query: str) -> None:
    assert query_words(query) == []


def test_words_side_by_side_are_sought_as_pairs_and_so_are_those_with_little_between_them() -> None:
    assert parse_query("open the pull request") == QueryTerms(
        words=["open", "pull", "request"],
        pairs=["open pull", "pull request", "open the", "the pull"],
        quote=["open", "the", "pull", "request"],
    )
    assert parse_query("open").pairs == []
    assert len(parse_query(" ".join(f"word{i}" for i in range(10_000))).pairs) == 64


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        (
            "Make a new branch and then open a pull request, please",
            ["Make a new branch ", " open a pull request"],
        ),
        ("read the file and print", []),
        ("handle the standard error", []),
        ("", []),
    ],
)
def test_a_query_for_several_things_falls_into_parts(query: str, parts: list[str]) -> None:
    assert query_parts(query) == parts


def test_of_the_words_of_a_long_query_the_first_and_the_last_count() -> None:
    pasted = " ".join(f"word{i}" for i in range(10_000))
    found = query_words(f"summarize {pasted} word30 translate")
    assert found[:2] == ["summarize", "word0"]
    assert found[-2:] == ["word30", "translate"]  # where it was said last
    assert len(set(found)) == 48


def test_of_the_parts_of_a_long_query_the_first_and_the_last_count() -> None:
    pasted = "".join(f"line {i} was written. " for i in range(300))
    found = query_parts(f"Please sum this up: {pasted}Now read it aloud.")
    assert len(found) == 24
    assert found[0] == "Please sum this up: line 0 was written"
    assert found[-1] == " Now read it aloud"
    assert len(query_parts("take a look, then do it now. " * 300)) == 3  # each once


def test_a_long_text_is_shortened_in_the_middle() -> None:
    assert both_ends("1234567", 7) == "1234567"
    assert both_ends("12345678", 6) == "123\n678"


def test_what_is_said_of_parameters_is_cut_where_search_stops_reading() -> None:
    read = build_document("x", params={"one": "word " * 500, "two": "never"})
    assert read.params == ("one", "two")
    assert len(read.details) == 600


def test_a_query_of_a_few_words_is_no_quotation() -> None:
    assert parse_query("open the request") == QueryTerms(
        words=["open", "request"], pairs=["open request", "open the", "the request"], quote=[]
    )
    assert len(parse_query(" ".join(f"word{i}" for i in range(100))).quote) == 48
