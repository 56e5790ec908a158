"""Configuration as the store keeps it: each file, and what all of them came to."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class StoredFile(NamedTuple):
    """A configuration file as it was last read; the texts are JSON."""

    source: str
    fingerprint: str
    content: str
    places: str
    problems: str


class StoredConfiguration(NamedTuple):
    """What the files come to in a workspace."""

    inputs: Mapping[str, str]  # each file with its fingerprint
    problems: Sequence[Sequence[str]]  # source, place, reason
    transitions: Sequence[Sequence[str | bool]]  # pattern, state, truth
    observes: bool = True  # whether what calls leave behind is kept
