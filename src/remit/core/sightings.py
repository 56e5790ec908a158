"""A sighting: somebody used a tool, or said that it exists.

A named tuple, not a dataclass: a hook process lives for milliseconds and imports this module.
"""

from typing import NamedTuple

from remit.core.kinds import Authority
from remit.core.projects import Workspace
from remit.core.scopes import Scope


class Sighting(NamedTuple):
    """A tool that somebody used or reported, and where."""

    name: str
    client: str
    workspace: Workspace
    authority: Authority
    at: int
    server: str | None = None  # as the client names it, where it says so
    scope: Scope | None = None  # where the sender claims to know it
