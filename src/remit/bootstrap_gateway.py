"""Puts together what talks to servers and clients: the gateway, the upstreams, and the sign-in to them."""

import os
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING

from remit import settings
from remit.bootstrap import now, open_memory, open_notifier, open_registry
from remit.configuration.store_place import admin_place, is_address, key_file, store_place
from remit.files.bounded_reader import this_machine
from remit.settings import data_directory

if TYPE_CHECKING:
    from remit.configuration.machine_files import MachineFiles
    from remit.files.bounded_reader import Machine
    from remit.gateway.access.token_grants import Tokens
    from remit.gateway.ports import Endpoint, EndpointSpec
    from remit.gateway.requests.call_metrics import CallMetrics
    from remit.gateway.transports.health_routes import StoreHealth
    from remit.gateway.transports.lifecycle import GatewayOpeners
    from remit.gateway.transports.session_seal import SessionSeal
    from remit.gateway.transports.status_files import StatusFiles
    from remit.scanning.ports import Upstreams
    from remit.upstream.launch.launch_resources import LaunchResources
    from remit.upstream.oauth.server_login import ServerLogin
    from remit.upstream.ownership import ServerLocks
    from remit.upstream.ports import ServerLists, UpstreamPool
    from remit.upstream.principal_credentials.credential_keys import KeyFile
    from remit.upstream.principal_credentials.credential_model import CredentialRows
    from remit.upstream.principal_credentials.principal_credentials import PrincipalCredentials
    from remit.upstream.transports.remote import RemoteConnector
    from remit.upstream.upstream_model import Offer, Upstream


def gateway_openers() -> "GatewayOpeners":
    """Return the functions that a gateway process opens its parts with."""
    from remit.gateway.call_records.call_spool import CallSpool
    from remit.gateway.requests.call_metrics import CallMetrics
    from remit.gateway.transports.lifecycle import GatewayOpeners

    calls, spool = CallMetrics(), CallSpool(data_directory(this_machine()))
    return GatewayOpeners(
        registry=open_registry,
        memory=open_memory,
        upstream_pool=open_upstream_pool,
        endpoint=partial(open_endpoint, calls=calls),
        tokens=open_tokens,
        machine_files=open_machine_files,
        session_seal=open_session_seal,
        status_files=open_status_files,
        calls=calls,
        store_health=_store_health,
        spooled=spool.__len__,
    )


@asynccontextmanager
async def open_endpoint(
    spec: "EndpointSpec", upstreams: "UpstreamPool", *, calls: "CallMetrics"
) -> "AsyncGenerator[Endpoint]":
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

    machine = this_machine()
    resources = EndpointResources(
        open_registry,
        open_notifier,
        _read_offer,
        now,
        open_memory,
        data_directory(machine),
        calls,
        keeps_journal=is_address(store_place(machine).place),  # others rely on its audit log
    )
    async with serve_endpoint(spec, upstreams, resources) as endpoint:
        yield endpoint


def _read_offer(lists: "ServerLists", upstream: "Upstream") -> "Offer":
    from remit.upstream.tool_reader import read_offer

    return read_offer(lists, upstream)


@asynccontextmanager
async def open_upstream_pool() -> "AsyncGenerator[UpstreamPool]":
    """Open a pool that forwards requests to servers; they stop when the block ends."""
    from remit.upstream.upstream_pool import open_upstream_pool

    with ExitStack() as opened:

        @cache
        def credentials() -> "PrincipalCredentials":
            found = opened.enter_context(closing(open_credentials()))
            found.follow()
            return found

        @cache
        def locks() -> "ServerLocks":
            return opened.enter_context(closing(_open_server_locks()))

        async with open_upstream_pool(_launch_resources(credentials, locks)) as upstreams:
            yield upstreams


def open_upstreams() -> "Upstreams":
    """Open the live servers, to list their tools."""
    from remit.upstream.live_servers import LiveServers

    return LiveServers(_launch_resources(locks=_open_server_locks))


def _open_server_locks() -> "ServerLocks":
    """Open the locks of servers that only one process may run: in the shared store, or on this machine."""
    machine = this_machine()
    place = store_place(machine).place
    if is_address(place):
        from remit.store.postgres.server_locks import PostgresServerLocks

        return PostgresServerLocks(place)
    from remit.upstream.ownership import ServerLockFiles

    return ServerLockFiles(os.path.join(data_directory(machine), "server-locks"))


def open_tokens() -> "Tokens":
    """Open the gateway's tokens: in the shared store, or in a file of this machine.

    Raises:
        StoreError: the shared store cannot be used.
    """
    return _tokens_in(store_place(this_machine()).place, is_admin=False)


def open_token_admin() -> "Tokens":
    """Open the gateway's tokens to add and revoke them, in a shared store as an administrator.

    Raises:
        StoreError: the shared store cannot be used.
        StoreRightsError: the configured address may not administer it.
    """
    return _tokens_in(admin_place(this_machine()).place, is_admin=True)


def _tokens_in(place: str, *, is_admin: bool) -> "Tokens":
    if is_address(place):
        from remit.gateway.access.stored_tokens import StoredTokens
        from remit.store.postgres.gateway_tokens import SqlTokens
        from remit.store.postgres.table_rights import ADMIN, RUNTIME

        return StoredTokens(SqlTokens(place, role=ADMIN if is_admin else RUNTIME))
    from remit.gateway.access.token_file import TokenFile

    return TokenFile(data_directory(this_machine()))


@contextmanager
def open_session_seal() -> "Generator[SessionSeal | None]":
    """Open what seals sessions, so that they can move between gateways of a shared store; None without one.

    Raises:
        StoreError: the shared store cannot be used.
    """
    place = store_place(this_machine()).place
    if not is_address(place):
        yield None
        return
    from remit.gateway.transports.session_seal import SessionSeal
    from remit.store.postgres.session_key_store import SqlSessionKeys

    with closing(SessionSeal(SqlSessionKeys(place), now)) as seal:
        yield seal


def open_credentials() -> "PrincipalCredentials":
    """Open the credentials of principals: in the shared store, or in a file of this machine.

    Raises:
        BadFileError: a configuration file names no usable file of keys.
    """
    from remit.upstream.principal_credentials.credential_file import CredentialFile
    from remit.upstream.principal_credentials.principal_credentials import PrincipalCredentials

    machine = this_machine()
    place = store_place(machine).place
    if not is_address(place):
        return PrincipalCredentials(lambda: CredentialFile(data_directory(machine)), open_key_file())

    def open_rows() -> "CredentialRows":
        from remit.store.postgres.upstream_credentials import SqlCredentials

        return SqlCredentials(place)

    return PrincipalCredentials(open_rows, open_key_file())


def open_key_file() -> "KeyFile":
    """Open the keys that encrypt credentials.

    A machine's own store has a file of keys by default. Several nodes share a key, so theirs is configured.

    Raises:
        BadFileError: a configuration file names no usable file of keys.
    """
    from remit.upstream.principal_credentials.credential_keys import KeyFile

    machine = this_machine()
    configured = key_file(machine)
    if configured is not None or is_address(store_place(machine).place):
        return KeyFile(configured)
    return KeyFile(os.path.join(data_directory(machine), "credentials.key"), is_default=True)


def _secret_files(machine: "Machine") -> list[str]:
    """List the files of secrets that the machine's configuration names."""
    identity = open_machine_files().current().identity
    client = None if identity is None else identity.sign_in
    found = key_file(machine), None if client is None else client.secret_file
    return [os.path.expanduser(each) for each in found if each is not None]


def open_machine_files() -> "MachineFiles":
    """Open the user's and the administrator's file."""
    from remit.configuration.machine_files import MachineFiles

    return MachineFiles(this_machine())


def open_status_files() -> "StatusFiles":
    """Open the files in which gateways publish their status."""
    from remit.gateway.transports.status_files import StatusFiles

    return StatusFiles(data_directory(this_machine()))


def _store_health() -> "StoreHealth":
    """Tell whether the store answers, as far as is known without asking."""
    from remit.gateway.transports.health_routes import StoreHealth

    place = store_place(this_machine()).place
    if not is_address(place):
        return StoreHealth()
    from remit.store.postgres.revision_listener import listener_of

    listener = listener_of(place)
    return StoreHealth() if listener is None else StoreHealth(not listener.is_down, listener.seconds)


def _launch_resources(
    credentials: "Callable[[], PrincipalCredentials] | None" = None,
    locks: "Callable[[], ServerLocks] | None" = None,
) -> "LaunchResources":
    from remit import __version__
    from remit.configuration.file_paths import machine_path
    from remit.upstream.launch.launch_resources import LaunchResources
    from remit.upstream.transports.watchdog import Watchdog

    machine = this_machine()
    return LaunchResources(
        variables=_of_servers(machine),
        home=machine.home,
        client={"name": "remit", "version": __version__},
        watchdog=Watchdog(),
        remote=lambda: _open_remote(data_directory(machine)),
        credentials=credentials,
        locks=locks,
        own=(data_directory(machine), machine_path(machine), *_secret_files(machine)),
    )


def _of_servers(machine: "Machine") -> dict[str, str]:
    """Return the variables that servers may have: none of the secrets of Remit or of who runs it."""
    secrets = {
        settings.KEY,
        settings.STORE,
        settings.STORE_ADMIN,
        settings.STORE_KEY_FILE,
        settings.CLIENT_SECRET,
    }
    patterns = [settings.TRACE_HEADERS]
    if is_address(store_place(machine).place):
        patterns.append(settings.STORE_VARIABLES)
    return {
        name: value
        for name, value in machine.variables.items()
        if name not in secrets and not any(each.fullmatch(name) for each in patterns)
    }


def _open_remote(directory: str) -> "RemoteConnector":
    from remit.upstream.oauth.token_store import open_token_store
    from remit.upstream.transports.remote import RemoteConnector

    return RemoteConnector(open_token_store(directory))


def open_login() -> "ServerLogin":
    """Open the sign-in to remote servers."""
    from remit.upstream.oauth.server_login import ServerLogin
    from remit.upstream.oauth.token_store import open_token_store

    machine = this_machine()
    return ServerLogin(open_token_store(data_directory(machine)), machine.variables, machine.home)
