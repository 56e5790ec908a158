"""Fits the inspection's network: `inspection_network.py EXAMPLES OUT`, with torch and onnx, best on a GPU.

`EXAMPLES` is what `inspection_examples.py` wrote. Three teachers, six layers each, begin as the bundled
search model (a MiniLM) and read each sentence with its context. A narrow student learns their mean on these
sentences and on altered ones. `OUT` gets `sentence_network.npz`, the same for each fold (`network_N.npz`,
fitted without a third of the sets and servers), and `scores.npz`: what each fit says of sentences of sets and
real servers, for choosing thresholds.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torch.multiprocessing as processes
from torch import Tensor, nn
from torch.nn import functional

from inspection_altered import altered, neighbors
from inspection_layers import SAMPLE, Network, begun, narrowed
from inspection_origins import DRAWN, NEVER, POOL, REAL, SET
from inspection_pack import packed
from inspection_rows import Rows

BASE = Path(__file__).parent.parent / "src/remit/search/embeddings/data/strong.onnx"
FOLDS = (0, 1, 2, None)
TEACHERS, LAYERS = 3, 6
IN_POOL, IN_REAL, IN_SET = -4.1, -4.5, -5.0  # least linear score of a harmless sentence for the teachers
COPIES = 8  # altered ones of each sentence
SEED = 1


class Plan(NamedTuple):
    """How to fit."""

    epochs: int
    batch: int
    rate: float
    smooth: float
    head_rate: float = 1e-3
    warm_up: float = 0.06
    decay: float = 0.02


TEACHER = Plan(epochs=3, batch=64, rate=1e-4, smooth=0.02)
STUDENT = Plan(epochs=6, batch=256, rate=3e-4, smooth=0.0)


STUDENT_SHAPE = (2, 4, 256)  # layers, heads and inner units


def chosen(rows: Rows, fold: int | None, *, is_wide: bool) -> np.ndarray:
    """The sentences to learn from, each once; `is_wide`: all of them, whatever their label."""
    seen = (rows.origins != NEVER) & (rows.labels >= 0)
    if fold is not None:
        seen &= ~(np.isin(rows.origins, (SET, REAL)) & (rows.folds == fold))
    if not is_wide:
        least = np.select(
            [rows.origins == each for each in (POOL, REAL, SET)], [IN_POOL, IN_REAL, IN_SET], -99
        )
        seen &= (rows.origins != DRAWN) & ((rows.labels == 1) | (rows.scores >= least))
    found = np.flatnonzero(seen)
    said = rows.contexts[found, 3].astype(np.int64) * 2 + rows.labels[found]
    return np.sort(found[np.unique(said, return_index=True)[1]])


def batches(lengths: np.ndarray, plan: Plan, draw: np.random.Generator) -> Iterator[np.ndarray]:
    """The rows in random order, those of similar length together."""
    for _ in range(plan.epochs):
        order = draw.permutation(len(lengths))
        chunks = [order[at : at + 20 * plan.batch] for at in range(0, len(order), 20 * plan.batch)]
        alike = [chunk[np.argsort(lengths[chunk], kind="stable")] for chunk in chunks]
        made = [chunk[at : at + plan.batch] for chunk in alike for at in range(0, len(chunk), plan.batch)]
        yield from (made[at] for at in draw.permutation(len(made)))


def fit(
    network: Network, ids: Tensor, around: Sequence[Tensor], target: Tensor, plan: Plan, seed: int
) -> None:
    torch.manual_seed(seed)
    lengths = (ids > 0).sum(1).cpu().numpy()
    planned = list(batches(lengths, plan, np.random.default_rng(seed)))
    head = [each for name, each in network.named_parameters() if name.startswith(("narrow", "near", "told"))]
    base = [
        each for each in network.parameters() if each.requires_grad and not any(each is one for one in head)
    ]
    groups = [{"params": base, "top": plan.rate}, {"params": head, "top": plan.head_rate}]
    optimizer = torch.optim.AdamW(groups, lr=plan.rate, weight_decay=plan.decay)
    network.train()
    for step, batch in enumerate(planned):
        for group in optimizer.param_groups:
            warm = min(1, (step + 1) / (plan.warm_up * len(planned)))
            group["lr"] = group["top"] * warm * (1 - step / len(planned))
        at = torch.as_tensor(batch, device=ids.device)
        with autocast(ids):
            scores = network(ids[at][:, : int(lengths[batch].max())], [each[at] for each in around])
        wanted = target[at] * (1 - 1.5 * plan.smooth) + plan.smooth / 2
        loss = functional.binary_cross_entropy_with_logits(scores, wanted)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(base, 1.0)
        optimizer.step()


def autocast(ids: Tensor) -> torch.autocast:
    return torch.autocast(ids.device.type, torch.bfloat16, enabled=ids.device.type == "cuda")


def scored(network: Network, ids: Tensor, around: Sequence[Tensor] = ()) -> Tensor:
    """The score of each row."""
    network.eval()
    found, lengths = torch.zeros(len(ids), device=ids.device), (ids > 0).sum(1)
    with torch.no_grad(), autocast(ids):
        for at in lengths.argsort().split(1024):
            found[at] = network(ids[at][:, : int(lengths[at].max())], [each[at] for each in around])
    return found


def teach(task: tuple[Path, Path, int | None, int]) -> str:
    """Fit one teacher, and keep it."""
    path, folder, fold, seed = task
    rows = Rows(path)
    at = chosen(rows, fold, is_wide=False)
    torch.manual_seed(seed)
    network = begun(BASE, rows.kept, LAYERS).to(rows.device)
    ids = rows.whole(rows.parts(at))
    fit(network, ids, (), rows.tensor(rows.labels[at]), TEACHER, seed)
    torch.save(network.state_dict(), folder / f"teacher_{fold}_{seed}.pt")
    return f"teacher {seed} without fold {fold}: {len(at):,} sentences"


def ask(task: tuple[Path, Path, int | None]) -> str:
    """Let the teachers of a fold judge sentences and altered ones, and keep their answers."""
    path, folder, fold = task
    rows = Rows(path)
    teachers = [taught(rows, folder, fold, seed) for seed in range(1, TEACHERS + 1)]
    wide, known = chosen(rows, fold, is_wide=True), chosen(rows, fold, is_wide=False)
    draw = np.random.default_rng(SEED)
    made = [altered(rows, wide, neighbors(teachers[0].words.weight), draw) for _ in range(COPIES)]
    made += [rows.parts(each) for each in (wide, known, known)]
    parts = [torch.cat(each) for each in zip(*made, strict=True)]
    ids = rows.whole(parts)
    said = torch.sigmoid(torch.stack([scored(each, ids) for each in teachers]).mean(0))
    labels = rows.tensor(np.tile(rows.labels[known], 2))
    said[-len(labels) :] = (said[-len(labels) :] + labels) / 2
    torch.save(
        {"parts": [each.short().cpu() for each in parts], "said": said.cpu()}, folder / f"asked_{fold}.pt"
    )
    return f"asked without fold {fold}: {len(said):,} sentences"


def taught(rows: Rows, folder: Path, fold: int | None, seed: int) -> Network:
    network = Network(len(rows.kept), LAYERS).to(rows.device)
    network.load_state_dict(torch.load(folder / f"teacher_{fold}_{seed}.pt", map_location=rows.device))
    return network


def learn(task: tuple[Path, Path, int | None]) -> tuple[int | None, np.ndarray]:
    """Fit the student of a fold, write it, and return its scores of what is measured."""
    path, folder, fold = task
    rows = Rows(path)
    asked = torch.load(folder / f"asked_{fold}.pt", map_location=rows.device)
    parts = [each.long() for each in asked["parts"]]
    some = rows.whole([each[:: len(parts[0]) // SAMPLE + 1] for each in parts])
    torch.manual_seed(SEED)
    network = narrowed(taught(rows, folder, fold, 1), *STUDENT_SHAPE, some)
    fit(network, *rows.read(parts), asked["said"], STUDENT, SEED)
    name = "sentence_network" if fold is None else f"network_{fold}"
    np.savez_compressed(folder / f"{name}.npz", **packed(network, rows.entries))
    return fold, scored(network, *rows.read(rows.parts(rows.measured()))).cpu().numpy()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("examples", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--processes", type=int, default=1, help="fits at a time")
    options = parser.parse_args()
    path, folder = options.examples, options.out
    folder.mkdir(parents=True, exist_ok=True)
    with processes.get_context("spawn").Pool(options.processes) as pool:
        teachers = [(path, folder, fold, seed) for seed in range(1, TEACHERS + 1) for fold in FOLDS]
        for said in pool.imap_unordered(teach, teachers):
            print(said, flush=True)
        for said in pool.imap_unordered(ask, [(path, folder, fold) for fold in FOLDS]):
            print(said, flush=True)
        scores: dict[str, np.ndarray] = {}
        for fold, found in pool.imap_unordered(learn, [(path, folder, fold) for fold in FOLDS]):
            print(f"student without fold {fold}", flush=True)
            scores[f"without_{fold}"] = found.astype(np.float16)
    np.savez_compressed(folder / "scores.npz", **scores)


if __name__ == "__main__":
    main()
