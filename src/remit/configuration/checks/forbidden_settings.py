"""The settings that a file of a project, even a trusted one, or the rules of a team may not have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from remit.configuration.checks.file_problems import problems_in
from remit.configuration.config_model import (
    OF_A_PROJECT,
    UNLIMITED,
    ConfigurationContent,
    ConfigurationFile,
    ConfigurationLayer,
    ConfigurationMistake,
    KeyPath,
    LoadedFile,
    RetentionOptions,
    TomlDocument,
)
from remit.configuration.store_place import KEY
from remit.configuration.toml_files import parse_policy
from remit.decision.problems import Problem
from remit.files.bounded_reader import FileError

_HINT = "set it in the `remit.toml` of the nodes"
_MACHINE, _OWN = "set it in the machine's file", "set it in your own `remit.toml`"


def policy_problems(source: str, text: str) -> list[Problem]:
    """List the mistakes in a text that is to become the rules of a team."""
    file = ConfigurationFile(ConfigurationLayer.TEAM, source)
    try:
        document = parse_policy(text)
    except FileError as error:
        document = TomlDocument(problem=error.reason, place=error.place)
    return [Problem(*row) for row in problems_in(file, document)]


def team_mistakes(content: ConfigurationContent) -> Iterator[ConfigurationMistake]:
    """List the settings of a file that are not for a team."""
    for state in content.states:
        if state.detector is not None and not state.detector.is_pushed:
            yield ConfigurationMistake(
                ("states", state.name, state.detector.kind),
                "a team's project has no files, so nothing can be detected in it",
                "declare the state with `push = true`, and push it to /p/PROJECT/state",
            )
    if content.env:
        yield ConfigurationMistake(("env",), "a team cannot show the variables of nodes", _HINT)
    if content.filters:
        yield ConfigurationMistake(
            ("filters", "files"), "a team cannot name filter files, because they run code on nodes", _HINT
        )
    if content.memory_projects is not None:
        yield ConfigurationMistake(("memory", "projects"), "a team cannot open other memories", _HINT)
    if content.notifications is not None:
        yield ConfigurationMistake(("notifications",), "a team cannot set the notifications of nodes", _HINT)
    for section, is_set in (
        ("identity", content.identity is not None),
        ("access", bool(content.access)),
        ("limits", content.limits != UNLIMITED),
    ):
        if is_set:
            yield ConfigurationMistake((section,), "a team cannot choose who uses the gateway", _HINT)
    if content.retention != RetentionOptions():
        yield ConfigurationMistake(("retention",), "a team cannot set how long records are kept", _HINT)
    if content.names_store:
        yield ConfigurationMistake(("store",), "a team cannot choose the store", _HINT)


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
