"""Obstacles: what keeps a server from being started here, as far as can be told without starting it."""

from collections.abc import Iterator

from remit.decision.declarations import Key
from remit.decision.launch import Launch
from remit.doctor.findings import Facts, Patient, values
from remit.text.secrets import shown
from remit.upstream.launch.variable_expansion import unset


def obstacles(patient: Patient) -> dict[Key, str]:
    """Say of the servers in force why they cannot be started, where something is in the way.

    That a variable is missing counts where Remit starts them.
    """
    return _found(patient, is_served=patient.context.starts_servers)


def obstacles_to_asking(patient: Patient) -> dict[Key, str]:
    """Say of the servers in force why Remit itself cannot start them to ask for their tools."""
    return _found(patient, is_served=True)


def _found(patient: Patient, *, is_served: bool) -> dict[Key, str]:
    found = {
        declaration.key: ", ".join(
            [
                *(absence(launch, place) for place in patient.facts.absent.get(declaration.key, ())),
                *(_unset(launch, patient.facts) if is_served else ()),
            ]
        )
        for declaration, launch in patient.launches
    }
    return {key: reason for key, reason in found.items() if reason}


def absence(launch: Launch, place: str) -> str:
    """Say that a program, or the file that it is to run, is not there."""
    is_command = place == "command"
    name = shown(launch.command) if is_command else None
    subject = f"`{name}`" if name else "its program" if is_command else "the file to run"
    return f"{subject} does not exist" if is_path(launch, place) else f"{subject} is not on PATH"


def is_path(launch: Launch, place: str) -> bool:
    """Tell whether what is not there is named by its path, and not looked for on PATH."""
    return place != "command" or "/" in launch.command or "\\" in launch.command


def _unset(launch: Launch, facts: Facts) -> Iterator[str]:
    """Name the variables without which Remit starts nothing; clients leave the gaps as they are."""
    names = (name for value in values(launch) for name in unset(value.text, launch, facts.variables))
    return (f"`{name}` is not set" for name in dict.fromkeys(names))
