"""Facts about servers that are known before any of them starts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from remit.decision.declarations import Key
from remit.decision.declared_launch import Launch
from remit.text.secrets import words_of


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFacts:
    """Facts about the servers of a workspace on this machine."""

    variables: frozenset[str] = frozenset()  # names of the set environment variables
    # Members of entries (`command`, `args[0]`) that name missing programs and files.
    absent: Mapping[Key, Sequence[str]] = field(default_factory=dict[Key, Sequence[str]])
    tracked: frozenset[str] = frozenset()  # files in a git index
    sandboxed: frozenset[Key] = frozenset()  # servers with a sandbox
    sandbox_obstacles: Mapping[Key, str] = field(default_factory=dict[Key, str])  # why one is not possible


class LaunchValue(NamedTuple):
    """One value in an entry."""

    place: str
    name: str  # of its variable, header or option; may be empty
    text: str


def launch_values(launch: Launch) -> Iterator[LaunchValue]:
    """Yield the values in an entry, with their places."""
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
