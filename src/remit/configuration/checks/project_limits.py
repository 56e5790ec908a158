"""Finds the settings that a project's file may not have, even if trusted."""

from collections.abc import Iterable, Iterator

from remit.configuration.config_model import (
    OF_A_PROJECT,
    ConfigurationContent,
    ConfigurationFile,
    ConfigurationMistake,
    KeyPath,
    LoadedFile,
    RetentionOptions,
)
from remit.configuration.store_place import KEY

_MACHINE, _OWN = "set it in the machine's file", "set it in your own `remit.toml`"


def violations(loaded: Iterable[LoadedFile]) -> Iterator[tuple[ConfigurationFile, ConfigurationMistake]]:
    """List the settings that a project may not set, even if trusted."""
    for each in loaded:
        if each.file.layer in OF_A_PROJECT:
            yield from ((each.file, ConfigurationMistake(*found)) for found in _violations(each.content))


def _violations(content: ConfigurationContent) -> Iterator[tuple[KeyPath, str, str]]:
    if content.session.shared_patterns:
        yield ("suggestions", "shared_patterns"), "a project cannot use other projects' patterns", _MACHINE
    if content.memory_projects is not None:
        yield ("memory", "projects"), "a project cannot open other memories", _OWN
    if content.names_store:
        yield (KEY,), "a project cannot choose the store", _OWN
    if content.retention != RetentionOptions():
        yield ("retention",), "a project cannot set how long records are kept", _MACHINE
    given = {"identity": content.identity, "access": content.access, "limits": any(content.limits)}
    for key in (key for key, value in given.items() if value):
        yield (key,), "a project cannot choose who uses the gateway", _OWN
