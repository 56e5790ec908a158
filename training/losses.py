"""The losses that both models are trained with, and the course of their learning rates."""

import torch
from torch import Tensor
from torch.nn import functional

TEMPERATURE = 0.05  # of the strong model's cosines


def contrast(scores: Tensor, ignored: Tensor) -> Tensor:
    """How surprised each query is by its own tool, and each tool by its own query.

    Row i belongs to column i; columns past the square are further wrong tools, for the rows only.
    """
    own = torch.arange(len(scores), device=scores.device)
    scores = scores.masked_fill(
        ignored & ~torch.eye(*scores.shape, dtype=torch.bool, device=scores.device), -1e4
    )
    return (functional.cross_entropy(scores, own) + functional.cross_entropy(scores[:, own].T, own)) / 2


def agreement(taught: Tensor, scores: Tensor) -> Tensor:
    """How far the student's ranking of the columns is from the teacher's, row by row."""
    target = functional.softmax(taught.float() / TEMPERATURE, dim=1)
    return functional.kl_div(functional.log_softmax(scores, dim=1), target, reduction="batchmean")


def course(step: int, steps: int, warm: int, last: float) -> float:
    """The share of the learning rate at a step: up in `warm` steps, then straight down to `last`."""
    if step < warm:
        return (step + 1) / warm
    return 1 - (1 - last) * (step - warm) / max(steps - warm, 1)
