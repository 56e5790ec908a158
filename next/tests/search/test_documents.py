"""The terms of a query, and the text of a tool."""

import pytest

from remit.search import build_document, indexed_columns, parse_query


def test_words_that_say_nothing_are_dropped_unless_a_query_has_no_others() -> None:
    assert parse_query("How do I list the files in my Folder?").words == ["list", "files", "folder"]
    assert parse_query("how to do it").words == ["how", "to", "do", "it"]
    assert parse_query("read read readFile").words == ["read", "file"]
    assert parse_query("mcp__git__listDBIndexes_v2").words == ["mcp", "git", "list", "db", "indexes", "v2"]


@pytest.mark.parametrize("query", ["", "  ", "!?", "\ud800"])
def test_a_query_without_words_has_no_terms(query: str) -> None:
    assert parse_query(query) == ([], [], [], [])


def test_adjacent_words_are_pairs_and_four_words_may_be_a_quotation() -> None:
    terms = parse_query("merge the pull request")
    assert terms.pairs == ["merge pull", "pull request", "merge the", "the pull"]
    assert terms.quote == ["merge", "the", "pull", "request"]
    assert parse_query("merge the request").quote == []


def test_a_query_also_has_the_verb_that_tools_use() -> None:
    assert parse_query("open the pull request").similar == ["create", "create pull"]
    assert parse_query("please help me remove this branch").similar == ["delete", "delete branch"]
    assert parse_query("read the file contents").similar == []
    assert parse_query("create or open issues").similar == []


def test_of_a_long_query_the_first_and_the_last_words_count() -> None:
    pasted = " ".join(f"word{at}" for at in range(10_000))
    words = parse_query(f"summarize {pasted} word30 translate").words
    assert (len(words), words[:2], words[-2:]) == (48, ["summarize", "word0"], ["word30", "translate"])


def test_an_identifier_in_a_description_is_found_by_its_words_too() -> None:
    document = build_document("x", description="Calls getUser\nand list_all.", title="Users")
    assert indexed_columns(document).body == "Users Calls getUser and list_all. get User list all"
