"""Finds the settings that a project's file may not have, even if trusted."""

from collections.abc import Iterable, Iterator, Mapping

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
_GATEWAY = "a project cannot choose who uses the gateway"
FORBIDDEN: Mapping[KeyPath, str] = {  # keys that no project's file may have, whatever their values
    ("mode",): "a project cannot set a mode",
    ("notifications",): "a project cannot set your notifications",
    ("filters", "files"): "a project cannot name filter files, because they run code",
    ("trust", "changes"): "a project cannot set which changed definitions are accepted",
    ("memory", "projects"): "a project cannot open other memories",
    ("retention",): "a project cannot set how long records are kept",
    ("identity",): _GATEWAY,
    ("access",): _GATEWAY,
    ("limits",): _GATEWAY,
}


def as_forbidden(mistake: ConfigurationMistake) -> ConfigurationMistake:
    """Replace a mistake at a key that no project may have: to correct it would not help."""
    key = next((key for key in FORBIDDEN if mistake.path[: len(key)] == key), None)
    return mistake if key is None else ConfigurationMistake(key, FORBIDDEN[key], _OWN)


def violations(loaded: Iterable[LoadedFile]) -> Iterator[tuple[ConfigurationFile, ConfigurationMistake]]:
    """List the settings that a project may not set, even if trusted."""
    for each in loaded:
        if each.file.layer in OF_A_PROJECT:
            yield from ((each.file, ConfigurationMistake(*found)) for found in _violations(each.content))


def _violations(content: ConfigurationContent) -> Iterator[tuple[KeyPath, str, str]]:
    if content.session.shared_patterns:
        yield ("suggestions", "shared_patterns"), "a project cannot use other projects' patterns", _MACHINE
    if content.memory_projects is not None:
        yield ("memory", "projects"), FORBIDDEN["memory", "projects"], _OWN
    if content.names_store:
        yield (KEY,), "a project cannot choose the store", _OWN
    if content.retention != RetentionOptions():
        yield ("retention",), FORBIDDEN["retention",], _MACHINE
    given = {"identity": content.identity, "access": content.access, "limits": any(content.limits)}
    for key in (key for key, value in given.items() if value):
        yield (key,), FORBIDDEN[key,], _OWN
