"""Puts the parts together for this machine and this user."""

import os
import time

from remit.catalog import Registry
from remit.clients import Scanner
from remit.files import this_machine
from remit.store import open_store


def clock() -> int:
    """Return the time in Unix milliseconds."""
    return time.time_ns() // 1_000_000


def data_directory() -> str:
    """Return the directory with Remit's data."""
    home = os.path.expanduser("~")
    return os.environ.get("REMIT_HOME") or os.path.join(home, ".local", "share", "remit")


def open_registry() -> Registry:
    """Open the registry of this user."""
    home = os.path.expanduser("~")
    store = open_store(os.path.join(data_directory(), "remit.sqlite"))
    return Registry(store, Scanner(store, this_machine(), clock), home)
