"""Puts together what files say of what agents are told: a project can only have them told less."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from remit.configuration.config_model import (
    OF_A_PROJECT,
    ConfigurationFile,
    ConfigurationLayer,
    ConfigurationMistake,
    LoadedFile,
)

MAX_CHARACTERS = 6_000
MAX_TOOLS_CHARACTERS = 500
MAX_TOKENS = 2_000


class SessionSettings(NamedTuple):
    """What an agent is told, as `Telling` with nothing left open."""

    characters: int = MAX_CHARACTERS
    tokens: int = MAX_TOKENS
    tools: int = MAX_TOOLS_CHARACTERS
    hints: bool = True
    shared_patterns: bool = False
    observes: bool = True


def session_settings(said: Sequence[LoadedFile]) -> SessionSettings:
    """Put together what files say: the machine's, what a project takes from that, and the administrator's."""
    told = SessionSettings()
    for each in (
        *_of(said, ConfigurationLayer.MACHINE),
        *_of(said, *OF_A_PROJECT),
        *_of(said, ConfigurationLayer.MANAGED),
    ):
        wanted = {key: value for key, value in each.content.session._asdict().items() if value is not None}
        if each.file.layer in OF_A_PROJECT:
            wanted = {key: min(value, getattr(told, key)) for key, value in wanted.items()}
        told = told._replace(**wanted)
    return told


def violations(said: Iterable[LoadedFile]) -> Iterator[tuple[ConfigurationFile, ConfigurationMistake]]:
    """Name what no file of a project may say, whoever trusts it."""
    for each in said:
        if each.file.layer in OF_A_PROJECT and each.content.session.shared_patterns:
            message, hint = "a project cannot ask for what others do", "that is the machine's to say"
            yield each.file, ConfigurationMistake(("suggestions", "shared_patterns"), message, hint)


def _of(said: Sequence[LoadedFile], *layers: ConfigurationLayer) -> Iterator[LoadedFile]:
    return (each for each in said if each.file.layer in layers)
