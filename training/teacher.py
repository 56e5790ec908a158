"""Fine-tunes MiniLM on the pairs and weak pairs: the strong model, and the static table's teacher."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from damage import Damage
from items import FULL, Items, Rows, cropped
from losses import TEMPERATURE, contrast, course
from minilm import MiniLM
from weights import Weights

CANDIDATES = 12  # wrong tools of the same set, nearest to the query in the base model
TOO_NEAR = 0.95  # of the right tool's similarity: nearer ones may be right, too
LOSS_OF_WEAK = 0.1  # share of a weak query's tokens that is dropped

Say = Callable[[str], None]


@dataclass(frozen=True)
class TeacherPlan:
    """How a teacher is trained."""

    epochs: int = 4
    batch: int = 512
    rate: float = 1e-4
    weak: float = 0.5
    temperature: float = TEMPERATURE
    wrong: int = 1


@torch.no_grad()
def encode(model: MiniLM, ids: Tensor, size: int = 4096) -> Tensor:
    """The vectors of padded rows; rows of like length go together."""
    model.eval()
    order = torch.argsort((ids > 0).sum(1))
    out = torch.zeros(len(ids), 384, device=ids.device)
    for places in order.split(size):
        with half(ids.device):
            out[places] = model(cropped(ids[places]))
    return out


def half(device: torch.device) -> torch.autocast:
    """Half precision on the GPU; none on a CPU, where it would only be slow."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda")


class Wrong:
    """For each pair's query, the wrong tools that a model takes for right ones."""

    def __init__(self, items: Items, base: MiniLM) -> None:
        self._items = items
        self._tools = encode(base, items.strong.tool_ids[FULL])
        self._queries = encode(base, items.strong.query_ids[: len(items.golds)])
        self._near = torch.zeros(len(items.golds), CANDIDATES, dtype=torch.long, device=items.device)
        self._scores = torch.full(self._near.shape, 2.0, device=items.device)  # 2: never drawn
        for number in np.unique(items.query_set):
            self._mine(int(number))

    def _mine(self, number: int) -> None:
        queries = self._items.tensor(np.flatnonzero(self._items.query_set == number))
        tools = torch.nonzero(self._items.tool_set == number).flatten()
        for part in queries.split(2048):
            scores = self._queries[part] @ self._tools[tools].T
            scores.masked_fill_(self._items.right(part, tools), -2)
            nearest, places = scores.topk(min(CANDIDATES, len(tools)))
            self._near[part, : places.shape[1]] = tools[places]
            self._scores[part, : places.shape[1]] = nearest.masked_fill(nearest < -1.5, 2.0)

    def draw(self, rows: Rows, count: int) -> Tensor:
        """Some wrong tools for each row; where none is known, any tools."""
        right = (self._queries[rows.query] * self._tools[rows.tool]).sum(1, keepdim=True)
        fit = (self._scores[rows.query] <= TOO_NEAR * right).float()
        none = fit.sum(1) == 0
        picks = torch.multinomial(fit + none.unsqueeze(1).float(), count, replacement=True)
        drawn = self._near[rows.query].gather(1, picks)
        return torch.where(none.unsqueeze(1), torch.randint_like(drawn, len(self._tools)), drawn).flatten()


def train_teacher(
    items: Items, base: Weights, wrong: Wrong, plan: TeacherPlan, seed: int, say: Say
) -> MiniLM:
    """Train one teacher from the base model's weights."""
    torch.manual_seed(seed)
    chance, damage = np.random.default_rng(seed), Damage(items.words, items.joined, seed)
    model = MiniLM().load(base).to(items.device)
    model.train()
    batches = [batch for _ in range(plan.epochs) for batch in _epoch(items, plan, chance)]
    optimiser = torch.optim.AdamW(model.parameters(), lr=plan.rate, weight_decay=0.01)
    for step, (rows, weak) in enumerate(batches):
        for group in optimiser.param_groups:
            group["lr"] = plan.rate * course(step, len(batches), max(1, len(batches) // 10), 0.02)
        negatives = None if weak else wrong.draw(rows, plan.wrong)
        loss = _loss(model, items, rows, negatives, damage, plan.temperature)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if step % 100 == 0:
            say(f"teacher step {step} of {len(batches)}, loss {loss.item():.3f}")
    return model.eval()


def _epoch(items: Items, plan: TeacherPlan, chance: np.random.Generator) -> list[tuple[Rows, bool]]:
    """The batches of one epoch in random order, each with whether it is weak."""
    batches = [(rows, False) for rows in items.pair_batches(chance, plan.batch)]
    batches += [(rows, True) for rows in items.weak_batches(chance, plan.batch, plan.weak)]
    return [batches[i] for i in chance.permutation(len(batches))]


def _loss(
    model: MiniLM, items: Items, rows: Rows, wrong: Tensor | None, damage: Damage, temperature: float
) -> Tensor:
    queries = items.strong.queries(rows)
    tools, tool_ids = rows.tool, items.strong.tools(rows)[0]
    if wrong is None:
        queries = damage.lose(queries, LOSS_OF_WEAK)
    else:
        tools = torch.cat([tools, wrong])
        tool_ids = cropped(items.strong.tool_ids[FULL, tools])
    with half(items.device):
        q, t = model(queries), model(tool_ids)
    return contrast(q @ t.T / temperature, items.right(rows.query, tools))
