"""Holds what is trained on as padded tensors, and draws passes over it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from packed import Packed
from text import MARK, QUERY_LENGTH, TOOL_LENGTH, Segments, query_sequence, tool_sequence

LEFT_OUT = ("metatool", "seal-tools")  # of mode `sel`, so that all dev sets lie outside of training
CAPPED, CAP = "metatool", 8000  # more of its queries in one pass would drown the other sets
GOLDS = 2  # of one query, in one pass
FULL = MARK  # the variant of a tool that has all its fields; the others are without the field they are called


@dataclass(frozen=True)
class Rows:
    """Items: a query, the tool that answers it, and the variant of that tool."""

    query: Tensor
    tool: Tensor
    variant: Tensor

    def at(self, places: Tensor | slice) -> "Rows":
        """Some of the items."""
        return Rows(self.query[places], self.tool[places], self.variant[places])

    def __len__(self) -> int:
        return len(self.query)


class Items:
    """The training items of one mode on one device; pairs' queries come first, weak ones after them."""

    def __init__(self, data: Packed, mode: str, device: torch.device, few: int = 0) -> None:
        names = [meta["name"] for meta in data.meta["train"]]
        left_out = [i for i, name in enumerate(names) if mode == "sel" and name in LEFT_OUT]
        self.device = device
        self._capped = names.index(CAPPED)
        place = self._take_tools(data, left_out, few)
        pairs = self._take_pairs(data, place, few)
        weak, tools = self._take_weak(data, place)
        self.query_ids = self.padded([query_sequence(ids) for ids in pairs + weak], QUERY_LENGTH)
        golds = [[int(self._twins[g]) for g in row] for row in [*self.golds, *([tool] for tool in tools)]]
        self.gold_twins = self.padded(golds, max(map(len, golds)), empty=-1)
        self.words = self.tensor(data.array("words"))

    def _take_tools(self, data: Packed, left_out: list[int], few: int) -> NDArray[np.int64]:
        """Keep the tools of this mode; the answer says where each of all tools is among them, or -1."""
        sets = data.array("tools/set")
        kept = np.flatnonzero(~np.isin(sets, left_out))
        if few:
            kept = kept[:: max(1, len(kept) // (8 * few))]
        columns = [data.lists(f"tools/{field}") for field in Segments._fields]
        tools = [Segments(*(column[i] for column in columns)) for i in kept]
        variants = [[tool_sequence(tool, field) for tool in tools] for field in range(FULL + 1)]
        self.tool_ids = torch.stack([self.padded([ids for ids, _ in rows], TOOL_LENGTH) for rows in variants])
        marks = [self.padded([marks for _, marks in rows], TOOL_LENGTH, empty=MARK) for rows in variants]
        self.tool_fields = torch.stack(marks)
        self._twins = data.array("tools/twin")[kept].astype(np.int64)
        self.twin, self.tool_set = self.tensor(self._twins), self.tensor(sets[kept])
        self._server = data.array("tools/server")[kept].astype(np.int64)
        place = np.full(len(sets), -1, np.int64)
        place[kept] = np.arange(len(kept))
        return place

    def _take_pairs(self, data: Packed, place: NDArray[np.int64], few: int) -> list[list[int]]:
        golds = [[int(g) for g in place[row] if g >= 0] for row in data.lists("pairs/gold")]
        kept = [i for i, row in enumerate(golds) if row]
        if few:
            kept = kept[:: max(1, len(kept) // few)]
        queries = data.lists("pairs/query")
        self.golds = [golds[i] for i in kept]
        self.query_set = data.array("pairs/set")[kept]
        return [queries[i] for i in kept]

    def _take_weak(self, data: Packed, place: NDArray[np.int64]) -> tuple[list[list[int]], list[int]]:
        tools = place[data.array("weak/tool")]
        kept = np.flatnonzero(tools >= 0)
        queries = data.lists("weak/query")
        first = len(self.golds)
        self.weak = Rows(
            query=torch.arange(first, first + len(kept), device=self.device),
            tool=self.tensor(tools[kept]),
            variant=self.tensor(data.array("weak/without")[kept]),
        )
        return [queries[i] for i in kept], tools[kept].tolist()

    def pairs(self, chance: np.random.Generator) -> Rows:
        """One pass over the pairs: up to two tools of each query, not too many queries of one set."""
        capped = np.flatnonzero(self.query_set == self._capped)
        others = np.flatnonzero(self.query_set != self._capped)
        queries = chance.permutation([*others, *chance.permutation(capped)[:CAP]])
        drawn = [(q, g) for q in queries for g in chance.permutation(self.golds[q])[:GOLDS]]
        query, tool = np.array(drawn, np.int64).reshape(-1, 2).T
        return Rows(self.tensor(query), self.tensor(tool), self.tensor(np.full(len(tool), FULL)))

    def pair_batches(self, chance: np.random.Generator, size: int) -> Iterator[Rows]:
        """One pass over the pairs, in batches of one size."""
        rows = self.pairs(chance)
        for start in _starts(len(rows), size):
            yield rows.at(slice(start, start + size))

    def weak_batches(self, chance: np.random.Generator, size: int, share: float) -> Iterator[Rows]:
        """A share of the weak pairs: half of the batches shuffled, half of them server by server."""
        drawn = chance.permutation(len(self.weak))[: int(share * len(self.weak))]
        mixed, sorted_ = np.array_split(drawn, 2)
        servers = self._server[self.weak.tool.cpu().numpy()[sorted_]]
        order = chance.permutation(int(self._server.max()) + 1)[servers]
        for places in (mixed, sorted_[np.argsort(order, kind="stable")]):
            for start in _starts(len(places), size):
                yield self.weak.at(self.tensor(places[start : start + size]))

    def queries(self, rows: Rows) -> Tensor:
        """The rows' queries, cut to the longest."""
        return cropped(self.query_ids[rows.query])

    def tools(self, rows: Rows) -> tuple[Tensor, Tensor]:
        """The ids and fields of the rows' tools, cut to the longest."""
        ids = cropped(self.tool_ids[rows.variant, rows.tool])
        return ids, self.tool_fields[rows.variant, rows.tool][:, : ids.shape[1]]

    def right(self, query: Tensor, tool: Tensor) -> Tensor:
        """Which of the tools answer which of the queries, twins included."""
        return (self.gold_twins[query].unsqueeze(2) == self.twin[tool].view(1, 1, -1)).any(1)

    def tensor(self, values: NDArray[np.integer]) -> Tensor:
        """Whole numbers on the device."""
        return torch.from_numpy(np.ascontiguousarray(values, dtype=np.int64)).to(self.device)

    def padded(self, rows: Sequence[Sequence[int]], length: int, empty: int = 0) -> Tensor:
        """Rows of one length."""
        out = np.full((len(rows), length), empty, np.int64)
        for i, row in enumerate(rows):
            out[i, : len(row)] = row
        return self.tensor(out)


def cropped(ids: Tensor) -> Tensor:
    """Padded ids without the columns that are all padding; the width stays a multiple of eight."""
    longest = int((ids > 0).sum(1).max())
    return ids[:, : -(-longest // 8) * 8]


def _starts(count: int, size: int) -> range:
    """Where batches begin; a last one under a quarter of the size is not worth its step."""
    return range(0, max(count - size // 4, 1), size)
