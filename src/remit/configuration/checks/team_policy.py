"""What the rules of a team may not contain: they count on every node, and for no other team."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit.configuration.checks.file_problems import problems_in
from remit.configuration.config_model import (
    UNLIMITED,
    ConfigurationFile,
    ConfigurationLayer,
    ConfigurationMistake,
    RetentionOptions,
    TomlDocument,
)
from remit.configuration.toml_files import parse_policy
from remit.decision.problems import Problem
from remit.files.bounded_reader import FileError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from remit.configuration.config_model import ConfigurationContent

_HINT = "set it in the `remit.toml` of the nodes"


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
