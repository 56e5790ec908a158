"""The bundled model: a weighted sum of one vector per word.

Embedding a query in plain Python is faster than importing numpy, so numpy is loaded only to embed tools.
"""

import math
import struct
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from remit.search.documents import Document
from remit.search.embeddings.token_sequences import (
    MARK,
    TokenSequence,
    data_file,
    query_ids,
    read_tensors,
    tool_ids,
    vocabulary,
)
from remit.search.ports import Vector
from remit.search.ranking import Fusion
from remit.text.wordpiece import WordPiece

if TYPE_CHECKING:
    from remit.search.embeddings.numpy_sums import NumpySums

FIRST_WORD = 999  # lower ids are special or unused and have no row


class EmbeddingTable(NamedTuple):
    """8-bit vectors with 16-bit weights for queries and tools, as raw bytes."""

    width: int
    rows: memoryview
    query_scales: memoryview
    tool_scales: memoryview
    fields: tuple[float, ...]  # the weight of an id in each field of a tool
    name: float  # the weight of the name's vector, relative to the whole tool


class StaticEmbedder:
    """Embeds tools and queries with the bundled table."""

    model = "static-1"
    fusion = Fusion(word_weight=0.02, part_weight=0.35)

    def __init__(self) -> None:
        self._pieces = WordPiece(vocabulary())
        self._table = read_table(data_file("static.safetensors"))
        self._arrays: NumpySums | None = None

    def embed_query(self, text: str) -> Vector:
        """Embed a query."""
        ids = query_ids(text, self._pieces)
        ids += [i for _, i in self._pieces.pairs(ids)]
        return self._arrays.query(ids) if self._arrays else sum_query(self._table, ids)

    def embed_tools(self, documents: Sequence[Document]) -> list[Vector]:
        """Embed tools; an empty list only loads numpy, which speeds up later queries."""
        from remit.search.embeddings.numpy_sums import NumpySums

        self._arrays = self._arrays or NumpySums(self._table)
        return self._arrays.tools([self._read(document) for document in documents])

    def close(self) -> None:
        """Do nothing: no request is ever under way."""

    def _read(self, document: Document) -> TokenSequence:
        ids, fields = tool_ids(document, self._pieces)
        pairs = self._pieces.pairs(ids)
        return TokenSequence([*ids, *(i for _, i in pairs)], [*fields, *(fields[at] for at, _ in pairs)])


def read_table(path: str) -> EmbeddingTable:
    """Read a table."""
    tensors = read_tensors(path)
    return EmbeddingTable(
        width=tensors["rows"].shape[1],
        rows=tensors["rows"].content,
        query_scales=tensors["query_scales"].content,
        tool_scales=tensors["tool_scales"].content,
        fields=struct.unpack(f"<{MARK}f", tensors["fields"].content),
        name=struct.unpack("<f", tensors["name"].content)[0],
    )


def sum_query(table: EmbeddingTable, ids: Sequence[int]) -> Vector:
    """Embed a query without numpy."""
    width, rows = table.width, table.rows.cast("b")
    total = [0.0] * width
    for at in (i - FIRST_WORD for i in ids if i >= FIRST_WORD):
        (scale,) = struct.unpack_from("<e", table.query_scales, 2 * at)
        total = [a + scale * b for a, b in zip(total, rows[at * width : at * width + width], strict=True)]
    length = math.sqrt(sum(a * a for a in total))
    unit = [a / length for a in total] if length else fallback_vector(width, 1)
    return struct.pack(f"<{width}f", *unit)


def fallback_vector(width: int, run: int) -> list[float]:
    """Return a vector for a text without known words.

    The vectors for queries (`run` 1) and tools (`run` 2) are orthogonal, so empty texts are not similar.
    """
    signs = chain.from_iterable([1.0] * run + [-1.0] * run for _ in range(width // (2 * run)))
    return [sign / math.sqrt(width) for sign in signs]
