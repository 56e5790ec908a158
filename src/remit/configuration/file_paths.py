"""The paths of configuration files.

Hook processes import this module, so it imports little.
"""

import os
from collections.abc import Iterator

from remit.decision.projects import Workspace
from remit.decision.scopes import ancestors
from remit.files.bounded_reader import Machine

SHARED = "remit.toml"
PERSONAL = "remit.local.toml"
LOCK = "remit.lock"

_MANAGED = {
    "linux": "/etc/remit",
    "darwin": "/Library/Application Support/Remit",
    "win32": "C:\\Program Files\\Remit",
}

Found = tuple[str, str, str | None]  # layer, path, and the directory of a project's file


def configuration_paths(workspace: Workspace, machine: Machine) -> list[Found]:
    """List the configuration files of a workspace, whether they exist or not, weakest first."""
    found: dict[str, Found] = {}
    for each in _all(workspace, machine):
        found.setdefault(each[1], each)  # `REMIT_CONFIG` may point to a project's file
    return list(found.values())


def machine_path(machine: Machine) -> str:
    """Return the path of the user's own configuration file."""
    given = machine.variables.get("REMIT_CONFIG")
    return os.path.abspath(given) if given else os.path.join(_config(machine), "remit", SHARED)


def editable_path(layer: str, workspace: Workspace, machine: Machine) -> tuple[str, str | None]:
    """Return the file of a layer that commands edit, and the checkout it must stay in, if any."""
    if layer == "machine":
        return machine_path(machine), None
    return os.path.join(workspace.checkout, SHARED if layer == "project" else PERSONAL), workspace.checkout


def machine_paths(machine: Machine) -> tuple[str, str]:
    """Return the user's file and the administrator's, which no project can write."""
    return machine_path(machine), os.path.join(managed_directory(machine), SHARED)


def _all(workspace: Workspace, machine: Machine) -> Iterator[Found]:
    own, managed = machine_paths(machine)
    yield "machine", own, None
    if workspace.team is not None:  # its projects have no files
        yield "team", f"{workspace.team.path}/{SHARED}", None
        yield "managed", managed, None
        return
    yield "lock", os.path.join(workspace.checkout, LOCK), workspace.checkout
    for dir in reversed(ancestors(workspace.dir, up_to=workspace.checkout)):
        yield "project", os.path.join(dir, SHARED), dir
        yield "local", os.path.join(dir, PERSONAL), dir
    yield "managed", managed, None


def managed_directory(machine: Machine) -> str:
    """Return the directory of the administrator's files."""
    return machine.root + _MANAGED.get(machine.platform, _MANAGED["linux"])


def _config(machine: Machine) -> str:
    if machine.platform == "win32":
        return machine.variables.get("APPDATA") or os.path.join(machine.home, "AppData", "Roaming")
    return machine.variables.get("XDG_CONFIG_HOME") or os.path.join(machine.home, ".config")
