"""The ports of scanning: the clients' files, change notifications, and live servers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from remit.decision.declarations import ClientReading, Declaration, Key
    from remit.decision.declared_launch import Launch
    from remit.decision.projects import View, Workspace
    from remit.files.file_stamps import FileStamps
    from remit.trust.server_sandbox import OpenedPaths, Sandbox
    from remit.upstream.launch.start_obstacles import LaunchFacts
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

    def examine_sandboxes(
        self, facts: LaunchFacts, sandboxes: Mapping[Key, Sandbox | None]
    ) -> LaunchFacts: ...

    def opened_paths(
        self, launch: Launch, sandbox: Sandbox, workspace: Workspace, *, is_projects: bool
    ) -> OpenedPaths: ...

    def foreign_variables(self, client: str, workspace: Workspace) -> frozenset[str]: ...

    def line_of(self, path: str, *keys: str) -> int: ...  # of a member in a file; 0: not there

    def is_on_machine(self, client: str) -> bool: ...

    def leaves_servers(self, client: str) -> bool: ...  # to Remit, which starts them instead


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


class Upstreams(Protocol):
    """Connections to live servers."""

    def ask(
        self, upstreams: Sequence[Upstream], on_answer: Callable[[Upstream, Offer], None]
    ) -> Sequence[Offer]: ...
