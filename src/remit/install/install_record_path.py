"""The path of install records; every command checks for one, so this module imports little."""

import os

from remit import settings
from remit.files.bounded_reader import Machine


def record_path(client: str, machine: Machine) -> str:
    """Return the path of a client's record."""
    data = settings.data_directory(machine.variables, machine.platform, machine.home)
    return os.path.join(data, "installs", f"{client}.json")
