"""The vectors of tools by the content of their documents: a slow model reads each text once."""

import json
from collections.abc import Iterable, Mapping
from itertools import islice

from remit.store.database import Database


class DocumentStore:
    """Stores vectors of 32-bit floats; those of different models are never compared."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def vectors(self, model: str, digests: Iterable[str]) -> dict[str, bytes]:
        """Return the stored vectors of documents, by digest."""
        return dict(self._database.rows("vectors", model=model, digests=json.dumps(list(digests))))

    def keep(self, model: str, vectors: Mapping[str, bytes]) -> None:
        """Store vectors by digest, and forget those of the model that have another length."""
        with self._database.transaction():
            for vector in islice(vectors.values(), 1):
                self._database.rows("forget_other_lengths", model=model, length=len(vector))
            values = [{"model": model, "digest": digest, "vector": item} for digest, item in vectors.items()]
            self._database.run_each("keep_vector", values)
