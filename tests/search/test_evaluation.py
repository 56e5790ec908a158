"""How rankings are measured."""

import json
import math
import os
from pathlib import Path

import pytest

from remit.errors import BadFileError, NoSuchDirectoryError, NoSuchFileError
from remit.search.documents import Document
from remit.search.evaluation import (
    EvaluationQuery,
    RankingMetrics,
    mean,
    measure,
    parse_parameters,
    percentile,
    read_evaluation_folder,
)
from remit.search.given_tools import GivenTool

READ = {"id": "r", "name": "readFile", "description": "Read a\nfile", "server": "files"}
MAIL = {"id": "m", "name": "send"}
ASK = {"id": "q1", "text": "show me the file", "relevant": ["r"]}


def test_one_answer_that_comes_first_is_perfect() -> None:
    assert measure([4, 1, 2], {4}) == RankingMetrics(1, 1, 1, 1, 1)


def test_nothing_that_answers_is_nothing() -> None:
    assert measure([1, 2, 3], {4}) == RankingMetrics(0, 0, 0, 0, 0)
    assert measure([], {4}) == RankingMetrics(0, 0, 0, 0, 0)


def test_recall_is_a_share_of_each_querys_answers() -> None:
    found = measure([9, 1, 8, 2, 7, 3, 6], {1, 2, 3, 4})
    assert (found.recall_at_1, found.recall_at_5, found.recall_at_10) == (0, 0.5, 0.75)
    assert found.mrr == 1 / 2


def test_an_answer_counts_less_the_lower_it_stands() -> None:
    ideal = 1 + 1 / math.log2(3)
    assert measure([1, 9, 2], {1, 2}).ndcg_at_10 == pytest.approx((1 + 1 / math.log2(4)) / ideal)
    assert measure([1, 2, 9], {1, 2}).ndcg_at_10 == 1


def test_what_stands_below_the_tenth_place_counts_for_the_first_answer_alone() -> None:
    found = measure([*range(100, 111), 1], {1})
    assert found == RankingMetrics(0, 0, 0, 0, 1 / 12)


def test_more_than_ten_answers_can_still_be_ranked_perfectly() -> None:
    assert measure(list(range(10)), set(range(20))).ndcg_at_10 == 1


def test_every_query_counts_the_same() -> None:
    assert mean([RankingMetrics(1, 1, 1, 1, 1), RankingMetrics(0, 0, 0.5, 0.5, 0.25)]) == RankingMetrics(
        0.5, 0.5, 0.75, 0.75, 0.625
    )


def test_a_percentile_is_one_of_the_samples() -> None:
    samples = [5.0, 1.0, 4.0, 2.0, 3.0]
    assert [percentile(samples, share) for share in (0, 0.5, 0.95, 1)] == [1, 3, 5, 5]


def write(folder: Path, tools: object, queries: object) -> str:
    for name, content in (("tools.jsonl", tools), ("queries.jsonl", queries)):
        if isinstance(content, list):
            content = "\n".join(map(json.dumps, content)).encode()  # pyright: ignore[reportUnknownArgumentType]
        assert isinstance(content, bytes)
        (folder / name).write_bytes(content)
    return str(folder)


def test_tools_and_queries_are_read(tmp_path: Path) -> None:
    trial = read_evaluation_folder(
        write(tmp_path, [READ, MAIL], [ASK, {"id": "q2", "text": "mail it", "relevant": ["m", "r"]}])
    )
    assert trial.tools[0] == GivenTool("readFile", "files", Document("read File", "files", "Read a file"))
    assert trial.tools[1] == GivenTool("send", None, Document("send"))
    assert trial.questions == [
        EvaluationQuery("show me the file", frozenset({0})),
        EvaluationQuery("mail it", frozenset({0, 1})),
    ]


def test_queries_that_no_tool_answers_are_left_out_and_counted(tmp_path: Path) -> None:
    others: list[object] = [{"text": "x", "relevant": ["gone"]}, {"text": "y", "relevant": []}]
    trial = read_evaluation_folder(
        write(tmp_path, [READ], [ASK, *others, {"text": "z", "relevant": ["gone", "r", 7]}])
    )
    assert [question.text for question in trial.questions] == ["show me the file", "z"]
    assert trial.left_out == 2


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"type": "object", "properties": {"path": {}, "mode": {}}}, ["path", "mode"]),
        ({"path": {"type": "string"}, "mode": {"type": "string"}, "note": "no parameter"}, ["path", "mode"]),
        ({"required": [{"name": "path"}], "optional": [{"name": "mode"}]}, ["path", "mode"]),
        ({"required": [{"name": "path"}], "optional": None}, ["path"]),
        ({"required": [{"name": "path"}], "optional": 5}, ["path"]),
        ([{"name": "path"}, {"name": "mode"}, "odd", {}], ["path", "mode"]),
        (None, []),
        ("path", []),
    ],
)
def test_parameters_are_named_in_whichever_form(given: object, names: list[str]) -> None:
    assert list(parse_parameters(given)) == names


@pytest.mark.parametrize(
    ("tools", "queries", "message"),
    [
        (b'{"id": "r", "name": "x"}\n{oops', [ASK], "tools.jsonl, line 2: it is not JSON"),
        (b"\n\n[1]", [ASK], "tools.jsonl, line 3: it is not an object"),
        (b'{"id": "\xff"}', [ASK], "tools.jsonl, line 1: it is not text in UTF-8"),
        (b"[" * 100_000, [ASK], "tools.jsonl, line 1: it is not JSON"),
        ([{"name": "x"}], [ASK], "tools.jsonl, line 1: `id` is missing"),
        ([{"id": 7, "name": "x"}], [ASK], "tools.jsonl, line 1: `id` is empty, or not text"),
        ([{"id": "r", "name": " "}], [ASK], "tools.jsonl, line 1: `name` is empty, or not text"),
        ([{**READ, "description": 7}], [ASK], "tools.jsonl, line 1: `description` is empty, or not text"),
        ([READ, READ], [ASK], "tools.jsonl, line 2: another tool before it has the id `r`"),
        (b"", [ASK], "tools.jsonl has no tools"),
        ([READ], [{"text": "x"}], "queries.jsonl, line 1: `relevant` is not a list of ids of tools"),
        ([READ], [{"relevant": ["r"]}], "queries.jsonl, line 1: `text` is missing"),
        ([READ], [], "queries.jsonl has no query with a relevant tool that is in tools.jsonl"),
    ],
)
def test_what_is_wrong_is_told_by_file_line_and_cause(
    tmp_path: Path, tools: object, queries: object, message: str
) -> None:
    with pytest.raises(BadFileError) as raised:
        read_evaluation_folder(write(tmp_path, tools, queries))
    assert message in str(raised.value)


def test_a_missing_folder_and_a_missing_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(NoSuchDirectoryError, match="nowhere is not a folder"):
        read_evaluation_folder(str(tmp_path / "nowhere"))
    with pytest.raises(NoSuchFileError, match=r"tools\.jsonl does not exist"):
        read_evaluation_folder(str(tmp_path))
    (tmp_path / "tools.jsonl").mkdir()
    with pytest.raises(BadFileError, match=r"tools\.jsonl is not a file"):
        read_evaluation_folder(str(tmp_path))


def test_what_is_said_of_a_parameter_is_read() -> None:
    given = {"type": "object", "properties": {"path": {"description": "Where it lies"}, "mode": {}}}
    assert parse_parameters(given) == {"path": "Where it lies", "mode": ""}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "tools.jsonl")
    with pytest.raises(BadFileError, match="is not a file"):
        read_evaluation_folder(str(tmp_path))
