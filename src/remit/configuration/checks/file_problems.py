"""The mistakes in one configuration file, as problems with their positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit.configuration.config_model import (
    KEY_SEPARATOR,
    OF_A_PROJECT,
    ConfigurationContent,
    ConfigurationFile,
    ConfigurationLayer,
    ConfigurationMistake,
    LoadedFile,
    TomlDocument,
    key_path,
)
from remit.configuration.file_parser import read

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from remit.decision.projects import Workspace


def problems_in(file: ConfigurationFile, text: TomlDocument) -> list[tuple[str, str, str]]:
    """List the problems of a file: its path, a position and the reason."""
    if text.problem:
        return [(file.path, text.place, text.problem)]
    content, mistakes = file_parser(file)(text.content)
    if file.layer is ConfigurationLayer.TEAM:
        from remit.configuration.checks.team_policy import team_mistakes  # few projects are of teams

        mistakes = [*mistakes, *team_mistakes(content)]
    if _has_logic(content):
        from remit.configuration.condition_rules import mistakes_in  # most files have no conditions

        mistakes = [*mistakes, *mistakes_in(content)]
    if mistakes and file.layer in OF_A_PROJECT:
        mistakes = _of_a_project(mistakes, LoadedFile(file, content, text.places))
    return [problem_row(file, text.places, each) for each in mistakes]


def _of_a_project(mistakes: Sequence[ConfigurationMistake], loaded: LoadedFile) -> list[ConfigurationMistake]:
    """Add the settings that a project may not have; those of a valid file are found with all others."""
    from remit.configuration.checks.project_limits import as_forbidden, violations  # for broken files only
    from remit.configuration.policy_compiler import forbidden_settings

    given = [*forbidden_settings(loaded, ()), *(each for _, each in violations([loaded]))]
    found = {(each.path, each.message): each for each in (*map(as_forbidden, mistakes), *given)}
    return list(found.values())


def problem_row(
    file: ConfigurationFile, places: Mapping[str, Sequence[int]], mistake: ConfigurationMistake
) -> tuple[str, str, str]:
    """Format a mistake as a problem with position, keys, message and hint."""
    keys = key_path(mistake.path)
    hint = f" ({mistake.hint})" if mistake.hint else ""
    reason = f"{keys}: {mistake.message}{hint}" if keys else f"{mistake.message}{hint}"
    return file.path, place_of(mistake, places), reason


def place_of(mistake: ConfigurationMistake, places: Mapping[str, Sequence[int]]) -> str:
    """Return the line and column of a mistake, as far as they are known."""
    path = mistake.path
    while path and KEY_SEPARATOR.join(path) not in places:
        path = path[:-1]
    if path:
        line, column, inner_line, inner_column = places[KEY_SEPARATOR.join(path)]
        if mistake.line and path == mistake.path:
            column = mistake.column if mistake.line > 1 else inner_column + mistake.column - 1
            line = inner_line + mistake.line - 1
        return f"line {line} column {column}"
    if mistake.path:  # a table without a header of its own, such as `tool` of `[tool.x]`
        inside = f"{mistake.path[0]}{KEY_SEPARATOR}"
        first = next((at for key, at in places.items() if key.startswith(inside)), None)
        return f"line {first[0]} column {first[1]}" if first else ""
    return ""


def file_parser(
    file: ConfigurationFile,
) -> Callable[[object], tuple[ConfigurationContent, list[ConfigurationMistake]]]:
    """Return the function that reads the content of a file."""
    if file.layer is not ConfigurationLayer.LOCK:
        return read
    from remit.configuration.project_lock_file import read_lock  # most projects have no lock

    return lambda content: read_lock(content) if content else (ConfigurationContent(), [])


def owner_of(file: ConfigurationFile, workspace: Workspace) -> str | None:
    """Return the project or team that a file belongs to; None: to everyone on this machine."""
    if file.layer is ConfigurationLayer.TEAM and workspace.team is not None:
        return workspace.team.hash
    return workspace.project.hash if file.layer in OF_A_PROJECT else None


def _has_logic(content: ConfigurationContent) -> bool:
    return any(entry.implies for entry in content.states) or any(
        entry.has_condition for entry in content.tools
    )
