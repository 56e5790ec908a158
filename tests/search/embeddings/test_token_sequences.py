"""What the bundled models read of a tool."""

import importlib.util
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from remit.search.documents import Document, build_document
from remit.search.embeddings.token_sequences import (
    FIRST,
    MARK,
    NAME,
    PARAMS,
    REST,
    SERVER,
    query_ids,
    tool_ids,
    vocabulary,
)
from remit.text.wordpiece import PIECES, WordPiece

ENTRIES = vocabulary()[:PIECES]
WORDS = WordPiece(ENTRIES)


def read(tool: Document) -> str:
    return " ".join(ENTRIES[i] for i in tool_ids(tool, WORDS).ids)


def fields(tool: Document) -> list[int]:
    return tool_ids(tool, WORDS).fields


def training() -> Any:
    path = Path(__file__).parents[3] / "training" / "text.py"
    spec = importlib.util.spec_from_file_location("training_text", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TEXT = training()
TAUGHT = TEXT.WordPiece(ENTRIES)


def test_a_tool_is_read_by_name_server_first_sentence_rest_and_parameters() -> None:
    tool = build_document("readFile", "disk", "Reads a file. Fast.", ["path", "max_bytes"])
    assert read(tool) == "[CLS] read file ( disk ) : reads a file . fast . | path , max bytes [SEP]"
    assert fields(tool) == [
        *(MARK, NAME, NAME, MARK, SERVER, MARK, MARK),
        *(FIRST, FIRST, FIRST, FIRST, REST, REST),
        *(MARK, PARAMS, MARK, PARAMS, PARAMS, MARK),
    ]


def test_what_a_tool_does_not_say_leaves_no_brackets_and_no_bar() -> None:
    assert read(build_document("ping")) == "[CLS] ping : [SEP]"


def test_a_title_is_read_where_there_is_no_description() -> None:
    assert read(build_document("ping", title="Knock")) == "[CLS] ping : knock [SEP]"
    assert read(build_document("ping", description="Ask.", title="Knock")) == "[CLS] ping : ask . [SEP]"


def test_a_long_tool_keeps_some_of_each_field() -> None:
    tool = build_document("n " * 50, "s " * 30, "a " * 200 + ". " + "b " * 300, ["p " * 10] * 20)
    ids, marks = tool_ids(tool, WORDS)
    assert len(ids) == 128
    assert [marks.count(field) for field in (NAME, SERVER, FIRST)] == [20, 10, 56]
    assert marks.count(PARAMS) + sum(i == 1010 for i in ids) == 32


def test_a_model_reads_the_start_and_the_end_of_a_long_query() -> None:
    assert query_ids("copy " * 2000 + "read " * 2000, WORDS) == WORDS("copy") * 31 + WORDS("read") * 31
    assert query_ids("copy " * 61 + "read", WORDS) == WORDS("copy") * 61 + WORDS("read")


@given(st.text(), st.text(), st.text(), st.lists(st.text(), max_size=25))
def test_search_reads_a_tool_as_training_does(
    name: str, server: str, description: str, params: list[str]
) -> None:
    tool = build_document(name, server, description, params)
    fields = TEXT.Fields(**{field: getattr(tool, field, "") for field in TEXT.Fields._fields})
    assert tuple(tool_ids(tool, WORDS)) == TEXT.tool_sequence(TAUGHT.segments(fields))
