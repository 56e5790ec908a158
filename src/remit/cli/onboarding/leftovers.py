"""The files of Remit that stay on the disk after it is uninstalled or a project is forgotten."""

import os
import shlex
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from remit.cli import render
from remit.cli.onboarding.client_install import shortened
from remit.configuration.file_paths import LOCK, PERSONAL, SHARED, machine_path
from remit.files.bounded_reader import Machine
from remit.files.own_environment import own_environment
from remit.settings import data_directory

_YOURS = {PERSONAL: "your rules for this project"}
_OF_EVERYONE = {
    SHARED: "the project's rules, for everyone who works on it",
    LOCK: "the project's accepted definitions, for everyone who works on it",
}


class Leftover(NamedTuple):
    """A file or directory that stays, and what it holds."""

    path: str
    content: str
    is_yours: bool = True  # nobody else needs it


def leftovers(projects: Iterable[str], machine: Machine) -> Iterator[Leftover]:
    """Yield what stays of Remit on this machine: its data, your rules, and those of projects."""
    data = data_directory(machine)
    found = [
        Leftover(data, "history, trust, memory, and what `remit undo` restores"),
        Leftover(machine_path(machine), "your rules for all projects"),
        *of_projects(projects),
    ]
    yield from (each for each in found if os.path.lexists(each.path))


def of_projects(projects: Iterable[str]) -> list[Leftover]:
    """List the files of projects that stay."""
    found = (
        Leftover(os.path.join(project, name), content, is_yours=name in _YOURS)
        for project in projects
        for name, content in {**_YOURS, **_OF_EVERYONE}.items()
    )
    return [each for each in found if os.path.lexists(each.path)]


def show(found: Iterable[Leftover]) -> None:
    """Print what stays, if anything does."""
    rows = [(render.printable(shortened(each.path)), each.content) for each in found]
    width = max((len(path) for path, _ in rows), default=0)
    if rows:
        render.note("Still on the disk:")
    for path, content in rows:
        render.note(f"  {path:<{width}}  {content}")


def hint_removal(found: Iterable[Leftover]) -> None:
    """Print the commands that delete the data, your own rules and the command itself."""
    own = [each.path for each in found if each.is_yours]
    if own:
        render.note(f"hint: to delete what is yours: rm -r {render.printable(shlex.join(own))}")
    render.note(f"hint: to remove the command: {own_environment().remove_command()}")
