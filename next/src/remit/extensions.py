"""The packages that extend Remit, such as `remit-team`; looked up only when something unknown is met."""

from collections.abc import Mapping, Sequence
from typing import Protocol


class Extension(Protocol):
    """What an installed package adds."""

    commands: Mapping[str, str]  # names, each with "module:object"


def extensions() -> Sequence[Extension]:
    """Load the installed extensions; importing what finds them takes as long as a small command."""
    from importlib.metadata import entry_points

    return [entry.load() for entry in entry_points(group="remit.extensions")]
