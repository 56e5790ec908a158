"""Finds what the sandbox of a server opens for it to run, without starting the server."""

import os
import sys

from remit.configuration.file_paths import machine_path
from remit.decision.declared_launch import Launch
from remit.decision.projects import Workspace
from remit.files.bounded_reader import Machine
from remit.settings import data_directory
from remit.trust.server_sandbox import OpenedPaths, Sandbox, SandboxError
from remit.upstream.launch.bubblewrap import SandboxBuilder
from remit.upstream.launch.ready_server import helper_words
from remit.upstream.launch.server_environment import users_variables
from remit.upstream.launch.variable_expansion import expand


def opened_paths(
    launch: Launch, sandbox: Sandbox, workspace: Workspace, machine: Machine, *, is_projects: bool
) -> OpenedPaths:
    """List what the sandbox opens besides the system and its own paths; nothing is started."""
    expanded = expand(launch, machine.variables, workspace=workspace.dir, home=machine.home)
    if expanded.missing:
        return OpenedPaths(problem=f"the variable {expanded.missing[0]} is not set")
    ready = expanded.launch
    if ready.is_remote and ready.headers_helper is None:
        return OpenedPaths()
    words = helper_words(ready.headers_helper or "") if ready.is_remote else (ready.command, *ready.args)
    place = os.path.normpath(os.path.join(workspace.dir, ready.cwd or ""))
    users = users_variables(machine.variables)
    own = (data_directory(machine.variables, sys.platform, machine.home), machine_path(machine))
    builder = SandboxBuilder(sandbox, machine.home, own, is_projects)
    try:
        found = builder.opened(words, place, {**users, **ready.variables, **ready.env}, users)
    except SandboxError as error:
        return OpenedPaths(problem=error.reason, hint=error.hint)
    return OpenedPaths(tuple(sandbox.short(path, machine.home) for path in found))
