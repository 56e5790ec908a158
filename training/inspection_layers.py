"""The inspection's network in torch: layers of the bundled search model, made narrower, and a head.

Layers are those of MiniLM. A narrow network keeps the heads and inner units that matter most.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor, nn
from torch.nn import functional

WIDTH, SIZE = 384, 32  # of a word's vector, and of a head
HEADS, INNER = 12, 1536  # of a whole layer
NARROW = 96
AROUND = 2  # texts around a sentence, each read as the mean of its words
DROP, DROP_HEAD = 0.1, 0.2
SAMPLE = 512  # rows to find out what matters


class Layer(nn.Module):
    """Attention, then two dense maps, each added to its input and normalized."""

    def __init__(self, heads: int, inner: int) -> None:
        super().__init__()
        self.heads = heads
        self.attention = nn.Linear(WIDTH, 3 * heads * SIZE)
        self.mixed = nn.Linear(heads * SIZE, WIDTH)
        self.inner, self.outer = nn.Linear(WIDTH, inner), nn.Linear(inner, WIDTH)
        self.mixed_norm, self.outer_norm = (nn.LayerNorm(WIDTH, eps=1e-12) for _ in range(2))

    def forward(self, at: Tensor, bias: Tensor) -> Tensor:
        """The layer's output; `bias` is very low where there is no token."""
        rows, length, _ = at.shape
        parts = self.attention(at).view(rows, length, 3, self.heads, SIZE).permute(2, 0, 3, 1, 4)
        drop = DROP if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(
            *parts, attn_mask=bias.to(parts.dtype), dropout_p=drop
        )
        mixed = self.mixed(mixed.transpose(1, 2).reshape(rows, length, -1))
        at = self.mixed_norm(at + functional.dropout(mixed, drop, self.training))
        inner = self.outer(gelu(self.inner(at)))
        return self.outer_norm(at + functional.dropout(inner, drop, self.training))


class Network(nn.Module):
    """Layers; then each word with its neighbors: the most telling one counts, and their mean."""

    def __init__(self, words: int, layers: int, heads: int = HEADS, inner: int = INNER) -> None:
        super().__init__()
        self.words, self.positions = nn.Embedding(words, WIDTH), nn.Embedding(128, WIDTH)
        self.words.requires_grad_(False)
        self.positions.requires_grad_(False)
        self.around = nn.Parameter(torch.zeros(AROUND, WIDTH))
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(Layer(heads, inner) for _ in range(layers))
        self.narrow, self.near = nn.Linear(WIDTH, NARROW), nn.Conv1d(NARROW, NARROW, 3, padding=1)
        self.told = nn.Linear(2 * NARROW, 1)

    def forward(self, ids: Tensor, around: Sequence[Tensor] = ()) -> Tensor:
        """The score of each row of ids, 0 being padding; `around` holds the ids of texts around it."""
        real = ids > 0
        at = self.words(ids) + self.positions.weight[: ids.shape[1]]
        if around:
            at = torch.cat([torch.stack([self._mean(each) for each in around], 1) + self.around, at], 1)
        seen = functional.pad(real, (len(around), 0), value=True)
        bias = torch.zeros(seen.shape, device=ids.device).masked_fill(~seen, -1e4)[:, None, None, :]
        at = functional.dropout(self.norm(at), DROP, self.training)
        for layer in self.layers:
            at = layer(at, bias)
        return self._head(at[:, len(around) :], real)

    def _mean(self, ids: Tensor) -> Tensor:
        real = (ids > 0)[..., None]
        return (self.words(ids) * real).sum(1) / real.sum(1).clamp(min=1)

    def _head(self, at: Tensor, real: Tensor) -> Tensor:
        said = gelu(self.narrow(at)) * real[..., None]
        told = gelu(self.near(said.transpose(1, 2)).transpose(1, 2)) + said
        most = told.masked_fill(~real[..., None], -1e4).max(1).values
        mean = (told * real[..., None]).sum(1) / real.sum(1, keepdim=True)
        both = functional.dropout(torch.cat([most, mean], 1), DROP_HEAD, self.training)
        return self.told(both)[:, 0].float()


def gelu(at: Tensor) -> Tensor:
    """The smooth step, by the approximation that the package uses."""
    return functional.gelu(at, approximate="tanh")


def begun(path: Path, kept: Sequence[int], layers: int) -> Network:
    """A network that begins as the first layers of the search model; its head begins at random."""
    stored = {each.name: numpy_helper.to_array(each) for each in onnx.load(path).graph.initializer}
    network = Network(len(kept), layers)
    state = network.state_dict()
    state["words.weight"] = torch.tensor((stored["words"].astype(np.float32) * stored["scales"])[list(kept)])
    state["positions.weight"] = torch.tensor(stored["places"])
    names = {"norm": "embeddings.LayerNorm"}
    for at in range(layers):
        layer = f"encoder.layer.{at}"
        names |= {f"layers.{at}.mixed_norm": f"{layer}.attention.output.LayerNorm"}
        names |= {f"layers.{at}.outer_norm": f"{layer}.output.LayerNorm"}
        dense = {"attention": "attention.self.query", "mixed": "attention.output.dense"}
        for ours, theirs in (dense | {"inner": "intermediate.dense", "outer": "output.dense"}).items():
            weight = stored[f"{layer}.{theirs}"].astype(np.float32) * stored[f"{layer}.{theirs}.scales"]
            state[f"layers.{at}.{ours}.weight"] = torch.tensor(weight.T.copy())
            state[f"layers.{at}.{ours}.bias"] = torch.tensor(stored[f"{layer}.{theirs}.bias"])
    for ours, theirs in names.items():
        state |= {f"{ours}.{end}": torch.tensor(stored[f"{theirs}.{end}"]) for end in ("weight", "bias")}
    network.load_state_dict(state)
    return network


def narrowed(network: Network, layers: int, heads: int, inner: int, ids: Tensor) -> Network:
    """The first layers with the heads and inner units that matter most in some rows."""
    weighs = importance(network, ids)
    small = Network(network.words.num_embeddings, layers, heads, inner).to(ids.device)
    state, whole = small.state_dict(), network.state_dict()
    state |= {name: each for name, each in whole.items() if name in state and not name.startswith("layers")}
    for at in range(layers):
        by_head, by_unit = weighs[at]
        kept = by_head.topk(heads).indices.sort().values
        places = (kept[:, None] * SIZE + torch.arange(SIZE, device=ids.device)).flatten()
        three = torch.cat([part * WIDTH + places for part in range(3)])
        units, name = by_unit.topk(inner).indices.sort().values, f"layers.{at}."
        state |= {
            f"{name}attention.{end}": whole[f"{name}attention.{end}"][three] for end in ("weight", "bias")
        }
        state[f"{name}mixed.weight"] = whole[f"{name}mixed.weight"][:, places]
        state |= {f"{name}inner.{end}": whole[f"{name}inner.{end}"][units] for end in ("weight", "bias")}
        state[f"{name}outer.weight"] = whole[f"{name}outer.weight"][:, units]
        same = ("mixed.bias", "outer.bias", "mixed_norm.weight", "mixed_norm.bias")
        for end in (*same, "outer_norm.weight", "outer_norm.bias"):
            state[name + end] = whole[name + end]
    small.load_state_dict(state)
    return small


def importance(network: Network, ids: Tensor) -> list[tuple[Tensor, Tensor]]:
    """How much each head and each inner unit of each layer adds, in the mean."""
    fed: dict[nn.Module, Tensor] = {}

    def note(module: nn.Module, inputs: tuple[Tensor]) -> None:
        fed[module] = inputs[0].detach().float().abs().mean((0, 1)) * module.weight.detach().norm(dim=0)

    watched = [part for layer in network.layers for part in (layer.mixed, layer.outer)]
    hooks = [part.register_forward_pre_hook(note) for part in watched]
    with torch.no_grad():
        network.eval()(ids)
    for hook in hooks:
        hook.remove()
    return [(fed[each.mixed].view(HEADS, SIZE).sum(1), fed[each.outer]) for each in network.layers]
