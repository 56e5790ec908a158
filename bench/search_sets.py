"""The tools and queries that search is measured on: the sets to choose on, and what real servers list."""

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from remit.search import evaluation
from remit.search.documents import build_document
from remit.search.evaluation import EvaluationQuery, EvaluationSet
from remit.search.given_tools import GivenTool
from remit.text.words import split

QUOTED = "real tools by a quoted sentence"
MOST_QUERIES = 250  # of a set; every n-th of more

Item = TypeVar("Item")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n")
_FEWEST_WORDS = 4


class Set(NamedTuple):
    """A trial with its name, and its tools as their sources write them."""

    name: str
    trial: EvaluationSet
    texts: Sequence[dict[str, Any]]


def dev_sets(data: Path) -> Iterator[Set]:
    """The sets that weights were chosen on."""
    for place in sorted((data / "tool-retrieval" / "dev").iterdir()):
        trial = evaluation.read_evaluation_folder(str(place))
        rows = [json.loads(line) for line in (place / evaluation.TOOLS).read_text("utf-8").splitlines()]
        texts = [_text(row["name"], row.get("description"), row.get("parameters")) for row in rows]
        yield Set(place.name, trial._replace(questions=thinned(trial.questions)), texts)


def real_tools(data: Path) -> tuple[list[GivenTool], list[dict[str, Any]]]:
    """What real servers list, as search reads it and as they write it."""
    tools: list[GivenTool] = []
    texts: list[dict[str, Any]] = []
    for file in sorted((data / "real-mcp-tools").glob("*.json")):
        for row in json.loads(file.read_text("utf-8"))["tools"]:
            schema: dict[str, Any] = row.get("inputSchema") or {}
            params = evaluation.parse_parameters({"type": "object", **schema})
            read = build_document(row["name"], file.stem, row.get("description"), params, row.get("title"))
            tools.append(GivenTool(row["name"], file.stem, read))
            texts.append(_text(row["name"], row.get("description"), schema))
    return tools, texts


def real_sets(data: Path) -> list[Set]:
    """Real tools, by their names, their first sentences without those words, and quotations."""
    tools, texts = real_tools(data)
    alike: defaultdict[object, set[int]] = defaultdict(set)
    for at, tool in enumerate(tools):
        alike[tool.name].add(at)
        alike[tool.document.description, "description"].add(at)
    names = [EvaluationQuery(tool.name, frozenset(alike[tool.name])) for tool in tools]
    sentences = [
        EvaluationQuery(said, frozenset(alike[tool.document.description, "description"]))
        for tool in tools
        if len((said := _without_name(tool)).split()) >= _FEWEST_WORDS
    ]
    return [
        Set("real tools by name", EvaluationSet(tools, thinned(names)), texts),
        Set("real tools by description", EvaluationSet(tools, thinned(sentences)), texts),
        Set(QUOTED, EvaluationSet(tools, thinned(list(_quotations(texts)))), texts),
    ]


def _quotations(texts: Sequence[dict[str, Any]]) -> Iterator[EvaluationQuery]:
    """Quote a sentence of each description, whichever; all tools that contain it are right."""
    lots = random.Random(7)  # noqa: S311 - the same sentences each time
    descriptions = [text["description"] for text in texts]
    for description in descriptions:
        said = [one.strip() for one in _SENTENCE_END.split(description) if len(one.split()) >= _FEWEST_WORDS]
        if said:
            quoted = lots.choice(said)
            yield EvaluationQuery(
                quoted, frozenset(at for at, text in enumerate(descriptions) if quoted in text)
            )


def thinned(items: Sequence[Item], most: int = MOST_QUERIES) -> list[Item]:
    """Every n-th, so that no more than this are left."""
    return list(items[:: -(-len(items) // most)]) if items else []


def _without_name(tool: GivenTool) -> str:
    first = _SENTENCE_END.split(tool.document.description, maxsplit=1)[0]
    words = {word.lower() for word in split(tool.name).split()}
    return " ".join(word for word in first.split() if split(word).lower() not in words)


def _text(name: str, description: str | None, given: object) -> dict[str, Any]:
    schema = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    if "properties" not in schema:
        names = evaluation.parse_parameters(cast("object", given))
        schema = {"type": "object", "properties": {param: {"type": "string"} for param in names}}
    return {"name": name, "description": description or "", "parameters": schema}
