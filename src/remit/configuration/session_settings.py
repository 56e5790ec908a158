"""Merges the session settings; a project can only reduce what agents receive."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from remit.configuration.config_model import (
    OF_A_PROJECT,
    ConfigurationFile,
    ConfigurationLayer,
    ConfigurationMistake,
    LoadedFile,
    RetentionOptions,
)
from remit.configuration.store_place import KEY

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
    told = SessionSettings()
    for each in (
        *_of(loaded, ConfigurationLayer.MACHINE, ConfigurationLayer.TEAM),
        *_of(loaded, *OF_A_PROJECT),
        *_of(loaded, ConfigurationLayer.MANAGED),
    ):
        wanted = {key: value for key, value in each.content.session._asdict().items() if value is not None}
        if each.file.layer in OF_A_PROJECT:
            wanted = {key: min(value, getattr(told, key)) for key, value in wanted.items()}
        told = told._replace(**wanted)
    return told


def violations(loaded: Iterable[LoadedFile]) -> Iterator[tuple[ConfigurationFile, ConfigurationMistake]]:
    """List the settings that a project may not set, even if trusted."""
    for each in loaded:
        if each.file.layer in OF_A_PROJECT and each.content.session.shared_patterns:
            message, hint = (
                "a project cannot use other projects' patterns",
                "set it in the machine's file",
            )
            yield each.file, ConfigurationMistake(("suggestions", "shared_patterns"), message, hint)
        if each.file.layer in OF_A_PROJECT and each.content.memory_projects is not None:
            message, hint = "a project cannot open other memories", "set it in your own `remit.toml`"
            yield each.file, ConfigurationMistake(("memory", "projects"), message, hint)
        if each.file.layer in OF_A_PROJECT and each.content.names_store:
            message, hint = "a project cannot choose the store", "set it in your own `remit.toml`"
            yield each.file, ConfigurationMistake((KEY,), message, hint)
        if each.file.layer in OF_A_PROJECT and each.content.retention != RetentionOptions():
            message, hint = "a project cannot set how long records are kept", "set it in the machine's file"
            yield each.file, ConfigurationMistake(("retention",), message, hint)
        content = each.content
        given = {"identity": content.identity, "access": content.access, "limits": any(content.limits)}
        for key in (key for key, value in given.items() if value and each.file.layer in OF_A_PROJECT):
            message, hint = "a project cannot choose who uses the gateway", "set it in your own `remit.toml`"
            yield each.file, ConfigurationMistake((key,), message, hint)


def _of(loaded: Sequence[LoadedFile], *layers: ConfigurationLayer) -> Iterator[LoadedFile]:
    return (each for each in loaded if each.file.layer in layers)
