"""Reads the bundled model files, and converts tools and queries to the token sequences that the models read.

The weights are in the safetensors format, memory-mapped.
"""

import json
import mmap
import os
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from remit.search.documents import Document, both_ends
from remit.text.wordpiece import WordPiece

START, END = 101, 102
OPEN, CLOSE, COMMA, COLON, BAR = 1006, 1007, 1010, 1024, 1064

NAME, SERVER, FIRST, REST, PARAMS, MARK = range(6)  # fields of ids; MARK: brackets, commas, ends

QUERY_LENGTH, TOOL_LENGTH = 64, 128  # ids, including start and end
_MOST_QUERY = 4000  # characters; each half has more ids than are used
_LIMITS = (20, 10, 56, TOOL_LENGTH, 32)  # ids per field; the rest of a description fills the remaining space
_SENTENCE_END = re.compile(r"(?<=[.!?]) ")

Part = tuple[Sequence[int], int]
_DATA = os.path.join(os.path.dirname(__file__), "data")


class TokenSequence(NamedTuple):
    """The ids of a tool and their fields."""

    ids: list[int]
    fields: list[int]


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
    parts: list[Part] = [([START], MARK), (name, NAME)]
    if server:
        parts += [([OPEN], MARK), (server, SERVER), ([CLOSE], MARK)]
    parts += [([COLON], MARK), (first, FIRST)]
    tail: list[Part] = [([BAR], MARK), (params, PARAMS)] if params else []
    tail.append(([END], MARK))
    room = TOOL_LENGTH - sum(len(ids) for ids, _ in parts + tail)
    return _joined([*parts, (rest[:room], REST), *tail])


def _fields(document: Document, pieces: WordPiece) -> Iterable[Sequence[int]]:
    description = document.description or document.title
    first = _SENTENCE_END.split(description, maxsplit=1)[0]
    params = [i for param in document.params for i in (COMMA, *pieces(param))][1:]
    texts = (document.name, document.server, first, description[len(first) :])
    return (*map(pieces, texts), params)


def _joined(parts: Iterable[Part]) -> TokenSequence:
    ids: list[int] = []
    fields: list[int] = []
    for part, field in parts:
        ids += part
        # Parameter names contain no commas, so every comma is a mark.
        fields += [MARK if i == COMMA else field for i in part] if field == PARAMS else [field] * len(part)
    return TokenSequence(ids, fields)


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
    if any(
        entry["data_offsets"][1] > len(content) for name, entry in header.items() if name != "__metadata__"
    ):
        raise ValueError("the file is cut off")
    return {
        name: Tensor(tuple(entry["shape"]), content[slice(*entry["data_offsets"])])
        for name, entry in header.items()
        if name != "__metadata__"
    }
