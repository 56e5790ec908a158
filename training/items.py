"""Holds what is trained on as padded tensors, and draws passes over it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from packed import Packed
from sets import LEFT_OUT
from text import MARK, PIECES, QUERY_LENGTH, TOOL_LENGTH, Segments, query_sequence, tool_sequence

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


@dataclass(frozen=True)
class Sequences:
    """All queries and tools as one of the models reads them, padded; tools in each of their variants."""

    query_ids: Tensor
    tool_ids: Tensor
    tool_fields: Tensor

    def queries(self, rows: Rows) -> Tensor:
        """The rows' queries, cut to the longest."""
        return cropped(self.query_ids[rows.query])

    def tools(self, rows: Rows) -> tuple[Tensor, Tensor]:
        """The ids and fields of the rows' tools, cut to the longest."""
        ids = cropped(self.tool_ids[rows.variant, rows.tool])
        return ids, self.tool_fields[rows.variant, rows.tool][:, : ids.shape[1]]


class Items:
    """The training items of one mode on one device; pairs' queries come first, weak ones after them."""

    def __init__(self, data: Packed, mode: str, device: torch.device, few: int = 0) -> None:
        names = [meta["name"] for meta in data.meta["train"]]
        left_out = [i for i, name in enumerate(names) if mode == "sel" and name in LEFT_OUT]
        self.device = device
        self._capped = names.index(CAPPED)
        tools = self._take_tools(data, left_out, few)
        place = np.full(len(data.array("tools/set")), -1, np.int64)
        place[tools] = np.arange(len(tools))
        pairs = self._take_pairs(data, place, few)
        weak = self._take_weak(data, place)
        self.strong, self.static = (self._sequences(data, at, tools, pairs, weak) for at in ("", "static/"))
        self._take_golds()
        self._take_vocabulary(data)

    def _take_tools(self, data: Packed, left_out: list[int], few: int) -> NDArray[np.int64]:
        """Keep the tools of this mode; the answer says which of all tools they are."""
        sets = data.array("tools/set")
        kept = np.flatnonzero(~np.isin(sets, left_out))
        if few:
            kept = kept[:: max(1, len(kept) // (8 * few))]
        self._twins = data.array("tools/twin")[kept].astype(np.int64)
        self.twin, self.tool_set = self.tensor(self._twins), self.tensor(sets[kept])
        self._server = data.array("tools/server")[kept].astype(np.int64)
        return kept

    def _take_pairs(self, data: Packed, place: NDArray[np.int64], few: int) -> list[int]:
        golds = [[int(g) for g in place[row] if g >= 0] for row in data.lists("pairs/gold")]
        kept = [i for i, row in enumerate(golds) if row]
        if few:
            kept = kept[:: max(1, len(kept) // few)]
        self.golds = [golds[i] for i in kept]
        self.query_set = data.array("pairs/set")[kept]
        return kept

    def _take_weak(self, data: Packed, place: NDArray[np.int64]) -> list[int]:
        tools = place[data.array("weak/tool")]
        kept = np.flatnonzero(tools >= 0)
        first = len(self.golds)
        self.weak = Rows(
            query=torch.arange(first, first + len(kept), device=self.device),
            tool=self.tensor(tools[kept]),
            variant=self.tensor(data.array("weak/without")[kept]),
        )
        return kept.tolist()

    def _sequences(
        self, data: Packed, at: str, tools: NDArray[np.int64], pairs: list[int], weak: list[int]
    ) -> Sequences:
        columns = [data.lists(f"{at}tools/{field}") for field in Segments._fields]
        segments = [Segments(*(column[i] for column in columns)) for i in tools]
        variants = [[tool_sequence(tool, field) for tool in segments] for field in range(FULL + 1)]
        ids = [self.padded([ids for ids, _ in rows], TOOL_LENGTH) for rows in variants]
        marks = [self.padded([marks for _, marks in rows], TOOL_LENGTH, empty=MARK) for rows in variants]
        queries, weak_queries = data.lists(f"{at}pairs/query"), data.lists(f"{at}weak/query")
        asked = [*(queries[i] for i in pairs), *(weak_queries[i] for i in weak)]
        padded = self.padded([query_sequence(query) for query in asked], QUERY_LENGTH)
        return Sequences(padded, torch.stack(ids), torch.stack(marks))

    def _take_golds(self) -> None:
        golds = [*self.golds, *([tool] for tool in self.weak.tool.tolist())]
        twins = [[int(self._twins[g]) for g in row] for row in golds]
        self.gold_twins = self.padded(twins, max(map(len, twins)), empty=-1)

    def _take_vocabulary(self, data: Packed) -> None:
        """Whole words, pairs of them with the id of both, and what each id is to the strong model."""
        self.words = self.tensor(data.array("words"))
        self.joined = self.tensor(data.array("joined"))
        made_of = [*([i] for i in range(PIECES)), *data.lists("pieces")]
        self.pieces = self.padded(made_of, max(map(len, made_of)))

    def read(self, ids: Tensor) -> Tensor:
        """What the strong model reads where the table reads these ids."""
        made_of = self.pieces[ids].flatten(1)
        order = torch.sort((made_of == 0).to(torch.uint8), dim=1, stable=True).indices
        return cropped(torch.gather(made_of, 1, order))

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
