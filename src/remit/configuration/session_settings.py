"""Merges the session settings; a project can only reduce what agents receive."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from remit.configuration.config_model import OF_A_PROJECT, ConfigurationLayer, LoadedFile

MAX_CHARACTERS = 6_000
MAX_TOOLS_CHARACTERS = 500
MAX_TOKENS = 2_000


class SessionSettings(NamedTuple):
    """The session settings: `SessionOptions` with defaults applied."""

    characters: int = MAX_CHARACTERS
    tokens: int = MAX_TOKENS
    tools: int = MAX_TOOLS_CHARACTERS
    hints: bool = True
    shared_patterns: bool = False
    observes: bool = True


def session_settings(loaded: Sequence[LoadedFile]) -> SessionSettings:
    """Merge the files: the machine's, reductions by the project, and the administrator's."""
    found = SessionSettings()
    for each in (
        *_of(loaded, ConfigurationLayer.MACHINE, ConfigurationLayer.TEAM),
        *_of(loaded, *OF_A_PROJECT),
        *_of(loaded, ConfigurationLayer.MANAGED),
    ):
        wanted = {key: value for key, value in each.content.session._asdict().items() if value is not None}
        if each.file.layer in OF_A_PROJECT:
            wanted = {key: min(value, getattr(found, key)) for key, value in wanted.items()}
        found = found._replace(**wanted)
    return found


def _of(loaded: Sequence[LoadedFile], *layers: ConfigurationLayer) -> Iterator[LoadedFile]:
    return (each for each in loaded if each.file.layer in layers)
