"""Puts the parts together for this machine and this user."""

import os
import time

from remit.catalog import JoinedConfigurations, Registry
from remit.clients import Scanner
from remit.config import data_directory
from remit.files import this_machine
from remit.store import open_store


def clock() -> int:
    """Return the time in Unix milliseconds."""
    return time.time_ns() // 1_000_000


def open_registry() -> Registry:
    """Open the registry of this user."""
    machine = this_machine()
    store = open_store(os.path.join(data_directory(machine), "remit.sqlite"))
    configurations = JoinedConfigurations(store, machine, clock)
    return Registry(store, machine, clock, Scanner(store, machine, clock), configurations)
