"""Adds texts to the word index in PostgreSQL, and writes the parameters of its queries.

PostgreSQL's own ranking counts how often words occur, but not how rare they are. So Remit keeps the terms
that FTS5 would find, with their weights, and its queries compute the same BM25.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from remit.search.word_tokenizer import TextTerms
from remit.store.database import Database

_BATCH = 500  # texts


def add_missing(
    database: Database, missing: str, add: str, key: str, terms: Callable[[tuple[str, ...]], TextTerms]
) -> None:
    """Add the texts that a query returns, in batches; what another process adds meanwhile is skipped."""
    while True:
        with database.transaction():
            found = database.rows(missing, most=_BATCH)
            database.run_each(add, [{key: id, **_posting(terms(tuple(texts)))} for id, *texts in found])
        if len(found) < _BATCH:
            return


def _posting(terms: TextTerms) -> dict[str, Any]:
    return {"size": terms.size, **weighted(terms.weights)}


def weighted(weights: Mapping[str, float]) -> dict[str, str]:
    """Write terms and their weights as parameters."""
    return {"terms": as_json(weights), "weights": as_json(weights.values())}


def as_json(values: Iterable[object]) -> str:
    """Write a list as JSON."""
    return json.dumps(list(values))


def as_array(ids: Iterable[int]) -> str:
    """Write ids as an array, which PostgreSQL reads faster than JSON."""
    return f"{{{','.join(map(str, ids))}}}"
