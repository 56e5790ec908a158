"""Rates the danger of tools by their server's annotations or the words in their names.

Only a configuration can rate a tool as `critical`.
"""

import json
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple, cast

from remit.decision.kinds import Kind
from remit.decision.tool_names import MCP
from remit.decision.tools import Tool
from remit.text.words import split


class Danger(IntEnum):
    """The danger levels, lowest first."""

    SAFE = 0  # reads local data
    LOW = 1  # reads data that may be untrusted
    MODERATE = 2  # makes reversible changes
    DESTRUCTIVE = 3  # may destroy data
    CRITICAL = 4  # money, production, credentials

    @property
    def word(self) -> str:
        """The level as written in configurations and JSON."""
        return self.name.lower()


LEVELS = {level.word: level for level in Danger}


class Rating(NamedTuple):
    """A danger level and its origin."""

    level: Danger
    origin: str


_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_NAMED = (Kind.MCP_TOOL, Kind.BUILTIN)  # other kinds act through tools, which have their own rating

_READS = "count describe get has is list show view"  # followed by a noun
_TELLS = """
    cat check diff doctor find help info inspect log logs ls print read report routes search stat stats
    status tree version which whoami why
"""
_CHANGES = """
    accept add append apply approve archive assign attach build change clear click close comment commit
    configure connect convert copy create deploy disable edit enable fill fork format generate import init
    insert install invite invoke lock mark merge migrate modify move mute open patch pin post press publish
    push put rebase register reject rename replace reply reopen resolve restart restore resume rotate run save
    schedule send set share sign start stop submit subscribe switch sync tag toggle trigger type unlock
    unset update upgrade upload upsert write
"""
_DESTROYS = """
    bash charge cmd destroy delete drop empty erase eval evaluate exec execute flush force kill nuke
    overwrite pay powershell prune purchase purge refund remove reset revoke rm sh shell shred shutdown
    terminal terminate transfer truncate uninstall unlink unpublish wipe withdraw
"""
_READING = frozenset(_READS.split())
_HARMLESS = _READING.union(_TELLS.split())
_TELLING = (
    (Danger.DESTRUCTIVE, frozenset(_DESTROYS.split())),
    (Danger.MODERATE, frozenset(_CHANGES.split())),
)
_JOINS = frozenset({"and", "or", "then"})

_PLAIN = Rating(Danger.LOW, "nothing says more")


def by_annotations(annotations: str | None) -> Danger | None:
    """Rate a tool by its annotations, as JSON; None if they contain no hints.

    If any hint is present, missing or malformed ones count as the worst case.
    """
    if annotations is None:
        return None
    hints = cast("dict[str, object]", json.loads(annotations))
    if not any(hint in hints for hint in _HINTS):
        return None
    if hints.get("readOnlyHint") is True:
        return Danger.SAFE if hints.get("openWorldHint") is False else Danger.LOW
    return Danger.MODERATE if hints.get("destructiveHint") is False else Danger.DESTRUCTIVE


def derive(tool: Tool, *, trusts_annotations: bool) -> Rating:
    """Rate a tool that has no configured danger; untrusted annotations can only raise the level."""
    named = by_name(tool.name) if tool.kind in _NAMED else _PLAIN
    if tool.danger is None:
        return named
    said = (_BY_DEFINITION if tool.server is None else _BY_ANNOTATIONS)[tool.danger]
    return said if trusts_annotations or said.level > named.level else named


@lru_cache(maxsize=65_536)
def by_name(name: str) -> Rating:
    """Rate a tool by the most dangerous word of its name; words after a reading verb count as nouns.

    So `get_update_status` is a read, and `get_and_update` is not.
    """
    own = name.split("__", 2)[2] if name.startswith(MCP) and name.count("__") > 1 else name
    words = split(own).lower().split()
    if words and words[0] in _READING and _JOINS.isdisjoint(words):
        return _PLAIN
    for level, telling in _TELLING:
        if word := next((word for word in words if word in telling), None):
            return Rating(level, f"its name says `{word}`")
    return _PLAIN


def of_command(name: str) -> Danger:
    """Rate a command by the last part of its name; `safe` if a word implies reading."""
    own = name.rpartition(".")[2]
    level = by_name(own).level
    reads = not _HARMLESS.isdisjoint(split(own).lower().split())
    return Danger.SAFE if reads and level is Danger.LOW else level


_BY_ANNOTATIONS = {level: Rating(level, "its server says so") for level in Danger}
_BY_DEFINITION = {level: Rating(level, "its definition says so") for level in Danger}
