"""Finds the tools that a sentence names, and whose they are."""

import re
from dataclasses import dataclass
from functools import lru_cache

from remit.decision.tools import Definition
from remit.inspection.surroundings import Surroundings, own_name, plain_name

_NAME = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]++(?:[_-][A-Za-z0-9]++)+|\b[a-z]++(?:[A-Z][a-z0-9]++)+\b")
_QUOTED = re.compile(r"[`'\"“#]([A-Za-z][\w.-]{2,63})[`'\"”]?")
_CALLED = re.compile(
    r"(?ix)\b(?:call|calls|calling|invoke|invoking|use|using|run|running|execute|executing|trigger|route|when|whenever|before"
    r"|after|than|prior\sto|tool\snamed|supersedes|passed\sto|(?:output|response|result|results)\sof|called|have\sits|via|stop\susing)\s+(?:the\s+)?[`'\"]?"
    r"((?!mcp_)[a-z0-9]+(?:_[a-z0-9]+)+)\b(?![=/.:])"
)
_AS_TOOL = re.compile(r"[`'\"]?\b([A-Za-z]\w{2,63})[`'\"]?(?:\(\))? (?:tool|function)\b(?!s)")
_VERBS = """
    add analyze append archive ask attach backup book build calculate call cancel change check clear
    click close commit compare compose connect convert copy create decode delete deploy describe disable
    download draft edit enable encode execute export extract fetch fill find format generate get git
    help import insert install invoke launch list load log login lookup make merge modify move navigate
    notify open parse pay ping play plot post process publish pull push put query read recall record
    remove rename replace report request reset resolve restart restore retrieve review route run
    sanitize save scan schedule search select send set share shell show sign start stop store submit
    summarize switch sync telemetry test track transfer translate trigger update upload validate verify
    view wait write
"""  # a tool's name starts with one; a parameter's does not
_FIRST_WORDS = frozenset(_VERBS.split())


@dataclass(frozen=True, slots=True)
class ToolMentions:
    """The tools that a sentence names."""

    own: frozenset[str] = frozenset()  # of the same server
    foreign: frozenset[str] = frozenset()  # of other servers
    unknown: frozenset[str] = frozenset()  # of no known server, though its own is known
    unlisted: frozenset[str] = frozenset()  # perhaps of its own server, of which nothing else is known

    @property
    def others(self) -> bool:
        """Whether a tool is named that may belong to another server."""
        return bool(self.foreign or self.unknown or self.unlisted)


NOTHING = ToolMentions()


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectedDefinition:
    """A definition with what its texts may refer to."""

    definition: Definition
    others: Surroundings
    values: frozenset[str] = frozenset()  # the names of its parameters, and their values


def mentions(text: str, subject: InspectedDefinition) -> ToolMentions:
    """Find the tools that a text of a definition names."""
    definition, others = subject.definition, subject.others
    names, called = _names_in(text)
    if not names:
        return NOTHING
    own, foreign, unknown, unlisted = set[str](), set[str](), set[str](), set[str]()
    for name in names:
        plain = plain_name(name)
        if plain == plain_name(own_name(definition)) or others.is_own(plain, definition.server):
            own.add(name)
        elif not may_be_tool(plain) or name in subject.values:
            continue  # a word, or one of its own parameters and values
        elif others.holders(plain):
            foreign.add(name)
        elif name in called:
            (unknown if definition.server in others.listed else unlisted).add(name)
    return ToolMentions(frozenset(own), frozenset(foreign), frozenset(unknown), frozenset(unlisted))


@lru_cache(maxsize=1 << 12)  # the tools of a server repeat their schemas' texts
def _names_in(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return what looks like a name, and what looks like the name of a tool that is called."""
    called: set[str] = set()
    if "_" in text:
        called = {*_CALLED.findall(text), *(name for name in _AS_TOOL.findall(text) if "_" in name)}
    return frozenset({*_NAME.findall(text), *_QUOTED.findall(text), *called}), frozenset(called)


def may_be_tool(plain: str) -> bool:
    """Return whether a plain name starts with a verb, as the names of tools do."""
    verb, _, rest = plain.partition("_")
    return bool(rest) and verb in _FIRST_WORDS
