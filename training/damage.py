"""Damages token sequences at random, so that models learn from more texts than there are."""

import torch
from torch import Tensor

from text import FIRST_WORD

QUERY_SWAPS = (0.0, 0.2, 0.4, 0.6)
QUERY_LOSSES = (0.0, 0.3, 0.5)
TOOL_SWAPS = (0.0, 0.2, 0.4)
PAIRS = 0.15  # of the swaps


class Damage:
    """Swaps and drops tokens, with one source of chance."""

    def __init__(self, words: Tensor, pairs: Tensor, seed: int) -> None:
        self._words, self._pairs = words, pairs
        self._chance = torch.Generator(device=words.device)
        self._chance.manual_seed(seed)

    def query(self, ids: Tensor) -> Tensor:
        """Queries with words swapped for random ones, and some tokens gone."""
        return self.drop(
            self.swap(ids, self._rates(QUERY_SWAPS, len(ids))), self._rates(QUERY_LOSSES, len(ids))
        )

    def tool(self, ids: Tensor) -> Tensor:
        """Tools with words swapped for random ones; every token keeps its place and field."""
        return self.swap(ids, self._rates(TOOL_SWAPS, len(ids)))

    def swap(self, ids: Tensor, rates: Tensor) -> Tensor:
        """Each row with its rate of tokens replaced by whole words of the vocabulary, or by its pairs."""
        hit = (self._random(ids.shape) < rates) & (ids >= FIRST_WORD)
        ids = torch.where(hit, self._words[self._picks(len(self._words), ids)], ids)
        if not len(self._pairs):
            return ids
        both = self._pairs[self._picks(len(self._pairs), ids)]
        hit[:, :-1] &= (self._random(ids.shape)[:, :-1] < PAIRS) & (ids[:, 1:] >= FIRST_WORD)
        hit[:, -1] = False
        ids = torch.where(hit, both[..., 0], ids)
        return torch.where(hit.roll(1, 1), both[..., 1].roll(1, 1), ids)

    def _picks(self, count: int, ids: Tensor) -> Tensor:
        return torch.randint(count, ids.shape, generator=self._chance, device=ids.device)

    def drop(self, ids: Tensor, rates: Tensor) -> Tensor:
        """Each row with its rate of tokens taken out, and closed up."""
        lost = (self._random(ids.shape) < rates) & (ids >= FIRST_WORD)
        kept = (ids > 0) & ~lost
        order = torch.sort((~kept).to(torch.uint8), dim=1, stable=True).indices
        return torch.gather(ids * kept, 1, order)

    def lose(self, ids: Tensor, rate: float) -> Tensor:
        """Rows with the same rate of tokens taken out."""
        return self.drop(ids, torch.full((len(ids), 1), rate, device=ids.device))

    def rows(self, count: int, size: int) -> Tensor:
        """Some row numbers below a count."""
        return torch.randint(count, (size,), generator=self._chance, device=self._words.device)

    def _rates(self, choices: tuple[float, ...], rows: int) -> Tensor:
        picks = torch.randint(len(choices), (rows, 1), generator=self._chance, device=self._words.device)
        return torch.tensor(choices, device=self._words.device)[picks]

    def _random(self, shape: torch.Size) -> Tensor:
        return torch.rand(shape, generator=self._chance, device=self._words.device)
