"""What the installer needs from outside: the clients it can change, and their files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from remit.decision.declarations import Declaration
    from remit.install.record import Target


class Places(Protocol):
    """The clients that Remit can be put into, and their files."""

    clients: Sequence[str]

    def title(self, client: str) -> str: ...

    def targets(self, client: str, declared: Sequence[Declaration]) -> Sequence[Target]: ...

    def projects(self, client: str) -> Sequence[str]: ...

    def read(self, path: str) -> str | None: ...

    def change(self, path: str, change: Callable[[str | None], str | None]) -> None: ...

    def missing_directories(self, path: str) -> Sequence[str]: ...  # above a file, the innermost first

    def remove_empty(self, directories: Sequence[str]) -> None: ...
