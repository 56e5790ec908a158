"""The context of a hook: an open store, the machine and the workspace, without the registry.

This module needs only the standard library, without `dataclasses`, and the SQLite driver. It imports larger
parts only when the store alone cannot answer.
"""

import os
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from remit.configuration.file_paths import configuration_paths
from remit.configuration.store_place import store_place
from remit.decision.client_reports import CallOutcome, ReportedTool
from remit.decision.kinds import Authority
from remit.decision.projects import DEFAULT_FLAGS, LaunchFlags, Workspace
from remit.decision.tool_names import storable
from remit.files.bounded_reader import Machine, are_unchanged, fingerprint, this_machine
from remit.files.checkout import locate
from remit.store.hook_store import HookStore

if TYPE_CHECKING:
    from remit.memory.project_memory import Memory
    from remit.memory.traces import Trace
    from remit.registry import Registry

CLIENT = "claude-code"


def _open_registry() -> "Registry":
    from remit.bootstrap import open_registry

    return open_registry()


def _open_installed_registry(record: str) -> "Registry":
    """Open the registry without variables by which a repository could choose the programs of detectors."""
    from remit.clients.project_variables import take_back
    from remit.install.recorded_environment import read_environment

    path = read_environment(record).path
    for directory in dict.fromkeys((os.environ.get("CLAUDE_PROJECT_DIR") or os.curdir, os.curdir)):
        take_back(os.environ, CLIENT, locate(directory), path)
    return _open_registry()


def _open_memory(directory: str) -> "Memory":
    from remit.bootstrap import open_memory

    return open_memory(directory)


def _refresh_blocks() -> bool:
    from remit.bootstrap import refresh_blocks

    return refresh_blocks(may_remove=False)


def _now() -> int:
    return time.time_ns() // 1_000_000


def _leave_blocks() -> None:
    """Change nothing: without an install record, no rule of the client is Remit's."""


class HookEnvironment(NamedTuple):
    """The clocks of a hook, and the functions that open larger parts of Remit."""

    now: Callable[[], int] = _now  # Unix milliseconds
    now_ns: Callable[[], int] = time.time_ns  # for comparison with file times
    open_registry: "Callable[[], Registry]" = _open_registry
    open_memory: "Callable[[str], Memory]" = _open_memory
    refresh_blocks: Callable[[], object] = _leave_blocks  # in the client's own rules


SYSTEM = HookEnvironment()


def installed(record: str) -> HookEnvironment:
    """Return the environment of a hook with an install record."""
    return HookEnvironment(
        open_registry=lambda: _open_installed_registry(record), refresh_blocks=_refresh_blocks
    )


class HookContext(NamedTuple):
    """An open store, with its client and workspace."""

    store: HookStore
    machine: Machine
    workspace: Workspace
    client: str
    environment: HookEnvironment

    def is_scanned(self, flags: LaunchFlags = DEFAULT_FLAGS) -> bool:
        """Return whether the last scan is current."""
        return are_unchanged(self.store.inputs(flags), self.machine, now_ns=self.environment.now_ns())

    def configuration_fingerprints(self) -> Mapping[str, str]:
        """Return the fingerprints of Remit's own configuration files."""
        at = self.environment.now_ns()
        return {path: fingerprint(path, self.machine, now_ns=at) for path in self._configuration_paths()}

    def refresh_configuration(self) -> None:
        """Read Remit's own configuration if a file has changed since the last time."""
        found = self.configuration_fingerprints()
        known = self.store.configuration_inputs()
        if known == found if known is not None else not any(found.values()):
            return
        from remit.configuration.configuration_service import ConfigurationService
        from remit.configuration.toml_files import TomlFiles

        files = TomlFiles(self.machine)
        service = ConfigurationService(self.store.states(), files, self.environment.now)
        service.current(self.workspace)

    def watched_files(self, flags: LaunchFlags = DEFAULT_FLAGS) -> list[str]:
        """List the files to watch: the client's, and Remit's own."""
        paths = (*self.store.inputs(flags), *self._configuration_paths())
        # A missing directory cannot be watched; the client itself reports other changes.
        return sorted(
            {
                path
                for path in paths
                if path.endswith((".json", ".toml", ".lock")) and os.path.isdir(os.path.dirname(path))
            }
        )

    def record_use(
        self,
        name: str,
        use: CallOutcome,
        *,
        server: str | None = None,
        source: str | None = None,
        subject: str | None = None,
        at: int | None = None,
        trace: "Trace | None" = None,
        cwd: str = "",
    ) -> bool:
        """Count one use of a tool; False if the call was already counted.

        A trace is stored if it belongs to the checkout; its paths are relative to `cwd`.
        """
        reported = ReportedTool(
            name,
            self.client,
            self.workspace,
            Authority.HOOK,
            self.environment.now() if at is None else at,
            self.is_scanned(),
            server=None if server is None else storable(server),
            subject=None if subject is None else storable(subject),
            source=source,
        )
        if use.succeeded or trace is not None:  # the configuration has transitions and the setting for traces
            self.refresh_configuration()
        return self.store.record(reported, use, self._kept_trace(trace, cwd))

    def report_call(
        self, session_id: str, call_id: str, *, trace: "Trace | None" = None, cwd: str = ""
    ) -> None:
        """Store the session and the trace of a call through the gateway, which counts it itself."""
        if trace is not None:
            self.refresh_configuration()
        self.store.report_call(
            CallOutcome(session_id, call_id), self.environment.now(), self._kept_trace(trace, cwd)
        )

    def _kept_trace(self, trace: "Trace | None", cwd: str) -> "Trace | None":
        if trace is None or not self.store.is_observing():
            return None
        from remit.memory.trace_rules import inside

        return inside(trace, self.workspace, cwd or self.workspace.dir)

    def _configuration_paths(self) -> list[str]:
        return [path for _, path, _ in configuration_paths(self.workspace, self.machine)]


@contextmanager
def open_context(
    directory: str, environment: HookEnvironment = SYSTEM, client: str = CLIENT
) -> Generator[HookContext]:
    """Open the store for one step, for a client in a directory.

    Raises:
        BadVariableError: a variable that names a directory is invalid.
        BadFileError: a file names a store that is not a PostgreSQL database.
        NoSuchDirectoryError: the directory does not exist.
        StoreError: the database cannot be used.
    """
    machine, workspace = this_machine(), locate(directory)
    store = HookStore(store_place(machine).place, workspace, client)
    try:
        yield HookContext(store, machine, workspace, client, environment)
    finally:
        store.close()


def record_use(
    name: str,
    *,
    directory: str = ".",
    client: str = CLIENT,
    server: str | None = None,
    subject: str | None = None,
    session_id: str | None = None,
    call_id: str | None = None,
    succeeded: bool | None = None,
    duration_ms: int | None = None,
    at: int | None = None,
) -> bool:
    """Count one use of a tool from a short-lived process; False if the call was already counted.

    If the tool starts a skill, command or agent, `subject` is its name.

    Raises:
        BadVariableError: a variable that names a directory is invalid.
        NoSuchDirectoryError: the directory does not exist.
        StoreError: the database cannot be used.
    """
    use = CallOutcome(session_id, call_id, succeeded, duration_ms)
    with open_context(directory, client=client) as context:
        return context.record_use(name, use, server=server, subject=subject, at=at)


def rescan(directory: str, *, is_headless: bool = False, environment: HookEnvironment = SYSTEM) -> list[str]:
    """Read changed files again, and return the files to watch.

    Raises:
        BadVariableError: a variable that names a directory is invalid.
        NoSuchDirectoryError: the directory does not exist.
        StoreError: the database cannot be used.
    """
    views = [DEFAULT_FLAGS, LaunchFlags(is_headless=True)] if is_headless else [DEFAULT_FLAGS]
    with open_context(directory, environment) as context:
        if not all(context.is_scanned(flags) for flags in views):
            with environment.open_registry() as registry:
                for flags in views:
                    registry.refresh(registry.at(directory, CLIENT, is_headless=flags.is_headless))
        context.refresh_configuration()
        return context.watched_files(views[-1])
