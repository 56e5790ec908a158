"""Adds texts to the word index in PostgreSQL, and writes the parameters of its queries.

PostgreSQL's own ranking counts how often words occur, but not how rare they are. So Remit keeps the terms
that FTS5 would find, with their weights, and its queries compute the same BM25.
"""

import json
import math
import time
from collections.abc import Callable, Iterable, Mapping

from remit.search.word_tokenizer import TextTerms
from remit.store.database import Database

_BATCH = 200  # texts, in one statement


def add_missing(
    database: Database,
    missing: str,
    add: str,
    terms: Callable[[tuple[str, ...]], TextTerms],
    *,
    seconds: float | None = None,
) -> None:
    """Add the texts that a query returns, in batches; what another process adds meanwhile is skipped.

    With `seconds`, no batch but the first is started later than that.
    """
    deadline = math.inf if seconds is None else time.monotonic() + seconds
    while True:
        with database.transaction():
            found = database.rows(missing, most=_BATCH)
            if found:
                database.run(add, **_postings({id: terms(tuple(texts)) for id, *texts in found}))
        if len(found) < _BATCH or time.monotonic() >= deadline:
            return


def _postings(found: Mapping[int, TextTerms]) -> dict[str, str]:
    """Write texts, the number of their terms, and all terms as the parameters of one statement."""
    rows = [(id, term, weight) for id, each in found.items() for term, weight in each.weights.items()]
    return {
        "texts": as_array(found),
        "sizes": as_array(each.size for each in found.values()),
        "owners": as_array(id for id, _, _ in rows),
        "terms": as_json(term for _, term, _ in rows),
        "weights": as_array(weight for _, _, weight in rows),
    }


def weighted(weights: Mapping[str, float]) -> dict[str, str]:
    """Write terms and their weights as parameters."""
    return {"terms": as_json(weights), "weights": as_json(weights.values())}


def as_json(values: Iterable[object]) -> str:
    """Write a list as JSON."""
    return json.dumps(list(values))


def as_array(numbers: Iterable[float]) -> str:
    """Write numbers as an array, which PostgreSQL reads faster than JSON."""
    return f"{{{','.join(map(str, numbers))}}}"
