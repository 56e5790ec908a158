"""MiniLM in plain torch: six layers of BERT, mean pooling, vectors of length one."""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from weights import Weights

LAYERS, HEADS, WIDTH, INNER = 6, 12, 384, 1536

_NAMES = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "mixed": "attention.output.dense",
    "mixed_norm": "attention.output.LayerNorm",
    "inner": "intermediate.dense",
    "outer": "output.dense",
    "outer_norm": "output.LayerNorm",
}


class Layer(nn.Module):
    """One layer: attention, then two dense maps, each added to its input and normalised."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.mixed = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.inner, self.outer = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
        self.mixed_norm, self.outer_norm = (nn.LayerNorm(WIDTH, eps=1e-12) for _ in range(2))

    def forward(self, x: Tensor, bias: Tensor, drop: float) -> Tensor:
        """The layer's output; `bias` is minus infinity where there is no token."""
        batch, length, _ = x.shape
        shape = (batch, length, HEADS, WIDTH // HEADS)
        q, k, v = (part(x).view(shape).transpose(1, 2) for part in (self.query, self.key, self.value))
        drop_now = drop if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(
            q, k, v, attn_mask=bias.to(q.dtype), dropout_p=drop_now
        )
        mixed = self.mixed(mixed.transpose(1, 2).reshape(batch, length, WIDTH))
        x = self.mixed_norm(x + functional.dropout(mixed, drop, self.training))
        inner = self.outer(functional.gelu(self.inner(x)))
        return self.outer_norm(x + functional.dropout(inner, drop, self.training))


class MiniLM(nn.Module):
    """Sentence vectors of padded token ids; 0 is padding."""

    def __init__(self, drop: float = 0.1) -> None:
        super().__init__()
        self.words = nn.Embedding(30522, WIDTH)
        self.positions = nn.Embedding(512, WIDTH)
        self.kinds = nn.Embedding(2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.drop = drop

    def forward(self, ids: Tensor) -> Tensor:
        """One vector for each row."""
        real = ids > 0
        x = self.hidden(ids, real).float()
        weights = real.unsqueeze(-1).float()
        return functional.normalize((x * weights).sum(1) / weights.sum(1), dim=-1)

    def hidden(self, ids: Tensor, real: Tensor) -> Tensor:
        """The last layer's output at each token."""
        x = self.words(ids) + self.positions.weight[: ids.shape[1]] + self.kinds.weight[0]
        x = functional.dropout(self.norm(x), self.drop, self.training)
        bias = torch.zeros(real.shape, device=ids.device).masked_fill(~real, -1e4)[:, None, None, :]
        bias = bias.expand(-1, 1, ids.shape[1], -1)
        for layer in self.layers:
            x = layer(x, bias, self.drop)
        return x

    def load(self, weights: Weights) -> "MiniLM":
        """Take over weights under the names that BERT's files use."""
        state = {ours: torch.from_numpy(weights[theirs].astype(np.float32)) for ours, theirs in _names()}
        self.load_state_dict(state)
        return self

    def weights(self) -> Weights:
        """The weights in half precision, under the names that BERT's files use."""
        state = self.state_dict()
        return {theirs: state[ours].detach().cpu().numpy().astype(np.float16) for ours, theirs in _names()}


def _names() -> list[tuple[str, str]]:
    pairs = [
        ("words", "word_embeddings"),
        ("positions", "position_embeddings"),
        ("kinds", "token_type_embeddings"),
    ]
    names = [(f"{ours}.weight", f"embeddings.{theirs}.weight") for ours, theirs in pairs]
    for end in ("weight", "bias"):
        names.append((f"norm.{end}", f"embeddings.LayerNorm.{end}"))
        for number in range(LAYERS):
            names += [
                (f"layers.{number}.{ours}.{end}", f"encoder.layer.{number}.{theirs}.{end}")
                for ours, theirs in _NAMES.items()
            ]
    return names
