"""The stored states of workspaces, as last known while the store cannot be used."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from remit.errors import StoreUnavailableError

if TYPE_CHECKING:
    from remit.decision.projects import Workspace
    from remit.states.observations import StoredObservation, StoredStates
    from remit.states.snapshot_reader import ObservedStates


class LastKnownStates:
    """Reads and keeps states; without the store, detectors still run and pushed values still expire."""

    def __init__(self, store: ObservedStates) -> None:
        self._store = store
        self._known: dict[str, StoredStates] = {}

    def known(self, workspace: Workspace) -> StoredStates:
        """Return what is stored, or what was stored when the store could last be used."""
        try:
            self._known[workspace.dir] = self._store.known(workspace)
        except StoreUnavailableError:
            if workspace.dir not in self._known:
                raise
        return self._known[workspace.dir]

    def claim(self, name: str, mark: str, workspace: Workspace, at: int, until: int) -> bool:
        """Claim the detection of a state; without the store, each process detects for itself."""
        try:
            return self._store.claim(name, mark, workspace, at, until)
        except StoreUnavailableError:
            return True

    def keep_observation(self, name: str, kept: StoredObservation, workspace: Workspace) -> None:
        """Store the result of a detector, if possible: it is found again otherwise."""
        with suppress(StoreUnavailableError):
            self._store.keep_observation(name, kept, workspace)
