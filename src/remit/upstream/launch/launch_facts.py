"""What the machine and an entry say about a server, before anything is started."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from remit.decision.declarations import Key
from remit.decision.launch import Launch
from remit.text.secrets import words_of


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFacts:
    """What the machine says about the declarations of a workspace; nothing was started to find out."""

    variables: frozenset[str] = frozenset()  # the names of those that are set
    # The places (`command`, `args[0]`) of programs and files that do not exist.
    absent: Mapping[Key, Sequence[str]] = field(default_factory=dict[Key, Sequence[str]])
    tracked: frozenset[str] = frozenset()  # files that are in a git repository's index


class LaunchValue(NamedTuple):
    """One value of an entry."""

    place: str
    name: str  # the variable, header or option it is given to; empty where it has none
    text: str


def launch_values(launch: Launch) -> Iterator[LaunchValue]:
    """List all that an entry says of a server, with the place of each."""
    if launch.is_remote:
        yield LaunchValue("url", "", launch.url)
    else:
        yield LaunchValue("command", "", launch.command)
    for at, word in enumerate(words_of(launch.args)):
        yield LaunchValue(f"args[{at}]", word.name, word.value)
    for name, text in launch.env.items():
        yield LaunchValue(f"env.{name}", name, text)
    for name, text in launch.headers.items():
        yield LaunchValue(f"headers.{name}", name, text)
