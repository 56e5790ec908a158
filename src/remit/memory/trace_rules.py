"""Decides which trace a tool call leaves, from its arguments and its result.

A trace never contains the content of a file, result or page. Unclear calls leave no trace, such as a command
whose exit code may come from another program. Addresses lose their credentials and query.
"""

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from itertools import dropwhile

from remit.decision.projects import Workspace
from remit.files.bounded_walk import WalkBudget, WalkLimitError, entries
from remit.files.checkout import git_directory
from remit.memory.traces import COMMITTED, EDITED, FAILS, PASSES, READ, SEARCHED, WROTE, Trace, TraceKind
from remit.text.json_values import as_object
from remit.text.redaction import redact, redact_url
from remit.text.secrets import Word, names_a_secret, secrets_in, shown, words_of
from remit.text.untrusted_text import one_line

_LONGEST = 160  # characters in a subject
_LONGEST_PATH = 1_000
_MOST_OBJECTS = 10_000  # names in one directory of a repository's objects
_LONGEST_GIVEN = 10_000  # characters of a command or result to read

_WRITERS = {"Edit": EDITED, "MultiEdit": EDITED, "NotebookEdit": EDITED, "Write": WROTE}
_SHELL = "Bash"
_READERS = ("fetch", "scrape", "read_url", "extract")  # in the names of MCP tools
_MANUALS = ("docs", "documentation")
_LIBRARY = ("libraryId", "context7CompatibleLibraryID", "repoName", "library", "libraryName")

# The patterns are compiled on first use, as most calls leave no trace.
_COMMIT = r"(?m)^\[[^\]\n]+ ([0-9a-f]{7,40})\] (.+)$"
_URL = r"(?i)(https?)://(?:[^/?#@\s]*@)?([^/?#@:\s]+\.[a-z]{2,})(?::\d+)?(/[^?#\s]*)?"
_PRIVATE = (".local", ".localhost", ".internal", ".lan", ".home.arpa", ".test", ".invalid", ".example")
_UNCLEAR = r"[|;&<`\n]|\$\("  # hides the exit code or the program
_MOVE = r"\s*cd\s+([\w./@-]+)\s*"
_HOW = (  # words that may come before the program
    r"-.*|.*=.*|\d+[smh]?|nice|time|timeout|env|npx|uv|poetry|pipenv|bundle|exec|run|(?:.*/)?python[\d.]*"
)
_ALIKE = (
    r"-q+|-v+|-s|-x|--quiet|--verbose|--silent|--tb=\w+|--color=\w+|--no-header"  # do not affect the outcome
)
_CHECKER = r"pytest|tox|nox|unittest|jest|vitest|mocha|rspec|phpunit|ctest|ruff|mypy|pyright|tsc"
_BUILDER = r"make|just|npm|yarn|pnpm|bun|deno|cargo|go|mvn|gradlew?|dotnet|mix|swift"
_TASK = r"(?:run )?(?:tests?|check|lint|build|typecheck|vet|clippy)\b.*"


def trace_of(tool: str, given: Mapping[str, object], answer: object, *, succeeded: bool) -> Trace | None:
    """Return the trace of a call; `answer` is the result that the client reports."""
    if tool == _SHELL:
        return _run(given, answer, succeeded=succeeded)
    if not succeeded:
        return None
    if tool in _WRITERS:
        path = _text(given, "file_path") or _text(given, "notebook_path")
        return Trace(TraceKind.FILE, path, _WRITERS[tool]) if len(path) in range(1, _LONGEST_PATH) else None
    if tool == "WebSearch":
        return _named(TraceKind.SEARCH, _text(given, "query"), SEARCHED)
    name = tool.rpartition("__")[2].lower()
    if tool == "WebFetch" or any(word in name for word in _READERS):
        return _named(TraceKind.PAGE, _address(_text(given, "url")), READ)
    if any(word in name for word in _MANUALS):
        return _named(TraceKind.MANUAL, next(filter(None, (_text(given, key) for key in _LIBRARY)), ""), READ)
    return None


def _run(given: Mapping[str, object], answer: object, *, succeeded: bool) -> Trace | None:
    command = _text(given, "command")
    told = as_object(answer)
    if given.get("run_in_background") is True or told.get("backgroundTaskId") or told.get("interrupted"):
        return None
    if succeeded and "commit" in command and (made := re.search(_COMMIT, _text(told, "stdout"))):
        return _named(TraceKind.COMMIT, f"{made[1][:7]} {made[2]}", COMMITTED)
    if not succeeded and not (isinstance(answer, str) and answer.startswith("Exit code ")):
        return None
    *moves, last = command.replace("2>&1", "").split("&&")
    if len(moves) > 1 or any(re.search(_UNCLEAR, part) for part in (*moves, last)):
        return None
    move = re.fullmatch(_MOVE, moves[0]) if moves else None
    check = "" if moves and move is None else _check(last)
    found = _named(TraceKind.CHECK, check, PASSES if succeeded else FAILS)
    return found if found is None or move is None else found._replace(place=move[1])


def _check(command: str) -> str:
    """Name the check that a command runs, with its arguments; empty if the command is not clearly a check."""
    words = command.partition(">")[0].split()
    program, *rest = [*dropwhile(lambda word: re.fullmatch(_HOW, word), words), ""]
    program = program.rpartition("/")[2]
    told = " ".join(word for word in rest if not re.fullmatch(_ALIKE, word)).strip()
    is_check = re.fullmatch(_CHECKER, program) or (
        re.fullmatch(_BUILDER, program) and re.fullmatch(_TASK, told)
    )
    # Skip a check that cannot be named in full: with other arguments it would be another check.
    is_plain = len(told) <= _LONGEST and not any(map(_hides, words_of(told.split())))
    return f"{program} {told}".strip() if is_check and is_plain else ""


def _hides(word: Word) -> bool:
    """Return whether a word may be a secret, alone or as the value of its option."""
    return shown(word.prefix + word.value) is None or names_a_secret(word.name)


def _address(url: str) -> str:
    """Return the address of a public page without credentials and query, or an empty string."""
    found = re.match(_URL, url)
    if found is None or found[2].lower().endswith(_PRIVATE):
        return ""
    return redact_url(f"{found[1].lower()}://{found[2].lower()}{found[3] or ''}")


def _named(sort: TraceKind, subject: str, verb: str) -> Trace | None:
    plain = without_secrets(subject)
    return Trace(sort, plain, verb) if plain else None


def without_secrets(subject: str) -> str:
    """Reduce a subject to one line without secrets."""
    line = one_line(subject, _LONGEST_GIVEN)
    return one_line(redact(line, secrets_in(line)), _LONGEST)  # cut last: half a secret is not recognized


def _text(given: Mapping[str, object], key: str) -> str:
    value = given.get(key)
    return value if isinstance(value, str) and len(value) <= _LONGEST_GIVEN else ""


def inside(trace: Trace, workspace: Workspace, directory: str) -> Trace | None:
    """Make the paths of a trace relative to the checkout; None if the trace belongs elsewhere.

    `directory` is the working directory of the call.
    """
    if trace.sort is TraceKind.FILE:
        path = _within(os.path.join(directory, trace.subject), workspace)
        if path in (None, ".") or path.split("/")[0] == ".git":
            return None
        return trace._replace(subject=without_secrets(path))
    if trace.sort is TraceKind.CHECK:
        place = _within(os.path.join(directory, trace.place), workspace)
        if place is None:
            return None
        return (
            trace if place == "." else trace._replace(subject=without_secrets(f"{trace.subject} in {place}"))
        )
    if trace.sort is TraceKind.COMMIT and not _has_object(trace.subject.partition(" ")[0], workspace):
        return None
    return trace


def _within(path: str, workspace: Workspace) -> str | None:
    try:
        found = os.path.relpath(os.path.realpath(path), workspace.checkout).replace(os.sep, "/")
    except (OSError, ValueError):  # on another drive, or not a path
        return None
    return None if found.split("/")[0] == ".." else found


def _has_object(id: str, workspace: Workspace) -> bool:
    """Return whether the project's repository has an object as a loose file, as new objects do."""
    for root in filter(None, (git_directory(workspace.project.path), workspace.project.path)):
        folder = os.path.join(root, "objects", id[:2])
        found = entries(folder, WalkBudget(_MOST_OBJECTS, 1.0), within=[root])
        with suppress(WalkLimitError):
            if any(entry.name.startswith(id[2:]) for entry in found):
                return True
    return False
