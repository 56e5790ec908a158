"""Wires the parts together, and imports each one late, so a command loads only the parts it uses."""

import os
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from remit import settings
from remit.search.engine import SearchEngine

if TYPE_CHECKING:
    from remit.configuration.config_model import ConfigurationLayer
    from remit.configuration.editable_file import EditableFile
    from remit.decision.context import Context
    from remit.decision.projects import Workspace
    from remit.doctor.findings import Finding
    from remit.files.bounded_reader import Machine
    from remit.gateway.ports import Endpoint, EndpointSpec
    from remit.gateway.transports.lifecycle import GatewayOpeners
    from remit.gateway.transports.status_files import StatusFiles
    from remit.gateway.transports.token_file import TokenFile
    from remit.install.change_journal import ChangeJournal
    from remit.install.installer import Installer
    from remit.memory.project_memory import Memory
    from remit.registry import Registry
    from remit.scanning.ports import Notifier, Upstreams
    from remit.states.state_service import StateService
    from remit.store.binary_vector_search import SignIndex
    from remit.store.ports import Clock, Store
    from remit.upstream.launch.launch_resources import LaunchResources
    from remit.upstream.ports import ServerLists, UpstreamPool
    from remit.upstream.transports.remote import RemoteConnector
    from remit.upstream.upstream_model import Offer, Upstream


MEMORY_PATIENCE = 5.0  # seconds that a write to memory waits for a locked database before it is queued


def open_registry() -> "Registry":
    """Open this user's registry.

    Raises:
        BadVariableError: a variable that names a directory is invalid.
        StoreError: the database cannot be used.
    """
    from remit.registry import Registry
    from remit.scanning.client_files import ClientFiles
    from remit.store.sqlite_store import SqliteStore

    machine = _machine()
    store = SqliteStore(database_path(machine))
    engine = SearchEngine(machine.variables)
    return Registry(store, ClientFiles(machine), open_states(store, machine), engine, _now)


def open_memory(directory: str = ".") -> "Memory":
    """Open this user's memory for a directory.

    Raises:
        BadVariableError: a variable that names a directory is invalid.
        NoSuchDirectoryError: the directory does not exist.
        StoreError: the database cannot be used.
    """
    from remit.files.checkout import locate

    machine = _machine()
    workspace = locate(directory)
    return memory_at(database_path(machine), SearchEngine(machine.variables), workspace, _now)


def memory_at(path: str, engine: SearchEngine, workspace: "Workspace", clock: "Clock") -> "Memory":
    """Open the memory in a database; writes that fail are queued in a directory next to it."""
    from remit.memory.project_memory import Memory
    from remit.memory.write_queue import WriteQueue
    from remit.store.approval_store import SqliteApprovals
    from remit.store.database import Database
    from remit.store.memory_store import SqliteMemory

    database = Database(path, busy_timeout=MEMORY_PATIENCE)
    database.enable_full_sync()
    return Memory(
        SqliteMemory(database, _open_codes),
        WriteQueue(os.path.join(os.path.dirname(path), "memory-queue")),
        engine,
        clock,
        approvals=SqliteApprovals(database),
        workspace=workspace,
        on_close=database.close,
    )


def open_states(
    store: "Store",
    machine: "Machine",
    clock: "Clock | None" = None,
    now_ns: "Callable[[], int]" = time.time_ns,
) -> "StateService":
    """Open the service for states and for Remit's own configuration."""
    from remit.configuration.configuration_service import ConfigurationService
    from remit.configuration.toml_files import TomlFiles
    from remit.states.detectors.local_detectors import LocalDetectors
    from remit.states.state_service import StateService

    clock = clock or _now
    configuration = ConfigurationService(store.states, TomlFiles(machine, now_ns=now_ns), clock)
    return StateService(store.states, configuration, LocalDetectors(machine, now_ns=now_ns), clock)


def open_configuration_file(layer: "ConfigurationLayer", workspace: "Workspace") -> "EditableFile":
    """Open the user's file for all projects, or one of the two files at the root of a checkout, for editing.

    Raises:
        BadFileError: the file is not UTF-8 text, or a link that leads out of the checkout.
        FileChangeError: the file cannot be read.
    """
    from remit.configuration.editable_file import EditableFile
    from remit.configuration.file_paths import editable_path

    path, checkout = editable_path(layer, workspace, _machine())
    return EditableFile(path, checkout=checkout)


def open_journal() -> "ChangeJournal":
    """Open the journal of the changes that Remit made to files."""
    from remit.install.change_journal import ChangeJournal

    return ChangeJournal(_data_directory(_machine()), _now)


def diagnose(registry: "Registry", context: "Context") -> "list[Finding]":
    """List the problems in the configuration of a workspace, with their fixes."""
    from remit.doctor import diagnosis

    return diagnosis.diagnose(registry.examine(context))


def open_installer(*, is_managed: bool = False) -> "Installer":
    """Open the installer, which adds Remit to clients: for this user, or for every user of the machine.

    Raises:
        BadVariableError: a variable that names a directory is invalid.
    """
    from remit.clients.install_targets import ClientTargets
    from remit.clients.managed_targets import ManagedTargets
    from remit.configuration.file_paths import machine_path
    from remit.install.ground import ground_of, managed_ground
    from remit.install.install_record_store import InstallRecords
    from remit.install.installer import Installer
    from remit.scanning.client_files import ClientFiles

    machine = _machine()
    if is_managed:
        places, ground = ManagedTargets(machine, own_command), managed_ground(machine.variables)
    else:
        places, data = ClientTargets(machine, own_command), _data_directory(machine)
        ground = ground_of(machine.home, data, machine_path(machine), machine.variables)
    return Installer(
        places,
        InstallRecords(machine, is_managed=is_managed),
        ClientFiles(machine),
        _now,
        ground,
        lambda: _static_blocks(machine, is_managed=is_managed),
    )


def has_managed_install(client: str) -> bool:
    """Tell whether an administrator has installed Remit in a client."""
    from remit.install.install_record_path import managed_record_path

    return os.path.exists(managed_record_path(client, _machine()))


def refresh_blocks(*, may_remove: bool) -> bool:
    """Bring Claude Code's own deny rules in step, if Remit is installed there; only a person may remove some.

    Raises:
        FileChangeError: a file of the client cannot be changed.
        StoreError: the database cannot be used.
    """
    from remit.install.install_record_path import record_path

    client = "claude-code"
    if not os.path.exists(record_path(client, _machine())):
        return False
    with open_journal().recording("remit scan", is_derived=True):
        return open_installer().refresh_blocks(client, may_remove=may_remove)


def _static_blocks(machine: "Machine", *, is_managed: bool) -> list[str]:
    from remit.configuration.config_model import ConfigurationLayer
    from remit.configuration.own_files import denied_edits
    from remit.configuration.static_blocks import static_blocks
    from remit.files.checkout import locate
    from remit.store.sqlite_store import SqliteStore

    store = SqliteStore(database_path(machine))
    try:
        loaded = open_states(store, machine).configuration.current(locate(machine.home)).loaded
        layers = (ConfigurationLayer.MANAGED,) if is_managed else ConfigurationLayer
        blocks = static_blocks(file for file in loaded if file.file.layer in layers)
        return [*blocks, *denied_edits(machine, is_managed=is_managed)]
    finally:
        store.close()


def own_command() -> list[str]:
    """Return the command that starts this installation of Remit, whatever the directory and the variables.

    `-I` also ignores packages installed with `pip install --user`. For those, the other flags do the same:
    Python finds them through the home directory, which no repository can set.

    Raises:
        InstallError: Python does not find this installation without variables.
    """
    import subprocess

    from remit.errors import InstallError

    for flags in (["-I"], ["-E", "-P"]):
        command = [sys.executable, *flags]
        found = subprocess.run([*command, "-c", "import remit"], cwd=os.sep, capture_output=True)  # noqa: S603
        if found.returncode == 0:
            return [*command, "-m", "remit"]
    raise InstallError(
        f"{sys.executable} finds this Remit only with `PYTHONPATH` or in the current directory",
        hint="install it with `uv tool install` or `pipx install`, and run that one",
    )


def open_notifier() -> "Notifier":
    """Open a notifier that watches directories."""
    from remit.files.directory_watcher import DirectoryNotifier

    return DirectoryNotifier()


def open_upstreams() -> "Upstreams":
    """Open the live servers, to list their tools."""
    from remit.upstream.live_servers import LiveServers

    return LiveServers(_launch_resources())


def open_tokens() -> "TokenFile":
    """Open the file of the gateway's tokens."""
    from remit.gateway.transports.token_file import TokenFile

    return TokenFile(os.path.dirname(database_path(_machine())))


def open_status_files() -> "StatusFiles":
    """Open the files in which gateways publish their status."""
    from remit.gateway.transports.status_files import StatusFiles

    return StatusFiles(os.path.dirname(database_path(_machine())))


def gateway_openers() -> "GatewayOpeners":
    """Return the functions that a gateway process opens its parts with."""
    from remit.gateway.transports.lifecycle import GatewayOpeners

    return GatewayOpeners(
        registry=open_registry,
        memory=open_memory,
        upstream_pool=open_upstream_pool,
        endpoint=open_endpoint,
        tokens=open_tokens,
        status_files=open_status_files,
    )


@asynccontextmanager
async def open_endpoint(spec: "EndpointSpec", upstreams: "UpstreamPool") -> "AsyncGenerator[Endpoint]":
    """Serve an endpoint, with its own registry, until the block ends.

    Raises:
        AgentError: the agent does not exist, or its definition is invalid.
        NoSuchDirectoryError: the directory does not exist.
        StoreError: the database cannot be used.
        UnknownClientError: the client is not supported.
        UnknownRoomError: the room is not declared.
        ValueError: the mode or strategy does not exist.
    """
    from remit.gateway.open_endpoint import EndpointResources, serve_endpoint

    resources = EndpointResources(open_registry, open_notifier, _read_offer, _now, open_memory)
    async with serve_endpoint(spec, upstreams, resources) as endpoint:
        yield endpoint


def _read_offer(lists: "ServerLists", upstream: "Upstream") -> "Offer":
    from remit.upstream.offer_reader import read_offer

    return read_offer(lists, upstream)


@asynccontextmanager
async def open_upstream_pool() -> "AsyncGenerator[UpstreamPool]":
    """Open a pool that forwards requests to servers; they stop when the block ends."""
    from remit.upstream.upstream_pool import open_upstream_pool

    async with open_upstream_pool(_launch_resources()) as upstreams:
        yield upstreams


def sign_in(
    upstream: "Upstream",
    *,
    on_url: Callable[[str], None],
    open_browser: Callable[[str], None],
    client_id: str | None = None,
    client_secret: str | None = None,
    port: int = 0,
    scope: str | None = None,
) -> None:
    """Sign in to a remote server in the browser, and store the token.

    A given scope is requested in addition to the server's required scopes and those granted before.

    Raises:
        SignInError: the sign-in failed.
    """
    from remit.upstream.oauth.sign_in import ClientRegistration, ready_remote, registration_for, sign_in
    from remit.upstream.oauth.token_store import open_token_store

    machine = _machine()
    server = ready_remote(upstream, machine.variables, machine.home)
    launch = server.launch
    kept = open_token_store(_data_directory(machine))
    before = kept.load(launch.url)
    wanted = scope if scope is None or before is None else f"{before.scope or ''} {scope}"
    said = ClientRegistration(client_id=client_id, client_secret=client_secret, port=port, scope=wanted)
    made = sign_in(server, registration_for(launch, said), on_url=on_url, open_browser=open_browser)
    kept.save(launch.url, made)


def sign_out(upstream: "Upstream") -> bool:
    """Delete the stored token of a server; return False if there is none.

    Raises:
        SignInError: the server is not remote.
    """
    from remit.upstream.oauth.sign_in import ready_remote
    from remit.upstream.oauth.token_store import open_token_store

    machine = _machine()
    launch = ready_remote(upstream, machine.variables, machine.home).launch
    return open_token_store(_data_directory(machine)).forget(launch.url)


def _launch_resources() -> "LaunchResources":
    from remit import __version__
    from remit.upstream.launch.launch_resources import LaunchResources
    from remit.upstream.transports.watchdog import Watchdog

    machine = _machine()
    return LaunchResources(
        variables={name: value for name, value in machine.variables.items() if name != settings.KEY},
        home=machine.home,
        client={"name": "remit", "version": __version__},
        watchdog=Watchdog(),
        remote=lambda: _open_remote(_data_directory(machine)),
    )


def _open_remote(directory: str) -> "RemoteConnector":
    from remit.upstream.oauth.token_store import open_token_store
    from remit.upstream.transports.remote import RemoteConnector

    return RemoteConnector(open_token_store(directory))


def database_path(machine: "Machine") -> str:
    """Return the path of the database."""
    return os.path.join(_data_directory(machine), settings.DATABASE)


def _data_directory(machine: "Machine") -> str:
    return settings.data_directory(machine.variables, sys.platform, machine.home)


def _open_codes(width: int) -> "SignIndex":
    from remit.search.binary_vector_index import NumpySignIndex

    return NumpySignIndex(width)


def _machine() -> "Machine":
    from remit.files.bounded_reader import this_machine

    return this_machine()


def _now() -> int:
    return time.time_ns() // 1_000_000
