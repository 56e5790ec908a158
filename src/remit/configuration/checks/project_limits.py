"""Finds the settings that a project's file may not have, even if trusted."""

from collections.abc import Iterable, Iterator

from remit.configuration.config_model import (
    OF_A_PROJECT,
    ConfigurationFile,
    ConfigurationMistake,
    LoadedFile,
    RetentionOptions,
)
from remit.configuration.store_place import KEY


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
