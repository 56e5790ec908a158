"""Drafts of configuration files: what would hold if a file had another text, without writing it.

A draft can change rules, and states that only look at this machine. It cannot hold anything new that runs.
"""

from collections.abc import Iterable, Iterator

from remit.configuration.config_model import (
    AccessLists,
    ConfigurationContent,
    ConfigurationMistake,
    TomlDocument,
)
from remit.configuration.toml_positions import positions
from remit.files.bounded_reader import FileError
from remit.files.formats import parse_toml

LONGEST = 2**18  # characters
_FREE = frozenset(  # sections that can change in any way
    {
        *("agents", "ask_from", "everyone", "mode", "namespaces", "pinned", "rooms", "servers", "states"),
        *("strategy", "token_budget", "tools"),
    }
)
_IN_FILE = {
    "memory_projects": ("memory", "projects"),
    "session": ("suggestions",),
    "changes": ("trust",),
    "names_store": ("store",),
}
_EDIT = "edit the file itself"


def parse_draft(text: str) -> TomlDocument:
    """Parse a draft as the file would be parsed."""
    if len(text) > LONGEST:
        return TomlDocument(problem=f"longer than {LONGEST:,} characters")
    try:
        return TomlDocument(parse_toml(text), positions(text))
    except FileError as error:
        return TomlDocument(problem=error.reason, place=error.place)


def forbidden_changes(
    draft: ConfigurationContent, before: ConfigurationContent
) -> Iterator[ConfigurationMistake]:
    """List the changes that a draft cannot try out."""
    for name in ConfigurationContent._fields:
        if name not in _FREE and getattr(draft, name) != getattr(before, name):
            path = _IN_FILE.get(name, (name,))
            yield ConfigurationMistake(path, f"a draft cannot change `{'.'.join(path)}`", _EDIT)
    known = {entry.name: entry for entry in before.states}
    for entry in draft.states:
        if entry.detector is not None and entry.detector.runs and known.get(entry.name) != entry:
            message = "a draft cannot hold a new state that runs a program or asks a server"
            yield ConfigurationMistake(("states", entry.name), message, _EDIT)
    old, new = _running(before.servers), _running(draft.servers)
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            message = "a draft cannot change how a server runs, or whether it is trusted"
            yield ConfigurationMistake(("servers", name), message, _EDIT)
    if old == new and [*old] != [*new]:  # the last that matches holds
        yield ConfigurationMistake(("servers",), "a draft cannot change the order of servers", _EDIT)


def _running(servers: Iterable[AccessLists]) -> dict[str, tuple[object, ...]]:
    """Return what decides how servers run and whose ratings are believed, with the projects it holds in."""
    found = {each.name: (each.options, each.sandbox, each.trusted, each.projects) for each in servers}
    return {name: each for name, each in found.items() if each[:-1] != (None, None, None)}
