"""Projects and the workspaces inside them.

Both are named tuples, not dataclasses: a hook process lives for milliseconds and imports this module.
"""

from hashlib import sha256
from typing import NamedTuple


class Project(NamedTuple):
    """The identity of a repository: the canonical root of its main checkout."""

    path: str
    hash: str


class Workspace(NamedTuple):
    """A launch directory inside a project."""

    dir: str
    checkout: str  # the root of the checkout around `dir`: a linked worktree has its own
    project: Project


def identify(path: str) -> Project:
    """Name the project whose canonical root is `path`."""
    return Project(path=path, hash=sha256(path.encode()).hexdigest()[:16])
