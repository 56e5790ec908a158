"""What scanning needs from outside: the clients' files, notifications of changes, and live servers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from remit.decision.declarations import ClientReading, Declaration
    from remit.decision.projects import View, Workspace
    from remit.files.file_stamps import FileStamps
    from remit.upstream.launch.launch_facts import LaunchFacts
    from remit.upstream.upstream_model import Offer, Upstream


class Sources(Protocol):
    """The clients' files on this machine."""

    home: str
    clients: Sequence[str]

    def locate(self, directory: str) -> Workspace: ...

    def canonical(self, path: str) -> str: ...

    def exists(self, path: str) -> bool: ...

    def is_unchanged(self, inputs: Mapping[str, str]) -> bool: ...

    def stamps(self, inputs: Iterable[str]) -> FileStamps: ...

    def read(self, view: View) -> ClientReading: ...

    def examine(self, declarations: Sequence[Declaration], workspace: Workspace) -> LaunchFacts: ...

    def leaves_servers(self, client: str) -> bool: ...  # to Remit, which starts them in its place


class Notifier(Protocol):
    """Tells at once that something happened at places, as far as it can; nobody may rely on it."""

    @property
    def is_stopped(self) -> bool: ...

    def watch(self, places: Collection[str]) -> bool: ...  # whether other directories are watched now

    def wait(self, seconds: float) -> bool: ...

    def stop(self) -> None: ...


class Upstreams(Protocol):
    """Servers that are started or reached for real."""

    def ask(
        self, upstreams: Sequence[Upstream], on_answer: Callable[[Upstream, Offer], None]
    ) -> Sequence[Offer]: ...
