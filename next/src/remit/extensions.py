"""The packages that extend Remit, such as `remit-team`; looked up only when something unknown is met."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from remit.config import ConfigKey


class Extension(Protocol):
    """What an installed package adds."""

    keys: "Sequence[ConfigKey]"  # of the configuration, for the user's and the administrator's files
    commands: Mapping[str, str]  # names, each with "module:object"


def extensions() -> Sequence[Extension]:
    """Load the installed extensions; importing what finds them takes as long as a small command."""
    from importlib.metadata import entry_points

    return [entry.load() for entry in entry_points(group="remit.extensions")]
