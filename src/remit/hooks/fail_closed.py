"""The answer to an event that a hook could not handle: closed, if a rule could forbid the call.

The user's and the administrator's rules deny: the repository may be what makes the hook fail, and it must not
lift a block. Rules of the project itself only ask, because a person can judge those. Without any rule, a
failing hook changes nothing.
"""

import json
import os

from remit.configuration.file_paths import configuration_paths, machine_paths
from remit.decision.tool_names import MCP
from remit.errors import BadVariableError, NoSuchDirectoryError, RemitError, StoreError
from remit.files.bounded_reader import FileError, Machine
from remit.files.checkout import locate
from remit.hooks.event import Event, added_context, permission_decision
from remit.hooks.guarded_answer import ASK, BUSY, DENY, LATE, SESSION, SILENT

BEFORE_CALLS = "PreToolUse"
_REPAIR = (
    "Ask the user to run `remit doctor`, which names the files to fix; "
    "`remit uninstall claude-code` removes the hook"
)
_UNDECIDED = "Remit could not decide whether this call is allowed here ({}). " + _REPAIR + "."
_BUSY = (
    "Remit could not decide in time whether this call is allowed here, because the machine is too busy. "
    "Call the tool again."
)
_UNREAD = "Remit could not prepare this session ({}), so tools may be missing or outdated. " + _REPAIR + "."


_CAUSES = (  # in plain words, because people and models read them; the log has the error itself
    (StoreError, "Remit's database cannot be used"),
    (NoSuchDirectoryError, "the directory of this session does not exist"),
    (BadVariableError, "a variable that names a directory is invalid"),
    (RemitError, "Remit's own files cannot be used"),
    (TimeoutError, LATE),
    ((OSError, FileError), "a file cannot be read"),
    (ValueError, "the event cannot be read"),
)


def cause(error: Exception) -> str:
    """Say in plain words why an event could not be handled."""
    found = (words for kinds, words in _CAUSES if isinstance(error, kinds))
    return next(found, "an unexpected error in Remit")


def closed_answer(note: bytes, why: str) -> str:
    """Return the answer to an event whose handling failed after a note; empty if there is none."""
    if note in (DENY, ASK):
        decision = "deny" if note == DENY else "ask"
        return json.dumps(permission_decision(decision, _BUSY if why == BUSY else _UNDECIDED.format(why)))
    return json.dumps(added_context("SessionStart", _UNREAD.format(why))) if note == SESSION else ""


def note_of_machine(machine: Machine) -> bytes:
    """Return the note for a call before the repository is touched."""
    return DENY if any(map(os.path.lexists, machine_paths(machine))) else ASK


def note_of_project(event: Event, machine: Machine) -> bytes:
    """Return the note for a call if neither the user nor the administrator has rules."""
    if event.tool is None or event.tool.startswith(MCP):  # only trusted servers may be called
        return ASK
    place = os.path.abspath(event.directory)
    while not os.path.isdir(place):  # the directory may have been deleted
        place = os.path.dirname(place)
    paths = configuration_paths(locate(place), machine)
    return ASK if any(os.path.lexists(path) for _, path, _ in paths) else SILENT
