"""Texts for a memory to measure."""

import random
from itertools import accumulate

from remit.search.embeddings.token_sequences import vocabulary


class Words:
    """Texts of real words, some of which are much more frequent than others."""

    def __init__(self) -> None:
        self._chance = random.Random(20261115)  # noqa: S311 - the same texts each time
        known = [word for word in vocabulary() if word.isalpha() and len(word) > 2]
        self._words, self._unused = known[:20_000], known[20_000:]
        self._weights = list(accumulate(1 / (rank + 10) for rank in range(len(self._words))))

    def text(self, count: int) -> str:
        return " ".join(self._chance.choices(self._words, cum_weights=self._weights, k=count))

    def unused(self, count: int) -> str:
        """Words that stand in no text."""
        return " ".join(self._chance.choices(self._unused, k=count))
