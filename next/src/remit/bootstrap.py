"""Puts the parts together for this machine and this user.

Each is imported late, so a command loads only what it uses.
"""

import os
import time
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from remit.catalog import JoinedConfigurations, Registry
from remit.clients import CLIENTS, Scanner, read_edits, record_path
from remit.config import data_directory
from remit.decision import Face, Status
from remit.files import Machine, this_machine
from remit.store import Store, open_store

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from remit.clients import Installer
    from remit.config import ConfigKey
    from remit.decision import Context, Resolved, View
    from remit.files import ChangeJournal
    from remit.gateway import Gateway
    from remit.memory import Memory
    from remit.store import Problem
    from remit.trust import Inspector
    from remit.upstream import LocalLauncher, OnList, TokenStore, UpstreamPool

_STORE = "remit.sqlite"
_OLD_STORE = "remit.db"
_OF_CLIENTS = ("CLAUDE_CODE_", "CLAUDE_PLUGIN_")  # variables of clients for their own children
_FACES = {"full": Face.GATEWAY, "hooks": Face.GUARDED}  # by the level of an install
_CLAUDE_CODE = "claude-code"  # the client with copies of rules


def clock() -> int:
    """Return the time in Unix milliseconds."""
    return time.time_ns() // 1_000_000


def store_path() -> str:
    """Return the path of this user's database."""
    return os.path.join(data_directory(this_machine()), _STORE)


def open_registry() -> Registry:
    """Open the registry of this user.

    Raises:
        StoreError: the database cannot be used.
    """
    machine = this_machine()
    store = open_store(store_path())
    scanner = Scanner(store, machine, clock, _with_own_server, read_edits=read_edits)
    configurations = JoinedConfigurations(store, machine, clock, extra_keys=_extra_keys)

    def face(client: str) -> Face:
        return face_of(client, machine)

    return Registry(store, machine, clock, scanner, configurations, face_of=face)


def _with_own_server(
    view: "View", resolved: "Sequence[Resolved]", is_served: bool
) -> "tuple[Sequence[Resolved], Sequence[Problem]]":
    gateways = (Status.ITSELF, Status.NESTED)
    if not is_served and all(item.declaration.status not in gateways for item in resolved):
        return resolved, ()
    from remit.memory import with_own_server  # most clients start no gateway

    return with_own_server(view, resolved, is_served)


def _extra_keys() -> "Iterator[ConfigKey]":
    """Yield the keys of installed extensions; asked for only when a file has an unknown key."""
    from remit.extensions import extensions

    for extension in extensions():
        yield from extension.keys


def face_of(client: str, machine: Machine) -> Face:
    """Return who starts a client's servers, by its install records: the user's, else the administrator's."""
    for is_managed in (False, True):
        level = _level(record_path(client, machine, is_managed=is_managed))
        if level is not None:
            return _FACES.get(level, Face.CLIENT)
    return Face.CLIENT


def _level(path: str) -> str | None:
    """Read the level alone: every command does, and the whole record takes longer than some commands."""
    import json

    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file).get("level", "full")
    except (OSError, ValueError, AttributeError):
        return None


def installed_clients() -> Collection[str]:
    """Return the clients that Remit is installed in, by this user or the administrator."""
    machine = this_machine()
    return [client for client in CLIENTS if _is_installed(client, machine)]


def _is_installed(client: str, machine: Machine) -> bool:
    paths = (record_path(client, machine, is_managed=is_managed) for is_managed in (False, True))
    return any(map(os.path.exists, paths))


def old_store() -> str | None:
    """Say that an earlier database stays unused, before a new one is made; None without one."""
    path = os.path.join(data_directory(this_machine()), _OLD_STORE)
    if os.path.exists(store_path()) or not os.path.exists(path):
        return None
    return f"note: {path} is not used any more; its trust, approvals and memory are not taken over"


def open_journal() -> "ChangeJournal":
    """Open the journal of the changes that commands made to files."""
    from remit.files import ChangeJournal

    return ChangeJournal(os.path.join(data_directory(this_machine()), "changes"), clock)


@contextmanager
def open_memory(directory: str = ".") -> "Generator[Memory]":
    """Open the memory of a directory's repository.

    Raises:
        NotFoundError: the directory does not exist.
        StoreError: the database cannot be used.
    """
    from remit.files import locate
    from remit.memory import open_memory as open_memory_of
    from remit.search import open_model

    workspace = locate(directory)
    with open_registry() as registry:
        embeddings = registry.config.current(workspace).embeddings
    store = open_store(store_path(), durable=True)
    try:
        yield open_memory_of(store, open_model(*embeddings), workspace)
    finally:
        store.close()


def open_upstreams() -> "LocalLauncher":
    """Return what starts servers with the variables of this process."""
    from remit.upstream import LocalLauncher

    machine = this_machine()
    return LocalLauncher(machine.variables, machine.home, data_directory(machine), _is_of_client)


@cache
def open_inspector() -> "Inspector":
    """Return what inspects definitions; loading its model takes longer than most commands."""
    from remit.trust import ModelInspector

    return ModelInspector()


def open_login() -> "tuple[LocalLauncher, TokenStore]":
    """Return what reaches a remote server, and where its tokens are."""
    from remit.upstream import open_token_store

    return open_upstreams(), open_token_store(data_directory(this_machine()))


def open_installer(*, is_managed: bool = False) -> "Installer":
    """Open what installs Remit in clients: for this user, or for every user of the machine."""
    from remit.clients import Installer, environment_of, managed_environment
    from remit.config import machine_path
    from remit.installation import own_command

    machine = this_machine()
    if is_managed:
        environment = managed_environment(machine.variables)
    else:
        data = data_directory(machine)
        environment = environment_of(machine.home, data, machine_path(machine), machine.variables)
    return Installer(machine, own_command, environment, clock=clock, is_managed=is_managed)


def refresh_copies(registry: Registry, context: "Context", *, everywhere: bool = True) -> bool:
    """Bring the copies of rules in Claude Code's files in step with the rules; whether any changed.

    Copies follow from rules and states, so the journal of changes does not hold them. Where only a state
    changed, those in the project are enough.

    Raises:
        FileChangeError: a file cannot be read or written.
        InstallError: a file cannot be Remit's to change.
    """
    from remit.files import observing
    from remit.wanted import wanted, wanted_of_project

    if not _is_installed(_CLAUDE_CODE, this_machine()):
        return False
    installer, changed = open_installer(), False
    here = registry.at(context.workspace.dir, _CLAUDE_CODE)
    with observing(lambda _: None):
        if everywhere:
            directories = [*installer.projects(_CLAUDE_CODE), here.workspace.dir]
            changed = installer.refresh(_CLAUDE_CODE, wanted(registry, _CLAUDE_CODE, directories))
        own = wanted_of_project(registry, here)
        return installer.refresh(_CLAUDE_CODE, own, here.workspace.project) or changed


def running_gateways() -> "list[Mapping[str, Any]]":
    """List the gateways that run for this user."""
    from remit.gateway import running_gateways as read

    return read(data_directory(this_machine()))


def open_gateway() -> "Gateway":
    """Put a gateway of this user together; `async with` starts it."""
    from remit.gateway import Gateway, Parts  # few commands serve

    data = data_directory(this_machine())

    def open_servers(on_list: "OnList") -> "AbstractAsyncContextManager[UpstreamPool]":
        from remit.upstream import open_pool

        return open_pool(open_upstreams(), on_list=on_list)

    def open_durable_store() -> Store:
        return open_store(store_path(), durable=True)

    return Gateway(
        Parts(
            open_registry=open_registry,
            open_pool=open_servers,
            data_directory=data,
            clock=clock,
            open_durable_store=open_durable_store,
            find_inspector=open_inspector,
        )
    )


def _is_of_client(variable: str) -> bool:
    """Return whether a client sets a variable for its own children."""
    return variable.startswith(_OF_CLIENTS) or any(variable in client.markers for client in CLIENTS.values())
