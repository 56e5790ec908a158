"""What a process does that lives for milliseconds: put together without the registry.

Everything here needs the standard library and the SQLite driver, without `dataclasses`; what needs more is
imported where nothing shorter gives the right answer.
"""

import json
import os
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from remit.configuration.file_paths import configuration_paths
from remit.decision.projects import Workspace
from remit.decision.views import USUAL, Flags
from remit.files.bounded_reader import Machine, are_unchanged, fingerprint, this_machine
from remit.files.checkout import locate
from remit.policy.audit import AUDIT_LIFETIME, MOST_AUDITED, AuditEntry, Outcome
from remit.settings import DATABASE, data_directory
from remit.store.database import Database, seen_from

if TYPE_CHECKING:
    from remit.memory.traces import Trace

CLIENT = "claude-code"
_DAY = 24 * 3_600_000  # milliseconds
_EVENTS_KEPT_FOR = 365 * _DAY  # for which each use is; how many there were stays known
_TRACES_KEPT_FOR = 30 * _DAY


class Here(NamedTuple):
    """An open database, and who asks from where."""

    database: Database
    machine: Machine
    workspace: Workspace
    client: str = CLIENT

    def inputs(self, flags: Flags = USUAL) -> dict[str, str]:
        """List what the last scan looked at."""
        rows = self.database.rows("inputs", **self.view(flags))
        return dict(rows)

    def is_scanned(self, flags: Flags = USUAL) -> bool:
        """Tell whether the last scan still holds."""
        return are_unchanged(self.inputs(flags), self.machine, now_ns=_now_ns())

    def view(self, flags: Flags = USUAL) -> dict[str, str]:
        """Name the view of the client's configuration."""
        place = {"workspace": self.workspace.dir, "project": self.workspace.project.hash}
        return {"client": self.client, "flags": flags.key, **place}

    def session(self, session_id: str) -> dict[str, str]:
        """Name a session in this project."""
        return {"client": self.client, "session_id": session_id, "project": self.workspace.project.hash}


@contextmanager
def visiting(directory: str, client: str = CLIENT) -> Generator[Here]:
    """Open the database for one step, as a client in a directory.

    Raises:
        BadVariableError: a variable that names a directory cannot be used.
        NoSuchDirectoryError: there is no such directory.
        StoreError: the database cannot be used.
    """
    machine, workspace = this_machine(), locate(directory)
    folder = data_directory(machine.variables, machine.platform, machine.home)
    database = Database(os.path.join(folder, DATABASE))
    try:
        yield Here(database, machine, workspace, client)
    finally:
        database.leave()


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
    trace: "Trace | None" = None,
    made_in: str = "",
) -> bool:
    """Count one use of a tool, from a process that lives only for this; False when the call was known.

    Of a tool that starts something, `subject` names that: the skill, the command or the agent. What the call
    left behind, `trace`, is kept where that is in the same checkout; `made_in` is where its paths begin.

    Raises:
        BadVariableError: a variable that names a directory cannot be used.
        NoSuchDirectoryError: there is no such directory.
        StoreError: the database cannot be used.
    """
    from remit.decision.client_reports import CallOutcome, ReportedTool
    from remit.decision.kinds import Authority
    from remit.decision.tool_names import storable
    from remit.store.usage_store import record

    with visiting(directory, client) as here:
        reported = ReportedTool(
            name,
            client,
            here.workspace,
            Authority.HOOK,
            now() if at is None else at,
            here.is_scanned(),
            server=None if server is None else storable(server),
            subject=None if subject is None else storable(subject),
        )
        if succeeded or trace is not None:  # which may change a state, or is not to be kept
            _configure(here)
        use = CallOutcome(session_id, call_id, succeeded, duration_ms)
        return record(here.database, reported, use, _kept(trace, here, made_in))


def report_call(session_id: str, call_id: str, directory: str, client: str = CLIENT) -> None:
    """Tell in which session a call was that only the gateway can count."""
    from remit.decision.client_reports import CallOutcome
    from remit.store.usage_store import report

    with visiting(directory, client) as here:
        report(here.database, here.workspace, client, CallOutcome(session_id, call_id), now())


def audit_refusal(
    tool: str, *, agent: str | None, verdict: str, gate: str | None, directory: str, client: str = CLIENT
) -> None:
    """Keep that a call was refused before it was made."""
    at = now()
    entry = AuditEntry(at, "hook", client, agent, None, tool, verdict, gate, Outcome.REFUSED, 0, 0, 0)
    with visiting(directory, client) as here:
        project = here.workspace.project
        with here.database.transaction():
            here.database.run("see_project", hash=project.hash, path=project.path, at=at)
            here.database.run("add_audit", project=project.hash, **entry._asdict())


def is_known(name: str, directory: str, client: str = CLIENT) -> bool:
    """Tell whether a directory has a tool of this name."""
    with visiting(directory, client) as here:
        return bool(here.database.rows("is_known", name=name, client=client, **seen_from(here.workspace)))


def begin_session(session_id: str, here: Here, states: str = "", transcript: str | None = None) -> None:
    """Keep that a session begins or goes on, with the states that hold, as JSON, and where it is written."""
    project, at = here.workspace.project, now()
    with here.database.transaction():
        here.database.run("see_project", hash=project.hash, path=project.path, at=at)
        here.database.run(
            "begin_session", **here.session(session_id), at=at, states=states, transcript=transcript
        )


def end_session(session_id: str, directory: str, client: str = CLIENT) -> None:
    """Keep that a session ended, and forget of its project what is too old to matter.

    Raises:
        BadVariableError: a variable that names a directory cannot be used.
        NoSuchDirectoryError: there is no such directory.
        StoreError: the database cannot be used.
    """
    with visiting(directory, client) as here:
        project, at = here.workspace.project, now()
        with here.database.transaction():
            here.database.run("see_project", hash=project.hash, path=project.path, at=at)
            here.database.run("end_session", **here.session(session_id), at=at)
            for step in ("forget_old_events", "forget_old_sessions", "forget_old_suggestions"):
                here.database.run(step, project=project.hash, before=at - _EVENTS_KEPT_FOR)
            here.database.run("prune_audit", before=at - AUDIT_LIFETIME, most=MOST_AUDITED)
            here.database.run("forget_old_reports", project=project.hash, before=at - _DAY)
            here.database.run("forget_old_traces", project=project.hash, before=at - _TRACES_KEPT_FOR)


def suggestions_made(session_id: str, directory: str, client: str = CLIENT) -> tuple[int, int]:
    """Count what was suggested in a session, and the calls since the last of it.

    Raises:
        BadVariableError: a variable that names a directory cannot be used.
        NoSuchDirectoryError: there is no such directory.
        StoreError: the database cannot be used.
    """
    with visiting(directory, client) as here:
        made, _, calls = here.database.rows("suggestions_in_session", **here.session(session_id))[0]
        return made, calls


def suggest(
    prompt: str,
    session_id: str,
    directory: str,
    *,
    agent: str | None = None,
    is_headless: bool = False,
    client: str = CLIENT,
) -> str:
    """Say which tools may help with a prompt; empty where none is likely to.

    Raises:
        BadVariableError: a variable that names a directory cannot be used.
        NoSuchDirectoryError: there is no such directory.
        StoreError: the database cannot be used.
    """
    from remit.bootstrap import open_registry

    with open_registry() as registry:
        here = registry.as_agent(agent, registry.at(directory, client, is_headless=is_headless))
        return registry.suggest(here, session_id=session_id, prompt=prompt)


def rescan(directory: str, *, is_headless: bool = False, client: str = CLIENT) -> list[str]:
    """Read again what changed, and name the files that a change would matter of.

    Raises:
        BadVariableError: a variable that names a directory cannot be used.
        NoSuchDirectoryError: there is no such directory.
        StoreError: the database cannot be used.
    """
    views = [USUAL, Flags(is_headless=True)] if is_headless else [USUAL]
    with visiting(directory, client) as here:
        if not all(here.is_scanned(flags) for flags in views):
            from remit.bootstrap import open_registry

            with open_registry() as registry:
                for flags in views:
                    registry.refresh(registry.at(directory, client, is_headless=flags.is_headless))
        _configure(here)
        return watched(here, views[-1])


def watched(here: Here, flags: Flags = USUAL) -> list[str]:
    """Name the files that a change would matter of: the client's, and Remit's own."""
    own = [path for _, path, _ in configuration_paths(here.workspace, here.machine)]
    found = {path for path in (*here.inputs(flags), *own) if path.endswith((".json", ".toml"))}
    # A folder that is not there cannot be watched; what else changes, the client itself tells of.
    return sorted(path for path in found if os.path.isdir(os.path.dirname(path)))


def fingerprints(here: Here) -> Mapping[str, str]:
    """Tell the states of the files of Remit's own configuration."""
    at = _now_ns()
    paths = [path for _, path, _ in configuration_paths(here.workspace, here.machine)]
    return {path: fingerprint(path, here.machine, now_ns=at) for path in paths}


def _kept(trace: "Trace | None", here: Here, made_in: str) -> "Trace | None":
    """Tell what is to be kept of a trace, if anything."""
    if trace is None:
        return None
    from remit.memory.checkout_traces import inside
    from remit.store.trace_store import is_observing

    if not is_observing(here.database, here.workspace):
        return None
    return inside(trace, here.workspace, made_in or here.workspace.dir)


def _configure(here: Here) -> None:
    """Read Remit's own configuration of a workspace, if any of it changed since it was last read."""
    inputs = fingerprints(here)
    known = here.database.rows(
        "configuration", workspace=here.workspace.dir, project=here.workspace.project.hash
    )
    if json.loads(known[0][0]) == inputs if known else not any(inputs.values()):
        return
    from remit.configuration.configuration_service import ConfigurationService
    from remit.configuration.toml_files import TomlFiles
    from remit.store.state_store import SqliteStates

    states = SqliteStates(here.database)
    ConfigurationService(states, TomlFiles(here.machine), now).current(here.workspace)


def _now_ns() -> int:
    return time.time_ns()


def now() -> int:
    """Tell the time, in Unix milliseconds."""
    return _now_ns() // 1_000_000
