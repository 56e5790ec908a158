"""Where the records of installs lie; every command asks whether there is one, so this imports little."""

import os

from remit import settings
from remit.files.bounded_reader import Machine


def record_path(client: str, machine: Machine) -> str:
    """Name the file of a client's record."""
    data = settings.data_directory(machine.variables, machine.platform, machine.home)
    return os.path.join(data, "installs", f"{client}.json")
