"""The prepared sentences, as rows of ids for the inspection's network."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from inspection_origins import NEVER, REAL, SET

START, END = 101, 102
COLON, BAR = ":", "|"
LONGEST = (12, 16, 20, 50)  # pieces of the tool's name, its purpose, the sentence before, and the sentence
LEAST = -4.0  # linear score of a sentence that is measured


class Rows:
    """What `inspection_examples.py` wrote."""

    def __init__(self, path: Path) -> None:
        torch.set_num_threads(1)
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        with np.load(path) as stored:
            arrays = {name: stored[name] for name in stored.files}
        self.contexts, self.labels, self.scores = (arrays[each] for each in ("contexts", "labels", "scores"))
        self.origins, self.folds, self.kept = (arrays[each] for each in ("origins", "folds", "kept"))
        self.entries = arrays["entries"].tobytes().decode().split("\n")
        self._pieces, self._starts = arrays["pieces"].astype(np.int64), arrays["starts"]
        self._padded = self._pad()

    def _pad(self) -> np.ndarray:
        lengths = np.minimum(np.diff(self._starts), LONGEST[3])
        padded, places = np.zeros((len(lengths), LONGEST[3]), np.int64), np.arange(LONGEST[3])
        inside = places < lengths[:, None]
        padded[inside] = self._pieces[(self._starts[:-1, None] + places)[inside]]
        return padded

    def parts(self, at: np.ndarray) -> list[Tensor]:
        """The ids of the four parts of a context, padded with 0."""
        return [
            torch.tensor(self._padded[self.contexts[at, part], :longest], device=self.device)
            for part, longest in enumerate(LONGEST)
        ]

    def whole(self, parts: Sequence[Tensor]) -> Tensor:
        """A sentence with all that is around it, in one row."""
        tool, purpose, before, said = parts
        colon, bar = (self._mark(said, self.entries.index(each)) for each in (COLON, BAR))
        row = [self._mark(said, START), tool, colon, purpose, bar, before, bar, said, self._mark(said, END)]
        return _joined(row)

    def read(self, parts: Sequence[Tensor]) -> tuple[Tensor, list[Tensor]]:
        """What the student reads: the sentence with the tool's name, and beside it what is around."""
        tool, purpose, before, said = parts
        colon = self._mark(said, self.entries.index(COLON))
        return _joined([self._mark(said, START), tool, colon, said, self._mark(said, END)]), [purpose, before]

    def measured(self) -> np.ndarray:
        """The sentences of sets and real servers that the linear model does not find plainly harmless."""
        return np.flatnonzero(np.isin(self.origins, (SET, REAL, NEVER)) & (self.scores >= LEAST))

    def tensor(self, values: np.ndarray) -> Tensor:
        return torch.tensor(values, dtype=torch.float32, device=self.device)

    @staticmethod
    def _mark(like: Tensor, value: int) -> Tensor:
        return torch.full((len(like), 1), value, device=like.device)


def _joined(columns: Sequence[Tensor]) -> Tensor:
    """Columns side by side, with the padding moved to the end."""
    row = torch.cat(list(columns), 1)
    return row.gather(1, (row == 0).int().argsort(dim=1, stable=True))
