"""Directories of configuration files on each platform."""

import os
from collections.abc import Mapping

from remit.files.bounded_reader import Machine

APPDATA = "APPDATA"
LOCALAPPDATA = "LOCALAPPDATA"
PROGRAM_DATA = "PROGRAMDATA"
XDG_CONFIG_HOME = "XDG_CONFIG_HOME"


def config(machine: Machine) -> str:
    """Return the config directory of programs that follow XDG on macOS too."""
    if machine.platform == "win32":
        return roaming(machine)
    return xdg_config(machine)


def xdg_config(machine: Machine) -> str:
    """Return the config directory of programs that follow XDG everywhere."""
    return machine.variables.get(XDG_CONFIG_HOME) or os.path.join(machine.home, ".config")


def app_data(machine: Machine) -> str:
    """Return the platform's own directory for desktop programs."""
    if machine.platform == "darwin":
        return os.path.join(machine.home, "Library", "Application Support")
    return config(machine)


def roaming(machine: Machine) -> str:
    """Return the roaming application data directory of Windows."""
    return machine.variables.get(APPDATA) or os.path.join(machine.home, "AppData", "Roaming")


def local(machine: Machine) -> str:
    """Return the local application data directory of Windows."""
    return machine.variables.get(LOCALAPPDATA) or os.path.join(machine.home, "AppData", "Local")


def program_data(machine: Machine) -> str:
    """Return the program data directory of Windows."""
    return machine.root + (machine.variables.get(PROGRAM_DATA) or "C:\\ProgramData")


def of_administrator(machine: Machine, places: Mapping[str, str]) -> str:
    """Pick an administrator's directory by platform; Linux's is the default."""
    return machine.root + places.get(machine.platform, places["linux"])


def code_user(machine: Machine) -> str:
    """Return the user directory of VS Code, which its extensions share."""
    return os.path.join(app_data(machine), "Code", "User")
