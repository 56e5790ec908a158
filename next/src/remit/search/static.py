"""The bundled model, a weighted sum of one vector per word, and how the bundled models read texts.

The weights are in the safetensors format, memory-mapped.
"""

import json
import mmap
import os
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from remit.search.documents import Document, both_ends
from remit.search.models import Vector
from remit.search.ranking import Fusion
from remit.search.wordpiece import WordPiece

START, END = 101, 102
OPEN, CLOSE, COMMA, COLON, BAR = 1006, 1007, 1010, 1024, 1064
FIRST_WORD = 999  # lower ids are special or unused and have no row

NAME, SERVER, FIRST, REST, PARAMS, MARK = range(6)  # fields of ids; MARK: brackets, commas, ends

QUERY_LENGTH, TOOL_LENGTH = 64, 128  # ids, including start and end
_MOST_QUERY = 4000  # characters; each half has more ids than are used
_MOST_SERVER, _MOST_DESCRIPTION, _MOST_PARAMS = 60, 1200, 20  # more than the ids that are used
_LIMITS = (20, 10, 56, TOOL_LENGTH, 32)  # ids per field; the rest of a description fills the remaining space
_SENTENCE_END = re.compile(r"(?<=[.!?]) ")
_BATCH = 1024  # tools
_LEAST = np.float32(1e-12)  # avoids division by zero
_DATA = os.path.join(os.path.dirname(__file__), "data")

Floats = NDArray[np.float32]


class TokenSequence(NamedTuple):
    """The ids of a tool and their fields."""

    ids: list[int]
    fields: list[int]


class StaticEmbedder:
    """Embeds tools and queries with the bundled table of 8-bit vectors."""

    model = "static-1"
    fusion = Fusion(word_weight=0.02, part_weight=0.35)
    is_slow = False

    def __init__(self) -> None:
        self._pieces = WordPiece(vocabulary())
        table = read_tensors(data_file("static.safetensors"))
        self._rows = np.frombuffer(table["rows"].content, np.int8).reshape(table["rows"].shape)
        # Ids without a row use the first row with scale zero.
        self._query_scales, self._tool_scales = (
            np.concatenate([np.zeros(FIRST_WORD), np.frombuffer(table[name].content, "<f2")]).astype(
                np.float32
            )
            for name in ("query_scales", "tool_scales")
        )
        whole = [*np.frombuffer(table["fields"].content, "<f4"), 0.0]  # marks have weight zero
        self._fields = np.array([whole, [float(field == NAME) for field in range(MARK + 1)]], np.float32)
        self._name = np.frombuffer(table["name"].content, "<f4")[0]  # weight of the name's own vector
        self._no_query, self._no_tool = (_fallback(self._rows.shape[1], run) for run in (1, 2))

    def embed_query(self, text: str) -> Vector:
        """Embed a query."""
        ids = query_ids(text, self._pieces)
        ids += [id for _, id in self._pieces.pairs(ids)]
        at = np.array(ids, np.intp)
        total = np.einsum("i,ij->j", self._query_scales[at], self._at(at))  # on one thread, unlike `@`
        return _vectors(total, self._no_query)[0]

    def embed_tools(self, documents: Sequence[Document]) -> list[Vector]:
        """Embed tools, giving extra weight to their names."""
        starts = range(0, len(documents), _BATCH)
        return [vector for start in starts for vector in self._batch(documents[start : start + _BATCH])]

    def _batch(self, documents: Sequence[Document]) -> list[Vector]:
        sums = np.empty((len(documents), 2, self._rows.shape[1]), np.float32)
        for both, document in zip(sums, documents, strict=True):
            ids, fields = tool_ids(document, self._pieces)
            pairs = self._pieces.pairs(ids)
            at = np.array([*ids, *(id for _, id in pairs)], np.intp)
            fields += [fields[place] for place, _ in pairs]
            np.matmul(self._tool_scales[at] * self._fields[:, fields], self._at(at), out=both)
        whole, name = _units(sums[:, 0]), _units(sums[:, 1])
        return _vectors(whole + self._name * name, self._no_tool)

    def _at(self, ids: NDArray[np.intp]) -> Floats:
        return self._rows[np.maximum(ids - FIRST_WORD, 0)].astype(np.float32)


def _fallback(width: int, run: int) -> Floats:
    """Return a vector for a text without known words.

    The vectors for queries (`run` 1) and tools (`run` 2) are orthogonal, so empty texts are not similar.
    """
    signs = np.tile([1.0] * run + [-1.0] * run, width // (2 * run))
    return (signs / np.sqrt(width)).astype("<f4")


def _units(rows: NDArray[np.floating]) -> Floats:
    lengths = np.sqrt((rows * rows).sum(axis=-1, keepdims=True))
    return (rows / np.maximum(lengths, _LEAST)).astype(np.float32, copy=False)


def _vectors(rows: NDArray[np.floating], fallback: Floats) -> list[Vector]:
    units = _units(np.atleast_2d(rows)).astype("<f4", copy=False)
    return [(unit if unit.any() else fallback).tobytes() for unit in units]


def query_ids(text: str, pieces: WordPiece) -> list[int]:
    """Return the ids of a query, without start and end; of a long one, those of its start and its end."""
    ids, half = pieces(both_ends(text, _MOST_QUERY)), QUERY_LENGTH // 2 - 1
    return ids if len(ids) <= 2 * half else [*ids[:half], *ids[-half:]]


def tool_ids(document: Document, pieces: WordPiece) -> TokenSequence:
    """Return the ids of a tool as `[CLS] name ( server ) : first sentence, rest | parameters [SEP]`.

    Omit the brackets and the bar around empty fields.
    """
    name, server, first, rest, params = (
        ids[:limit] for ids, limit in zip(_fields(document, pieces), _LIMITS, strict=True)
    )
    parts: list[tuple[Sequence[int], int]] = [([START], MARK), (name, NAME)]
    if server:
        parts += [([OPEN], MARK), (server, SERVER), ([CLOSE], MARK)]
    parts += [([COLON], MARK), (first, FIRST)]
    tail: list[tuple[Sequence[int], int]] = [([BAR], MARK), (params, PARAMS)] if params else []
    tail.append(([END], MARK))
    room = TOOL_LENGTH - sum(len(ids) for ids, _ in parts + tail)
    ids: list[int] = []
    fields: list[int] = []
    for part, field in (*parts, (rest[:room], REST), *tail):
        ids += part
        # Parameter names contain no commas, so every comma is a mark.
        fields += [MARK if id == COMMA else field for id in part] if field == PARAMS else [field] * len(part)
    return TokenSequence(ids, fields)


def _fields(document: Document, pieces: WordPiece) -> Iterable[Sequence[int]]:
    description = document.description[:_MOST_DESCRIPTION] or document.title
    first = _SENTENCE_END.split(description, maxsplit=1)[0]
    params = [id for param in document.params[:_MOST_PARAMS] for id in (COMMA, *pieces(param))][1:]
    texts = (document.name, document.server[:_MOST_SERVER], first, description[len(first) :])
    return (*map(pieces, texts), params)


class Tensor(NamedTuple):
    """An array in a weights file."""

    shape: tuple[int, ...]
    content: memoryview


def data_file(name: str) -> str:
    """Return the path of a bundled file."""
    return os.path.join(_DATA, name)


def vocabulary() -> list[str]:
    """Read the bundled vocabulary: BERT's entries, then the additional entries of the static table."""
    with open(data_file("vocabulary.txt"), "rb") as file:
        return file.read().decode().removesuffix("\n").split("\n")


def read_tensors(path: str) -> dict[str, Tensor]:
    """Map the arrays of a file by name; the data is loaded on access.

    Raises:
        OSError: the file does not exist.
        ValueError: the file is damaged.
    """
    with open(path, "rb") as file:
        mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    start = 8 + int.from_bytes(mapped[:8], "little")
    header = json.loads(bytes(mapped[8:start]))
    content = mapped[start:]
    header.pop("__metadata__", None)
    if any(entry["data_offsets"][1] > len(content) for entry in header.values()):
        raise ValueError("the file is cut off")
    return {
        name: Tensor(tuple(entry["shape"]), content[slice(*entry["data_offsets"])])
        for name, entry in header.items()
    }
