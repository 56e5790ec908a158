"""How the gateway serves: the strategies it lists tools by, and the options of a server.

Named tuples, because every command loads these and dataclasses are ten times slower to create.
"""

from enum import StrEnum
from typing import NamedTuple

PRINCIPAL = "principal"
CREDENTIALS = ("machine", PRINCIPAL)  # whose credentials a server is used with


class Strategy(StrEnum):
    """How the gateway lists visible tools; `presentation/listing_strategies.py` has a function for each."""

    AUTO = "auto"
    FLAT = "flat"
    STATE = "state"
    NAMESPACE = "namespace"
    ROOMS = "rooms"
    MANIFEST = "manifest"
    SEARCH = "search"


class ServerOptions(NamedTuple):
    """How the gateway runs and names a server; None means the default."""

    prefix: bool | None = None  # whether to prefix its tools with its name
    sessions: str | None = None
    inherit_env: bool | tuple[str, ...] | None = None
    deadline: float | None = None  # seconds per request
    credentials: str | None = None  # whose it is used with


class PresentationOptions(NamedTuple):
    """How visible tools are presented; None means not set."""

    strategy: str | None = None
    token_budget: int | None = None
