"""Cuts long lists into pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

Item = TypeVar("Item")


class Paged(NamedTuple, Generic[Item]):
    """One page of a list."""

    items: Sequence[Item]
    number: int  # from 1
    pages: int  # at least 1
    total: int  # of items on all pages
    first: int  # position of the first item, from 1

    @property
    def last(self) -> int:
        """The position of the last item."""
        return self.first + len(self.items) - 1


def paged(items: Sequence[Item], number: int, size: int) -> Paged[Item]:
    """Return a page of a list, the last one if there are fewer."""
    pages = max(1, -(-len(items) // size))
    number = min(max(number, 1), pages)
    start = (number - 1) * size
    return Paged(items[start : start + size], number, pages, len(items), start + 1)


def page_of(items: Sequence[Item], number: int, size: int, total: int) -> Paged[Item]:
    """Return a page whose items were read already."""
    return Paged(items, number, max(1, -(-total // size)), total, (number - 1) * size + 1)
