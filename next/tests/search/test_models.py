"""The bundled models."""

import hashlib
import math
import os
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.errors import EmbeddingError
from remit.search import Document, Embedder, Vector, build_document, document_key, open_model, vectors_of
from remit.search.static import data_file, query_ids, tool_ids, vocabulary
from remit.search.wordpiece import PIECES, WordPiece
from support.searches import MODEL as STATIC

FILE = build_document("fs_access", "disk", "Read and write files.", ["path"])
MAIL = build_document("send_mail", "post", "Sends an email to a person.", ["to", "body"])
SHOT = build_document("browser_take_screenshot", "playwright", "Capture an image of the current page.")
LONG = build_document("n " * 50, "s " * 30, "a " * 200 + ". " + "b " * 300, ["p " * 10] * 20)
ENTRIES = vocabulary()
READER = WordPiece(ENTRIES[:PIECES])
STRONG = os.environ.get("REMIT_TEST_ONNX") or data_file("strong.onnx")

assert STATIC is not None


def numbers(vector: Vector) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector) // 4}f", vector)


def near(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(numbers(one), numbers(other), strict=True))


def nearest(model: Embedder, query: str, *tools: Document) -> Document:
    wanted, vectors = model.embed_query(query), model.embed_tools(tools)
    return max(zip(tools, vectors, strict=True), key=lambda pair: near(wanted, pair[1]))[0]


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def test_other_weights_or_another_reading_of_texts_need_another_name() -> None:
    files = [digest(Path(data_file(name)).read_bytes()) for name in ("static.safetensors", "vocabulary.txt")]
    tool = build_document(
        "listDBIndexes", "mongo db", "Lists all indexes. For one collection.", ["dbName", "limit"]
    )
    pieces = WordPiece(ENTRIES)
    read = f"{[*tool_ids(tool, pieces)]} {query_ids('Which indexes are there?', pieces)}"
    assert [STATIC.model, *files, digest(read.encode())] == [
        "static-1",
        "e11b9cd2fd5d557e",
        "7e1b7bc33ed87894",
        "0c1bd38f73004afa",
    ]


def read(tool: Document) -> str:
    return " ".join(ENTRIES[id] for id in tool_ids(tool, READER).ids)


def test_a_tool_is_read_by_name_server_first_sentence_rest_and_parameters() -> None:
    tool = build_document("readFile", "disk", "Reads a file. Fast.", ["path", "max_bytes"])
    assert read(tool) == "[CLS] read file ( disk ) : reads a file . fast . | path , max bytes [SEP]"
    assert read(build_document("ping")) == "[CLS] ping : [SEP]"
    assert read(build_document("ping", title="Knock")) == "[CLS] ping : knock [SEP]"
    assert len(tool_ids(LONG, READER).ids) == 128


def test_both_ends_of_a_long_query_are_read() -> None:
    assert query_ids("copy " * 2000 + "read " * 2000, READER) == READER("copy") * 31 + READER("read") * 31
    assert query_ids("copy " * 61 + "read", READER) == READER("copy") * 61 + READER("read")


@pytest.mark.parametrize(
    ("query", "tool"),
    [("file manipulation", FILE), ("take a picture of the page", SHOT), ("write a message to Ada", MAIL)],
)
def test_a_query_is_nearest_to_the_tool_that_is_meant(query: str, tool: Document) -> None:
    assert nearest(STATIC, query, FILE, MAIL, SHOT) == tool


def test_a_vector_depends_on_its_text_alone() -> None:
    again = open_model()
    assert again is not None
    assert again.embed_tools([FILE]) == STATIC.embed_tools([MAIL, FILE])[1:]
    assert again.embed_query("read a file") == STATIC.embed_query("read a file")


@given(st.text(), st.text(), st.text(), st.lists(st.text(), max_size=3))
def test_every_text_has_a_vector_of_length_one(
    name: str, server: str, description: str, params: list[str]
) -> None:
    (vector,) = STATIC.embed_tools([build_document(name, server, description, params)])
    for made in (vector, STATIC.embed_query(name)):
        assert math.hypot(*numbers(made)) == pytest.approx(1, abs=1e-5)


def test_a_query_and_a_tool_without_a_known_word_are_not_similar() -> None:
    (tool,) = STATIC.embed_tools([build_document("🙂")])
    assert abs(near(STATIC.embed_query("🙂"), tool)) < 1e-6


def test_only_documents_without_a_vector_are_embedded() -> None:
    kept = {document_key(MAIL): b"kept"}
    vectors = vectors_of([MAIL, FILE, FILE], STATIC, kept)
    assert vectors == {document_key(MAIL): b"kept", document_key(FILE): STATIC.embed_tools([FILE])[0]}


def test_a_model_is_chosen_by_its_mode() -> None:
    assert open_model("none") is None
    with pytest.raises(EmbeddingError, match="neither a model nor a usable URL") as raised:
        open_model("ftp://ada:secret@example.com")
    assert "secret" not in str(raised.value)
    with pytest.raises(EmbeddingError, match="`onnx` cannot be read"):
        open_model("onnx", os.devnull)


@pytest.mark.skipif(not os.path.exists(STRONG), reason="the transformer is not here")
def test_the_transformer_embeds_tools_one_by_one() -> None:
    strong = open_model("onnx", STRONG)
    assert strong is not None
    assert (strong.model, digest(Path(STRONG).read_bytes())) == ("onnx-1", "390a2d4b0269c321")
    alone = [vector for tool in (LONG, FILE, MAIL) for vector in strong.embed_tools([tool])]
    assert strong.embed_tools([LONG, FILE, MAIL]) == alone
    assert nearest(strong, "file manipulation", FILE, MAIL, SHOT) == FILE
    assert math.hypot(*numbers(strong.embed_query("\ud800 🙂"))) == pytest.approx(1, abs=1e-5)
