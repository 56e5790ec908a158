"""Packs the inspection's network as `sentence_network.py` reads it: mostly in eight bits."""

from collections.abc import Sequence

import numpy as np

from inspection_layers import NARROW, SIZE, Network

Weights = dict[str, np.ndarray]
MOST_PIECES = 64


def packed(network: Network, entries: Sequence[str]) -> Weights:
    """The weights of dense layers and words as bytes with scales, the rest as they are."""
    state = {name: each.detach().float().cpu().numpy() for name, each in network.eval().state_dict().items()}
    found: Weights = {"entries": np.frombuffer("\n".join(entries).encode(), np.uint8)}
    found["words"], found["word_scales"] = bytes_of(state["words.weight"], axis=1)
    found["positions"] = state["positions.weight"].astype("f2")
    found["around"] = state["around"].astype("f4")
    _add_norm(found, "norm", state, "norm")
    for at, layer in enumerate(network.layers):
        name = f"layers.{at}."
        width = layer.heads * SIZE
        for end in ("weight", "bias"):
            state[f"{name}attention.{end}"][:width] /= np.sqrt(SIZE)
        for part in ("attention", "mixed", "inner", "outer"):
            _add_dense(found, f"{at}.{part}", state[f"{name}{part}.weight"], state[f"{name}{part}.bias"])
        for part in ("mixed_norm", "outer_norm"):
            _add_norm(found, f"{at}.{part}", state, f"{name}{part}")
    near = state["near.weight"].transpose(0, 2, 1).reshape(NARROW, 3 * NARROW)
    for part, weight in {
        "narrow": state["narrow.weight"],
        "near": near,
        "told": state["told.weight"],
    }.items():
        _add_dense(found, part, weight, state[f"{part}.bias"])
    return found


def _add_norm(found: Weights, name: str, state: Weights, theirs: str) -> None:
    found |= {f"{name}.{end}": state[f"{theirs}.{end}"].astype("f4") for end in ("weight", "bias")}


def _add_dense(found: Weights, name: str, weight: np.ndarray, bias: np.ndarray) -> None:
    found[f"{name}.weight"], found[f"{name}.weight.scale"] = bytes_of(np.ascontiguousarray(weight.T), axis=0)
    found[f"{name}.bias"] = bias.astype("f4")


def bytes_of(values: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Values as signed bytes, with a scale for each row or column."""
    scale = np.maximum(np.abs(values).max(axis=axis, keepdims=True) / 127, 1e-8).astype("f4")
    return np.round(values / scale).astype(np.int8), scale
