"""Alters sentences for the inspection's teachers to judge: other words, contexts, two sentences in one."""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from inspection_rows import Rows

NEAREST = 8  # words that may stand for a word
SWAPPED, DROPPED, MOVED = 0.3, 0.12, 0.08  # shares: another context, none, another sentence as context
SPLICED, REWORDED, SHORTENED = 0.2, 0.6, 0.2
LIKE = 0.8  # share of new words that are near the old one


def neighbors(words: Tensor) -> Tensor:
    """The words that are nearest to each word."""
    plain = functional.normalize(words.detach(), dim=1)
    return torch.cat([(some @ plain.T).topk(NEAREST + 1, 1).indices[:, 1:] for some in plain.split(2048)])


def altered(rows: Rows, at: np.ndarray, near: Tensor, draw: np.random.Generator) -> list[Tensor]:
    """The parts of sentences, altered at random."""
    tool, purpose, before, said = rows.parts(at)
    other = rows.parts(draw.choice(at, len(at)))
    lots = rows.tensor(draw.random((6, len(at), 1)))
    purpose = torch.where(lots[0] < SWAPPED, other[1], purpose) * (lots[0] < 1 - DROPPED)
    moved = (lots[1] >= SWAPPED) & (lots[1] < SWAPPED + MOVED)
    before = torch.where(
        moved, other[3][:, : before.shape[1]], torch.where(lots[1] < SWAPPED, other[2], before)
    )
    before = before * (lots[1] < 1 - DROPPED)
    tool = torch.where(lots[2] < SWAPPED, other[0], tool)
    half = (said > 0).sum(1, keepdim=True) // 2
    is_later = torch.arange(said.shape[1], device=said.device) >= half
    said = torch.where((lots[3] < SPLICED) & is_later, other[3], said)
    return [
        tool,
        purpose,
        before,
        _shortened(_reworded(said, near, lots[4], draw, rows), lots[5], draw, rows),
    ]


def _reworded(said: Tensor, near: Tensor, lot: Tensor, draw: np.random.Generator, rows: Rows) -> Tensor:
    share = rows.tensor(draw.uniform(0.08, 0.3, (len(said), 1)))
    is_new = (rows.tensor(draw.random(said.shape)) < share) & (lot < REWORDED) & (said > 0)
    alike = near[said, torch.tensor(draw.integers(0, NEAREST, said.shape), device=said.device)]
    any_word = torch.tensor(draw.integers(103, len(near), said.shape), device=said.device)
    is_like = rows.tensor(draw.random(said.shape)) < LIKE
    return torch.where(is_new, torch.where(is_like, alike, any_word), said)


def _shortened(said: Tensor, lot: Tensor, draw: np.random.Generator, rows: Rows) -> Tensor:
    is_gone = (rows.tensor(draw.random(said.shape)) < 0.15) & (lot < SHORTENED)
    return said * ~is_gone
