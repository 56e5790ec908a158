"""Reads the descriptions of parameters from the `Args:` section of a docstring, in Google's style."""

import re
from collections.abc import Collection
from textwrap import dedent
from typing import NamedTuple

_SECTION = re.compile(
    r"^(?:Args|Arguments|Parameters):[ \t]*\n((?:[ \t]+\S.*(?:\n|$)|[ \t]*\n)+)", re.MULTILINE
)
_ENTRY = re.compile(r"(\w+)(?: *\([^)]*\))?: *(.*)")


class ReadDocstring(NamedTuple):
    """A docstring without its section about parameters, and what that says about each."""

    text: str
    parameters: dict[str, str]


def read_docstring(text: str, parameters: Collection[str]) -> ReadDocstring:
    """Read a docstring; one whose section has anything but these parameters stays as it is."""
    section = _SECTION.search(text)
    if section is None:
        return ReadDocstring(text, {})
    found: dict[str, str] = {}
    name = ""
    for line in dedent(section[1]).splitlines():
        entry = None if line.startswith((" ", "\t")) else _ENTRY.match(line)
        if entry is not None and entry[1] in parameters:
            name = entry[1]
            found[name] = entry[2]
        elif name and (line.startswith((" ", "\t")) or not line):
            found[name] = f"{found[name]} {line.strip()}".strip()
        elif line:
            return ReadDocstring(text, {})
    rest = f"{text[: section.start()].rstrip()}\n\n{text[section.end() :].lstrip()}".strip()
    return ReadDocstring(rest, found)
