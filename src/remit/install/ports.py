"""The port of the installer: the clients it can edit, and their files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from remit.decision.declarations import Declaration
    from remit.install.install_record import TargetFile


class InstallTargets(Protocol):
    """The clients that Remit can be installed in, and their files."""

    clients: Sequence[str]

    def title(self, client: str) -> str: ...

    def takes_over(self, client: str) -> bool: ...  # the client stops loading what Remit serves

    def steps(self, client: str) -> str: ...  # by which its user switches off servers, where Remit cannot

    def targets(
        self,
        client: str,
        declared: Sequence[Declaration],
        blocks: Sequence[str],
        served: Callable[[], Sequence[Declaration]] = tuple,  # asked only by clients with switches
    ) -> Sequence[TargetFile]: ...

    def projects(self, client: str) -> Sequence[str]: ...

    def read(self, path: str) -> str | None: ...

    def change(self, path: str, change: Callable[[str | None], str | None]) -> None: ...

    def missing_directories(self, path: str) -> Sequence[str]: ...  # innermost first

    def remove_empty(self, directories: Sequence[str]) -> None: ...
