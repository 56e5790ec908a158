"""The bundled table."""

import hashlib
import math
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.search.documents import Document, build_document
from remit.search.embeddings.static_embedder import FIRST_WORD, StaticEmbedder
from remit.search.embeddings.token_sequences import data_file, query_ids, read_tensors, tool_ids, vocabulary
from remit.search.ports import Embedder, Vector
from remit.text.wordpiece import WordPiece

FILE = build_document("fs_access", "disk", "Read and write files.", ["path"])
MAIL = build_document("send_mail", "post", "Sends an email to a person.", ["to", "body"])
SHOT = build_document("browser_take_screenshot", "playwright", "Capture an image of the current page.")
RAIN = build_document("forecast", "sky", "Tells the weather of the next days.", ["city"])


def embedder() -> StaticEmbedder:
    return StaticEmbedder()


QUICK = embedder()
QUICK.embed_tools([])


def numbers(vector: Vector) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector) // 4}f", vector)


def near(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(numbers(one), numbers(other), strict=True))


def nearest(query: str, *tools: Document) -> Document:
    wanted = QUICK.embed_query(query)
    vectors = QUICK.embed_tools(tools)
    return max(zip(tools, vectors, strict=True), key=lambda pair: near(wanted, pair[1]))[0]


def test_other_weights_have_another_name() -> None:
    digests = [
        digest(Path(data_file(name)).read_bytes()) for name in ("static.safetensors", "vocabulary.txt")
    ]
    assert (QUICK.model, *digests) == ("static-1", "e11b9cd2fd5d557e", "7e1b7bc33ed87894"), (
        "change the name with the weights"
    )


def test_vectors_of_texts_that_are_read_otherwise_have_another_name() -> None:
    tool = build_document(
        "listDBIndexes", "mongo db", "Lists all indexes. For one collection.", ["dbName", "limit"]
    )
    pieces = WordPiece(vocabulary())
    read = f"{[*tool_ids(tool, pieces)]} {query_ids('Which indexes are there?', pieces)}"
    assert (QUICK.model, digest(read.encode())) == ("static-1", "0c1bd38f73004afa"), (
        "change the name with the reading"
    )


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def test_the_files_that_come_with_the_package_are_small() -> None:
    sizes = [Path(data_file(name)).stat().st_size for name in ("static.safetensors", "vocabulary.txt")]
    assert sum(sizes) < 10_000_000


@pytest.mark.parametrize(
    ("query", "tool"),
    [
        ("file manipulation", FILE),
        ("take a picture of the page", SHOT),
        ("will it be sunny tomorrow", RAIN),
        ("write a message to Ada", MAIL),
    ],
)
def test_a_query_is_nearest_to_the_tool_that_is_meant(query: str, tool: Document) -> None:
    assert nearest(query, FILE, MAIL, SHOT, RAIN) == tool


def test_it_is_an_embedder() -> None:
    asked: Embedder = embedder()
    assert asked.fusion.word_weight > 0


def test_the_same_text_has_the_same_vector_in_every_process_and_batch() -> None:
    assert embedder().embed_tools([FILE]) == QUICK.embed_tools([MAIL, FILE])[1:]
    assert QUICK.embed_query("read a file") == QUICK.embed_query("read a file")


@given(st.text())
def test_a_query_has_one_vector_with_numpy_and_without(text: str) -> None:
    plain, quick = PLAIN.embed_query(text), QUICK.embed_query(text)
    assert numbers(plain) == pytest.approx(numbers(quick), abs=1e-6)


PLAIN = embedder()


@given(st.text(), st.text(), st.text(), st.lists(st.text(), max_size=3))
def test_every_tool_has_a_vector_of_length_one(
    name: str, server: str, description: str, params: list[str]
) -> None:
    (vector,) = QUICK.embed_tools([build_document(name, server, description, params)])
    assert math.hypot(*numbers(vector)) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    "text", ["", " ", "\ud800", "🙂", "x" * 10_000, "copy a file " * 900, "读取文件", "читать"]
)
def test_every_query_has_a_vector_of_length_one(text: str) -> None:
    assert math.hypot(*numbers(QUICK.embed_query(text))) == pytest.approx(1, abs=1e-5)
    assert math.hypot(*numbers(PLAIN.embed_query(text))) == pytest.approx(1, abs=1e-5)


def test_a_query_and_a_tool_without_a_known_word_are_not_alike() -> None:
    (tool,) = QUICK.embed_tools([build_document("🙂", None, "")])
    assert abs(near(QUICK.embed_query("🙂"), tool)) < 1e-6


def test_a_tool_without_description_is_found_by_its_name_and_its_server() -> None:
    bare = build_document("delete_branch", "github")
    assert nearest("remove a git branch", bare, MAIL, RAIN) == bare
    assert (
        nearest("something on github", build_document("run", "github"), build_document("run", "slack")).server
        == "github"
    )


def test_a_name_counts_more_than_the_same_words_in_a_description() -> None:
    named = build_document("merge_rows", "db", "Works on a sheet.")
    told = build_document("work_on", "db", "Sheet: merge rows.")
    assert nearest("merge rows", told, named) == named


def test_every_entry_of_the_vocabulary_that_is_a_word_has_a_row() -> None:
    rows = read_tensors(data_file("static.safetensors"))["rows"]
    assert rows.shape[0] == len(vocabulary()) - FIRST_WORD


def test_the_table_is_mapped_and_not_read() -> None:
    rows = read_tensors(data_file("static.safetensors"))["rows"]
    assert rows.content.readonly
    assert rows.content.nbytes == math.prod(rows.shape)
