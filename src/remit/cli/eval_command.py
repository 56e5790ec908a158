"""`remit eval`: measures search on a folder of tools and queries, per embedding provider."""

import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import click

from remit.cli import render
from remit.cli.options import JSON
from remit.errors import EmbeddingError
from remit.search.engine import PROVIDERS, open_engine, providers
from remit.search.evaluation import (
    EvaluationSet,
    RankingMetrics,
    mean,
    measure,
    percentile,
    read_evaluation_folder,
)
from remit.search.tool_filter import ToolCollection
from remit.settings import MAX_LIMIT

_MEASURES = ("recall@1", "recall@5", "recall@10", "ndcg@10", "mrr")
_TIMES = ("p50_ms", "p95_ms")


@click.command("eval")
@click.argument("folder", metavar="DIR")
@click.option(
    "--provider",
    "wanted",
    type=click.Choice(PROVIDERS),
    multiple=True,
    help="The embedding provider to measure; may be repeated. Default: all that are installed.",
)
@JSON
def evaluate(*, folder: str, wanted: tuple[str, ...], as_json: bool) -> None:
    """Measure how good and how fast search is.

    DIR holds `tools.jsonl` (`id`, `name`, `description`, `server`, `parameters`) and `queries.jsonl` (`id`,
    `text`, `relevant`: ids of tools). `words` is the search without a model.
    """
    trial = read_evaluation_folder(folder)
    if trial.left_out:
        render.note(f"warning: queries skipped because their relevant tools are missing: {trial.left_out:,}")
    outcomes = {name: run(trial, opened, name) for name, opened in _opened(trial, wanted)}
    if as_json:
        figures = {name: outcome.named() for name, outcome in outcomes.items()}
        render.data({"tools": len(trial.tools), "queries": len(trial.questions), "providers": figures})
    else:
        _show(trial, outcomes)


class SearchFigures(NamedTuple):
    """Quality and speed of search over many queries."""

    measures: RankingMetrics
    p50_ms: float
    p95_ms: float

    def named(self) -> dict[str, float]:
        """Return the figures by name."""
        fractions = zip(_MEASURES, self.measures, strict=True)
        return {name: round(value, 4) for name, value in fractions} | {
            name: round(value, 3) for name, value in zip(_TIMES, self[1:], strict=True)
        }


def run(trial: EvaluationSet, collection: ToolCollection, name: str) -> SearchFigures:
    """Run each query as `remit search` does, and measure quality and latency.

    Raises:
        EmbeddingError: a query could not be turned into a vector.
    """
    searcher = collection.searcher()
    searcher.search(trial.questions[0].text)  # warm up
    measures: list[RankingMetrics] = []
    times: list[float] = []
    with _progress(name, len(trial.questions)) as advance:
        for question in trial.questions:
            start = time.perf_counter()
            found = searcher.search(question.text, limit=MAX_LIMIT, min_score=0)
            times.append(1000 * (time.perf_counter() - start))
            if found.note is not None:
                raise EmbeddingError(found.note)  # the figures would be of words alone
            places = [item.tool.document_id or 0 for item in found.results]
            measures.append(measure(places, question.relevant))
            advance(len(times))
    return SearchFigures(mean(measures), percentile(times, 0.5), percentile(times, 0.95))


def _opened(trial: EvaluationSet, wanted: Sequence[str]) -> Iterator[tuple[str, ToolCollection]]:
    """Open the requested providers, or all that are available."""
    for name in dict.fromkeys(wanted or providers()):
        try:
            collection = ToolCollection(trial.tools, open_engine(name))
        except EmbeddingError as failure:
            if wanted:
                raise
            render.note(f"not measured: {name}: {failure}")
        else:
            yield name, collection


def _show(trial: EvaluationSet, outcomes: Mapping[str, SearchFigures]) -> None:
    render.out(f"{len(trial.tools):,} tools, {len(trial.questions):,} queries")
    render.out()
    columns = ("provider", *_MEASURES, *_TIMES)
    rows = [(name, *_cells(outcome)) for name, outcome in outcomes.items()]
    render.table("", columns, rows, numbers=columns[1:])


def _cells(outcome: SearchFigures) -> Iterator[str]:
    for value in outcome.measures:
        yield f"{100 * value:.1f} %"
    for value in outcome[1:]:
        yield f"{value:.2f}"


@contextmanager
def _progress(name: str, total: int) -> Generator[Callable[[int], None]]:
    """Show progress on a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    with render.bar(f"measuring {name}") as advance:
        yield lambda done: advance(done, total, "")
