"""Distils a teacher into a table of word vectors, and tunes the table on the pairs."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from damage import Damage
from items import FULL, Items, Rows, cropped
from losses import TEMPERATURE, agreement, contrast, course
from minilm import MiniLM
from score import NAME_WEIGHT, Table
from teacher import LOSS_OF_WEAK, encode, half
from text import END, FIRST_WORD, MARK, START

SEEN = 72  # tokens of a tool that distillation reads
FIELD_STARTS = (0.7, 0.0, 0.0, -0.3, -0.3)  # name, server, first sentence, rest, params
DOUBT = 0.02  # a wrong tool that the teacher puts this far above the right one is not held against

Say = Callable[[str], None]


@dataclass(frozen=True)
class StaticPlan:
    """How a table is trained."""

    width: int = 256
    distil_steps: int = 1500
    distil_batch: int = 1024
    distil_rate: float = 3e-3
    epochs: int = 4
    batch: int = 2048
    rate: float = 1e-3
    kept_batch: int = 768
    kept: float = 1.0


class Static(nn.Module):
    """A vector for each word, weights of words in queries and in tools, and factors of fields."""

    def __init__(self, rows: Tensor, weights: Tensor, joined: Tensor) -> None:
        super().__init__()
        first, second, both = joined.unbind(1)
        self.joined, self._keys, self._both = joined, first << 16 | second, both
        self.rows = nn.Parameter(rows.clone())
        self.query_weights, self.tool_weights = nn.Parameter(weights.clone()), nn.Parameter(weights.clone())
        self.fields = nn.Parameter(torch.tensor(FIELD_STARTS, device=rows.device))
        self.scale = nn.Parameter(torch.tensor(3.0, device=rows.device))

    def query(self, ids: Tensor) -> Tensor:
        """The vectors of padded queries."""
        ids = torch.cat([ids, self.pairs(ids)], dim=1)
        return self._sum(ids, self.query_weights[ids].exp() * (ids >= FIRST_WORD))

    def tool(self, ids: Tensor, fields: Tensor) -> Tensor:
        """The vectors of padded tools."""
        ids, fields = torch.cat([ids, self.pairs(ids)], dim=1), torch.cat([fields, fields], dim=1)
        factors = functional.pad(self.fields.exp(), (0, 1))  # marks count nothing
        return self._sum(ids, self.tool_weights[ids].exp() * factors[fields] * (ids >= FIRST_WORD))

    def pairs(self, ids: Tensor) -> Tensor:
        """What is known of two ids side by side, in place of the second; 0 where nothing is."""
        if not len(self._keys):
            return torch.zeros_like(ids)
        keys = ids[:, :-1] << 16 | ids[:, 1:]
        at = torch.searchsorted(self._keys, keys).clamp_max(len(self._keys) - 1)
        return functional.pad(self._both[at] * (self._keys[at] == keys), (1, 0))

    def _sum(self, ids: Tensor, weights: Tensor) -> Tensor:
        return functional.normalize(
            (weights.unsqueeze(1) @ functional.embedding(ids, self.rows)).squeeze(1), dim=-1
        )

    @torch.no_grad()
    def table(self) -> Table:
        """The table as it is shipped: eight bits a number, one scale a word, no rows without words."""
        rows = self.rows[FIRST_WORD:].float()
        scale = rows.abs().amax(1).clamp_min(1e-8) / 127
        scales = [scale * weights[FIRST_WORD:].exp() for weights in (self.query_weights, self.tool_weights)]
        # Vectors are set to length one, so a common factor is free; near one, half precision is at its best.
        query, tool = ((s / s.max()).cpu().numpy().astype(np.float16) for s in scales)
        whole = (rows / scale.unsqueeze(1)).round().clamp(-127, 127).to(torch.int8)
        fields, name = self.fields.exp().float().cpu().numpy(), np.array(NAME_WEIGHT, np.float32)
        return Table(whole.cpu().numpy(), query, tool, fields, name)


@torch.no_grad()
def start(items: Items, teacher: MiniLM, width: int) -> Static:
    """The table before training: what the teacher makes of each word alone, in its main directions."""
    vectors = torch.cat([_mean(teacher, part) for part in items.pieces.split(8192)])
    real = items.pieces[:, 0] >= FIRST_WORD
    vectors = (vectors - vectors[real].mean(0)) * real.unsqueeze(1)  # pairs begin at nothing
    _, directions = torch.linalg.eigh(vectors.double().T @ vectors.double())
    rows = functional.normalize(vectors @ directions.flip(1)[:, :width].float(), dim=-1)
    known = items.static.tool_ids[FULL][items.static.tool_fields[FULL] != MARK]
    shares = torch.bincount(known, minlength=len(rows)).float() / len(known)
    return Static(rows, torch.log(1e-3 / (1e-3 + shares)), items.joined)


def _mean(teacher: MiniLM, pieces: Tensor) -> Tensor:
    """What the teacher makes of single words, each made of pieces."""
    ids = functional.pad(pieces, (1, 1))
    ids[:, 0] = START
    ids.scatter_(1, (ids > 0).sum(1, keepdim=True), END)
    real = ids > 0
    with half(ids.device):
        hidden = teacher.hidden(ids, real).float() * real.unsqueeze(2)
    return hidden.sum(1) / real.sum(1, keepdim=True)


class Distillation:
    """Draws damaged texts, asks the teacher, and says how far the student is from its answers."""

    def __init__(self, items: Items, teacher: MiniLM, seed: int) -> None:
        self._items, self._teacher = items, teacher
        self._damage = Damage(items.words, items.joined, seed)
        chance = np.random.default_rng(seed)
        pairs, weak = items.pairs(chance), items.weak
        self._sources = (pairs, weak)

    def loss(self, student: Static, size: int) -> Tensor:
        """The loss on a fresh batch: as many queries as tools, half of the tools the queries' own."""
        parts = [rows.at(self._damage.rows(len(rows), size // 2)) for rows in self._sources]
        query_ids = cropped(
            self._damage.query(torch.cat([self._items.static.query_ids[rows.query] for rows in parts]))
        )
        tool_ids, fields = self._tools(parts, size)
        with torch.no_grad(), half(query_ids.device):
            read_q, read_t = self._items.read(query_ids), self._items.read(tool_ids)
            taught_q, taught_t = self._teacher(read_q).float(), self._teacher(read_t).float()
        q, t = student.query(query_ids), student.tool(tool_ids, fields)
        among = _agree(taught_q @ taught_q.T, q @ q.T, without_own=True)
        across, taught = q @ t.T, taught_q @ taught_t.T
        return (among + _agree(taught, across) + _agree(taught.T, across.T)) / 2

    def _tools(self, parts: list[Rows], size: int) -> tuple[Tensor, Tensor]:
        static = self._items.static
        own = [rows.at(slice(0, size // 4)) for rows in parts]
        others = self._damage.rows(static.tool_ids.shape[1], size - sum(map(len, own)))
        tool = torch.cat([*(rows.tool for rows in own), others])
        variant = torch.cat([*(rows.variant for rows in own), torch.full_like(others, FULL)])
        ids, fields = (part[variant, tool, :SEEN] for part in (static.tool_ids, static.tool_fields))
        return self._damage.tool(ids), fields


def _agree(taught: Tensor, scores: Tensor, without_own: bool = False) -> Tensor:
    scores = scores / TEMPERATURE
    if without_own:
        own = torch.eye(len(scores), dtype=torch.bool, device=scores.device)
        taught, scores = taught.masked_fill(own, -1e3), scores.masked_fill(own, -1e4)
    return agreement(taught, scores)


def distil(student: Static, source: Distillation, plan: StaticPlan, say: Say) -> None:
    """Bring the table near the teacher over the whole vocabulary."""
    optimiser = torch.optim.Adam(student.parameters(), lr=plan.distil_rate)
    for step in range(plan.distil_steps):
        _set_rate(optimiser, plan.distil_rate * course(step, plan.distil_steps, 50, 0.0))
        loss = source.loss(student, plan.distil_batch)
        _descend(optimiser, loss)
        if step % 250 == 0:
            say(f"distillation step {step} of {plan.distil_steps}, loss {loss.item():.3f}")


class Taught:
    """The teacher's vectors of all queries and tools as they are."""

    def __init__(self, items: Items, teacher: MiniLM) -> None:
        self._queries = encode(teacher, items.strong.query_ids)
        self._tools = torch.zeros(
            *items.strong.tool_ids.shape[:2], self._queries.shape[1], device=items.device
        )
        for variant in {FULL, *items.weak.variant.unique().tolist()}:
            self._tools[variant] = encode(teacher, items.strong.tool_ids[variant])

    def scores(self, rows: Rows) -> Tensor:
        """How the teacher scores each tool of the rows for each query of them."""
        return self._queries[rows.query] @ self._tools[rows.variant, rows.tool].T


def tune(
    student: Static, items: Items, source: Distillation, taught: Taught, plan: StaticPlan, seed: int, say: Say
) -> None:
    """Fit the table to the pairs, with the teacher's scores beside them and the distillation kept on."""
    chance, damage = np.random.default_rng(seed), Damage(items.words, items.joined, seed)
    batches = [batch for _ in range(plan.epochs) for batch in _epoch(items, plan, chance)]
    optimiser = torch.optim.Adam(student.parameters(), lr=plan.rate)
    for step, (rows, weak) in enumerate(batches):
        _set_rate(optimiser, plan.rate * course(step, len(batches), 20, 0.02))
        queries = items.static.queries(rows)
        queries = damage.lose(queries, LOSS_OF_WEAK) if weak else queries
        scores = student.query(queries) @ student.tool(*items.static.tools(rows)).T
        loss = _fit(student, scores, taught.scores(rows), items.right(rows.query, rows.tool))
        loss = loss + plan.kept * source.loss(student, plan.kept_batch)
        _descend(optimiser, loss)
        if step % 50 == 0:
            say(f"tuning step {step} of {len(batches)}, loss {loss.item():.3f}")


def _fit(student: Static, scores: Tensor, taught: Tensor, right: Tensor) -> Tensor:
    doubtful = taught > taught.diagonal().unsqueeze(1) + DOUBT
    return contrast(scores * student.scale.exp(), right | doubtful) + agreement(taught, scores / TEMPERATURE)


def _epoch(items: Items, plan: StaticPlan, chance: np.random.Generator) -> list[tuple[Rows, bool]]:
    batches = [(rows, False) for _ in range(2) for rows in items.pair_batches(chance, plan.batch)]
    batches += [(rows, True) for rows in items.weak_batches(chance, plan.batch, 1.0)]
    return [batches[i] for i in chance.permutation(len(batches))]


def _set_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    for group in optimiser.param_groups:
        group["lr"] = rate


def _descend(optimiser: torch.optim.Optimizer, loss: Tensor) -> None:
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    optimiser.step()


@torch.no_grad()
def mean(students: list[Static]) -> Static:
    """The mean of tables that began from the same one."""
    out = Static(students[0].rows, students[0].query_weights, students[0].joined)
    for name, parameter in out.named_parameters():
        parameter.copy_(torch.stack([dict(s.named_parameters())[name] for s in students]).mean(0))
    return out


@torch.no_grad()
def narrowed(student: Static, items: Items, width: int) -> Static:
    """The table in the directions in which queries and tools differ most."""
    if student.rows.shape[1] <= width:
        return student
    some = slice(0, 20000)
    vectors = torch.cat([student.query(part) for part in items.static.query_ids[some].split(2048)])
    tools = (part[FULL][some].split(2048) for part in (items.static.tool_ids, items.static.tool_fields))
    vectors = torch.cat(
        [vectors, *(student.tool(ids, fields) for ids, fields in zip(*tools, strict=True))]
    ).double()
    _, directions = torch.linalg.eigh(vectors.T @ vectors)
    out = mean([student])
    out.rows = nn.Parameter(student.rows @ directions.flip(1)[:, :width].float())
    return out
