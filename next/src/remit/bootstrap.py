"""Puts the parts together for this machine and this user."""

import os
import time
from collections.abc import Collection
from functools import cache

from remit.catalog import JoinedConfigurations, Registry
from remit.clients import Scanner
from remit.config import data_directory
from remit.files import this_machine
from remit.store import open_store

_STORE = "remit.sqlite"
_OLD_STORE = "remit.db"


def clock() -> int:
    """Return the time in Unix milliseconds."""
    return time.time_ns() // 1_000_000


def store_path() -> str:
    """Return the path of this user's database."""
    return os.path.join(data_directory(this_machine()), _STORE)


def open_registry() -> Registry:
    """Open the registry of this user."""
    machine = this_machine()
    store = open_store(store_path())
    configurations = JoinedConfigurations(store, machine, clock)
    return Registry(store, machine, clock, Scanner(store, machine, clock), configurations)


@cache
def installed_clients() -> Collection[str]:
    """Return the clients that Remit is installed in."""
    return ()


def old_store() -> str | None:
    """Say that an earlier database stays unused, before a new one is made; None without one."""
    path = os.path.join(data_directory(this_machine()), _OLD_STORE)
    if os.path.exists(store_path()) or not os.path.exists(path):
        return None
    return f"note: {path} is not used any more; its trust, approvals and memory are not taken over"
