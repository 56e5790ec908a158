"""Reads an evaluation folder, and measures how well a search ranks the relevant tools of its queries."""

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard, cast

from remit.errors import BadFileError, NoSuchDirectoryError, NoSuchFileError
from remit.search.documents import build_document, params_from_schema
from remit.search.given_tools import GivenTool
from remit.text.json_values import as_list

DEPTH = 10
TOOLS, QUERIES = "tools.jsonl", "queries.jsonl"

Fields = Mapping[str, Any]


class EvaluationQuery(NamedTuple):
    """A query and the positions of its relevant tools."""

    text: str
    relevant: frozenset[int]


class EvaluationSet(NamedTuple):
    """Tools, and queries with known relevant tools."""

    tools: Sequence[GivenTool]
    questions: Sequence[EvaluationQuery]
    left_out: int = 0  # queries without a relevant tool


class RankingMetrics(NamedTuple):
    """The quality of a ranking, each metric between 0 and 1."""

    recall_at_1: float  # share of the relevant tools in first place
    recall_at_5: float
    recall_at_10: float
    ndcg_at_10: float  # 1 if no irrelevant tool ranks above a relevant one
    mrr: float  # reciprocal rank of the first relevant tool


def measure(found: Sequence[int], relevant: Collection[int]) -> RankingMetrics:
    """Compare a ranking, best first, with the relevant tools."""
    ranks = [rank for rank, place in enumerate(found, start=1) if place in relevant]
    ideal = sum(_gain(rank) for rank in range(1, min(len(relevant), DEPTH) + 1))
    return RankingMetrics(
        recall_at_1=_within(1, ranks) / len(relevant),
        recall_at_5=_within(5, ranks) / len(relevant),
        recall_at_10=_within(DEPTH, ranks) / len(relevant),
        ndcg_at_10=sum(_gain(rank) for rank in ranks if rank <= DEPTH) / ideal,
        mrr=1 / ranks[0] if ranks else 0.0,
    )


def mean(measures: Sequence[RankingMetrics]) -> RankingMetrics:
    """Average the metrics over all queries."""
    return RankingMetrics(*(math.fsum(column) / len(measures) for column in zip(*measures, strict=True)))


def percentile(samples: Sequence[float], share: float) -> float:
    """Return the value that this share of the samples does not exceed."""
    return sorted(samples)[max(math.ceil(share * len(samples)) - 1, 0)]


def _within(depth: int, ranks: Sequence[int]) -> int:
    return sum(rank <= depth for rank in ranks)


def _gain(rank: int) -> float:
    return 1 / math.log2(rank + 1)


class _Line(NamedTuple):
    """One line of a file, with its number."""

    file: Path
    number: int
    fields: Fields

    def text(self, field: str, *, required: bool = False) -> str:
        """Read a text field; empty if missing and not required."""
        value = self.fields.get(field)
        if value is None and not required:
            return ""
        if not isinstance(value, str) or (required and not value.strip()):
            raise self.error(f"`{field}` is {'missing' if value is None else 'empty, or not text'}")
        return value

    def error(self, cause: str) -> BadFileError:
        """Build an error that names this line."""
        return BadFileError(f"{self.file}, line {self.number}: {cause}")


def read_evaluation_folder(folder: str) -> EvaluationSet:
    """Read tools and queries, ignoring relevant ids that match no tool.

    Raises:
        BadFileError: a file cannot be read, or a line is invalid.
        NoSuchDirectoryError: the folder does not exist.
        NoSuchFileError: one of the two files is missing.
    """
    place = Path(folder)
    if not place.is_dir():
        raise NoSuchDirectoryError(f"{folder} is not a folder", hint=f"name one with {TOOLS} and {QUERIES}")
    tools: dict[str, GivenTool] = {}
    for line in _lines(place / TOOLS):
        name = line.text("id", required=True)
        if name in tools:
            raise line.error(f"another tool before it has the id `{name}`")
        tools[name] = _tool(line)
    if not tools:
        raise BadFileError(f"{place / TOOLS} has no tools")
    places = {name: at for at, name in enumerate(tools)}
    questions = [_question(line, places) for line in _lines(place / QUERIES)]
    answered = [question for question in questions if question.relevant]
    if not answered:
        raise BadFileError(f"{place / QUERIES} has no query with a relevant tool that is in {TOOLS}")
    return EvaluationSet(list(tools.values()), answered, len(questions) - len(answered))


def parse_parameters(given: object) -> dict[str, str]:
    """Return the parameters of a tool with their descriptions.

    Accepts a JSON schema, a mapping by name, or a list of named parameters.
    """
    if _is_mapping(given):
        if _is_mapping(given.get("properties")) and "type" in given:
            return params_from_schema(given)
        if not isinstance(given.get("required"), list):
            return {name: _about(entry) for name, entry in given.items() if _is_mapping(entry)}
        given = [*as_list(given.get("required")), *as_list(given.get("optional"))]
    entries = as_list(given)
    return {str(entry["name"]): _about(entry) for entry in entries if _is_mapping(entry) and "name" in entry}


def _about(entry: object) -> str:
    text = entry.get("description") if _is_mapping(entry) else None
    return text if isinstance(text, str) else ""


def _tool(line: _Line) -> GivenTool:
    name, server = line.text("name", required=True), line.text("server_name") or line.text("server")
    read = build_document(
        name, server, line.text("description"), parse_parameters(line.fields.get("parameters"))
    )
    return GivenTool(name, server or None, read)


def _question(line: _Line, places: Mapping[str, int]) -> EvaluationQuery:
    relevant = line.fields.get("relevant")
    if not isinstance(relevant, list):
        raise line.error("`relevant` is not a list of ids of tools")
    found = (places.get(name) for name in cast("list[object]", relevant) if isinstance(name, str))
    return EvaluationQuery(line.text("text", required=True), frozenset(at for at in found if at is not None))


def _lines(file: Path) -> Iterator[_Line]:
    if file.exists() and not file.is_file():
        raise BadFileError(f"{file} is not a file")
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        raise NoSuchFileError(f"{file} does not exist", hint=f"a folder has {TOOLS} and {QUERIES}") from None
    except OSError as error:
        raise BadFileError(f"{file} cannot be read: {error.strerror}") from None
    for number, row in enumerate(content.split(b"\n"), start=1):
        if row.strip():
            yield _Line(file, number, _fields(file, number, row))


def _fields(file: Path, number: int, row: bytes) -> Fields:
    line = _Line(file, number, {})
    try:
        fields = json.loads(row)
    except UnicodeDecodeError:
        raise line.error("it is not text in UTF-8") from None
    except (ValueError, RecursionError):
        raise line.error("it is not JSON") from None
    if not _is_mapping(fields):
        raise line.error("it is not an object")
    return fields


def _is_mapping(value: object) -> TypeGuard[Fields]:
    return isinstance(value, dict)
