"""Damages token sequences at random, so that models learn from more texts than there are."""

import torch
from torch import Tensor

from text import FIRST_WORD

QUERY_SWAPS = (0.0, 0.2, 0.4, 0.6)
QUERY_LOSSES = (0.0, 0.3, 0.5)
TOOL_SWAPS = (0.0, 0.2, 0.4)


class Damage:
    """Swaps and drops tokens, with one source of chance."""

    def __init__(self, words: Tensor, seed: int) -> None:
        self._words = words
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
        """Each row with its rate of tokens replaced by whole words of the vocabulary."""
        hit = (self._random(ids.shape) < rates) & (ids >= FIRST_WORD)
        picks = torch.randint(len(self._words), ids.shape, generator=self._chance, device=ids.device)
        return torch.where(hit, self._words[picks], ids)

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
