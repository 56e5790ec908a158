"""Where programs keep their files on each platform."""

import os
from collections.abc import Mapping

from remit.files.bounded_reader import Machine

APPDATA = "APPDATA"
LOCALAPPDATA = "LOCALAPPDATA"
PROGRAM_DATA = "PROGRAMDATA"
XDG_CONFIG_HOME = "XDG_CONFIG_HOME"

CONFIG_VARIABLES = (XDG_CONFIG_HOME, APPDATA)  # those that `config` and `app_data` ask for


def config(machine: Machine) -> str:
    """Name the directory of programs that keep to the XDG rule on macOS, too."""
    if machine.platform == "win32":
        return roaming(machine)
    return xdg_config(machine)


def xdg_config(machine: Machine) -> str:
    """Name the directory of programs that keep to the XDG rule everywhere."""
    return machine.variables.get(XDG_CONFIG_HOME) or os.path.join(machine.home, ".config")


def app_data(machine: Machine) -> str:
    """Name the directory of desktop programs: each platform's own."""
    if machine.platform == "darwin":
        return os.path.join(machine.home, "Library", "Application Support")
    return config(machine)


def roaming(machine: Machine) -> str:
    """Name the directory that Windows keeps in step between a user's machines."""
    return machine.variables.get(APPDATA) or os.path.join(machine.home, "AppData", "Roaming")


def local(machine: Machine) -> str:
    """Name the directory that Windows keeps on one machine."""
    return machine.variables.get(LOCALAPPDATA) or os.path.join(machine.home, "AppData", "Local")


def program_data(machine: Machine) -> str:
    """Name the directory that Windows keeps for all users."""
    return machine.root + (machine.variables.get(PROGRAM_DATA) or "C:\\ProgramData")


def of_administrator(machine: Machine, places: Mapping[str, str]) -> str:
    """Pick an administrator's directory by platform; others have it where Linux has."""
    return machine.root + places.get(machine.platform, places["linux"])


def code_user(machine: Machine) -> str:
    """Name the directory of the user's settings in VS Code, where its extensions keep theirs."""
    return os.path.join(app_data(machine), "Code", "User")
