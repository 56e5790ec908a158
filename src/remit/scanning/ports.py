"""The ports of scanning: the teams of a shared store, and change notifications."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from remit.decision.projects import Workspace


class Teams(Protocol):
    """The teams in a shared store."""

    def locate(self, name: str) -> Workspace: ...  # of a team's project

    def servers(self, workspace: Workspace) -> Mapping[str, str]: ...  # entries as JSON, by name


class Notifier(Protocol):
    """Reports changes at paths quickly, on a best-effort basis: it may miss some."""

    @property
    def is_stopped(self) -> bool: ...

    def watch(self, places: Collection[str]) -> bool: ...  # whether the watched directories changed

    def wait(self, seconds: float) -> Collection[str]: ...  # the paths that changed

    def stop(self) -> None: ...
