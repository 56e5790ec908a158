"""Decides which values of a server's entry are credentials, and hidden from the person who may trust it.

A name such as `DB_PASSWORD` hides any value, unless the value may be what runs: a repository could call a
program's variable like a secret to hide it.
"""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING

from remit.decision.declared_launch import references, steers_code
from remit.text.secrets import is_credential, names_a_secret

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from remit.decision.declared_launch import Launch

_SWITCH = re.compile(r"(?i)|true|false|yes|no|on|off|none|null|undefined|\d{1,3}")
_ADDRESS = re.compile(r"[A-Za-z][\w+.-]*://")
_PATH = re.compile(r"\.{1,2}[\\/]|~|[A-Za-z]:[\\/]|/[\w.-]+(?:$|/)|[\w@./\\-]+\.[A-Za-z]\w{0,4}$|--?[A-Za-z]")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")
_COMMAND_ENDS = re.compile(r"[;|&\n()`{}]+")
_ASSIGNMENT = re.compile(r"\w+=")
_BUILTINS = frozenset((".", "source", "eval", "exec", "command", "builtin", "trap", "if", "while", "for"))


def is_hidden_variable(launch: Launch, name: str, value: str, is_program: Callable[[str], bool]) -> bool:
    """Return whether the value of a variable is hidden; `is_program` knows commands and files."""
    if steers_code(name) or is_program(value):
        return False
    if is_credential(value, name):
        return True
    words = (launch.command, *launch.args, launch.headers_helper or "")
    is_run = any(name in word for word in words) or _may_run(value, is_program)
    return _is_named_secret(launch, name, value) and not is_run


def is_hidden_header(launch: Launch, name: str, value: str) -> bool:
    """Return whether the value of a header, which nothing runs, is hidden."""
    return is_credential(value, name) or _is_named_secret(launch, name, value)


def program_finder(directories: Iterable[str], search_path: str) -> Callable[[str], bool]:
    """Return what tells whether a word is a command of the search path, or a file of some directories."""
    places = tuple(directories)

    def is_program(word: str) -> bool:
        if not word or "\0" in word:
            return False
        is_file = any(os.path.exists(os.path.join(place, word)) for place in places)
        return is_file or shutil.which(word, path=search_path) is not None

    return is_program


def _is_named_secret(launch: Launch, name: str, value: str) -> bool:
    if not names_a_secret(name) or _SWITCH.fullmatch(value.strip()):
        return False
    return not references(value, launch.syntaxes)


def _may_run(value: str, is_program: Callable[[str], bool]) -> bool:
    """Return whether a value is an address, a path or an option, or has a command in it."""
    text = value.strip()
    if _ADDRESS.match(text):
        return True
    if _PATH.match(text) and not _is_absent(text, is_program):
        return True
    return any(word in _BUILTINS or is_program(word) for word in _commands(text))


def _is_absent(text: str, is_program: Callable[[str], bool]) -> bool:
    """Return whether a text only looks like an absolute path, as a key in base64 may: its top is missing."""
    top = re.match(r"/[^/]+(?=/)", text)
    is_key = _BASE64.fullmatch(text) is not None and all(
        re.search(kind, text) for kind in ("[a-z]", "[A-Z]", "[0-9]")
    )
    return top is not None and is_key and not is_program(top[0])


def _commands(text: str) -> Iterator[str]:
    """Yield the first word of each command that a shell would find in a text."""
    for part in _COMMAND_ENDS.split(text):
        words = [word.strip("\"'$") for word in part.split()]
        first = next((word for word in words if not _ASSIGNMENT.match(word)), "")
        if first:
            yield first
