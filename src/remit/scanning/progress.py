"""How far something has come that takes long."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from remit.upstream.upstream_model import Offer


class Progress(NamedTuple):
    """How far the asking of servers, or the reading of texts, has come."""

    done: int
    total: int
    label: str = ""  # the server that answered last
    offer: Offer | None = None
