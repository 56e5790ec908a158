"""A sighting: somebody used a tool, or said that it exists.

Named tuples, not dataclasses: a hook process lives for milliseconds and imports this module.
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
    # Whether the last scan of the workspace still holds. If not, the tool is kept to the workspace until the
    # next scan says which server it belongs to.
    is_scanned: bool
    server: str | None = None  # as the client names it, where it says so
    scope: Scope | None = None  # where the sender claims to know it


class Use(NamedTuple):
    """What is known of one call."""

    session_id: str | None = None
    call_id: str | None = None
    succeeded: bool | None = None
    duration_ms: int | None = None
