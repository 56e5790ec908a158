"""The proof without which no server is started: the exact entry was read, and trusted where it must be."""

from collections.abc import Collection
from typing import NamedTuple

from remit.decision import Declaration, Launch, Status, Workspace, needs_trust

_SEAL = object()


class StartPermit:
    """What may be started, and where; only `permit_start` makes one."""

    def __init__(self, seal: object, launch: Launch, directory: str) -> None:
        if seal is not _SEAL:
            raise TypeError("only `permit_start` permits starts")
        self.launch = launch
        self.directory = directory


class StartOptions(NamedTuple):
    """How the configuration lets a server start."""

    inherits: bool = True


def permit_start(
    declaration: Declaration, workspace: Workspace, *, home: str, trusted: Collection[str]
) -> StartPermit | None:
    """Permit the start of a server with the entry that was just read; None if nobody may start it."""
    launch = declaration.launch
    if launch is None or declaration.status is not Status.ENABLED:
        return None
    is_projects = needs_trust(declaration.scope, declaration.project_hash, declaration.source, workspace)
    if is_projects and declaration.digest not in trusted:
        return None
    # The user's servers start at home: runners look in the working directory for packages.
    return StartPermit(_SEAL, launch, workspace.dir if is_projects else home)
