"""The stronger model of the extra `onnx`."""

import hashlib
import math
import struct
from pathlib import Path

import pytest

from remit.search.documents import Document, build_document
from remit.search.embeddings.token_sequences import data_file
from remit.search.ports import Embedder, Vector

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: `pip install '.[onnx]'`")

from remit.search.embeddings.onnx_embedder import OnnxEmbedder

FILE = build_document("fs_access", "disk", "Read and write files.", ["path"])
MAIL = build_document("send_mail", "post", "Sends an email to a person.", ["to", "body"])
SHOT = build_document("browser_take_screenshot", "playwright", "Capture an image of the current page.")
LONG = build_document("n " * 50, "s " * 30, "a " * 200 + ". " + "b " * 300, ["p " * 10] * 20)


@pytest.fixture(scope="module")
def strong() -> OnnxEmbedder:
    return OnnxEmbedder()


def numbers(vector: Vector) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector) // 4}f", vector)


def near(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(numbers(one), numbers(other), strict=True))


def test_other_weights_have_another_name() -> None:
    digest = hashlib.sha256(Path(data_file("strong.onnx")).read_bytes()).hexdigest()[:16]
    assert (OnnxEmbedder.model, digest) == ("onnx-1", "390a2d4b0269c321"), "change the name with the weights"


@pytest.mark.parametrize(
    ("query", "tool"),
    [("file manipulation", FILE), ("take a picture of the page", SHOT), ("write a message to Ada", MAIL)],
)
def test_a_query_is_nearest_to_the_tool_that_is_meant(
    strong: OnnxEmbedder, query: str, tool: Document
) -> None:
    tools = [FILE, MAIL, SHOT]
    wanted, vectors = strong.embed_query(query), strong.embed_tools(tools)
    assert max(zip(tools, vectors, strict=True), key=lambda pair: near(wanted, pair[1]))[0] == tool


def test_a_tool_has_the_same_vector_whatever_comes_with_it(strong: OnnxEmbedder) -> None:
    alone = [vector for tool in (LONG, FILE, MAIL) for vector in strong.embed_tools([tool])]
    assert strong.embed_tools([LONG, FILE, MAIL]) == alone


def test_the_same_query_has_the_same_vector(strong: OnnxEmbedder) -> None:
    assert strong.embed_query("read a file") == OnnxEmbedder().embed_query("read a file")


@pytest.mark.parametrize("text", ["", "\ud800", "🙂", "x" * 10_000, "copy a file " * 900, "读取文件"])
def test_every_query_has_a_vector_of_length_one(strong: OnnxEmbedder, text: str) -> None:
    assert math.hypot(*numbers(strong.embed_query(text))) == pytest.approx(1, abs=1e-5)


def test_every_tool_has_a_vector_of_length_one(strong: OnnxEmbedder) -> None:
    for vector in strong.embed_tools([FILE, LONG, build_document("ping"), build_document("🙂")]):
        assert math.hypot(*numbers(vector)) == pytest.approx(1, abs=1e-5)


def test_no_tools_have_no_vectors(strong: OnnxEmbedder) -> None:
    asked: Embedder = strong
    assert asked.embed_tools([]) == []
