"""Puts the parts together; the one place that imports late, so that nobody pays for what they do not use."""

import os
import sys
import time
from typing import TYPE_CHECKING

from remit import settings

if TYPE_CHECKING:
    from remit.registry import Registry


def open_registry() -> "Registry":
    """Open the registry of this user on this machine.

    Raises:
        StoreError: the database cannot be used.
    """
    from remit.adapters.clients.files import Machine
    from remit.adapters.clients.sources import ClientFiles
    from remit.adapters.storage.sqlite import SqliteStore
    from remit.registry import Registry

    machine = Machine(home=os.path.expanduser("~"), platform=sys.platform, variables=os.environ)
    return Registry(SqliteStore(database_path()), ClientFiles(machine), _now)


def record_use(
    name: str,
    *,
    directory: str = ".",
    client: str = "claude-code",
    server: str | None = None,
    session_id: str | None = None,
    call_id: str | None = None,
    succeeded: bool | None = None,
    duration_ms: int | None = None,
) -> bool:
    """Count one use of a tool, from a process that lives only for this; False when the call was known.

    Raises:
        NoSuchDirectoryError: there is no such directory.
        StoreError: the database cannot be used.
    """
    from remit.adapters.git import locate
    from remit.adapters.storage.database import Database
    from remit.adapters.storage.usage import record
    from remit.core.kinds import Authority
    from remit.core.sightings import Sighting

    sighting = Sighting(name, client, locate(directory), Authority.HOOK, _now(), server)
    database = Database(database_path())
    try:
        return record(
            database,
            sighting,
            session_id=session_id,
            call_id=call_id,
            succeeded=succeeded,
            duration_ms=duration_ms,
        )
    finally:
        database.close()


def database_path() -> str:
    """Name the file of the database."""
    home = os.path.expanduser("~")
    return os.path.join(settings.data_directory(os.environ, sys.platform, home), settings.DATABASE)


def _now() -> int:
    return time.time_ns() // 1_000_000
