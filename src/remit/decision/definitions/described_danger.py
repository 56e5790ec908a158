"""Rates the danger of a tool by its description and its parameters.

What a server writes here can raise a danger, and never lower it. Words with many meanings are vague: its
annotations may lower what they say.
"""

import re
from collections.abc import Iterator

from remit.decision.danger import STARTING_VERBS, Danger, Rating, combined, word_danger
from remit.decision.definitions.acting_verbs import ActingVerb, acting_verbs
from remit.decision.definitions.parameter_danger import by_parameters, runs_code
from remit.decision.tools import Definition
from remit.text.words import split

_WARNING = re.compile(
    r"(?i)\b(?:irreversibl[ey]|cannot be undone|can't be undone|destructive (?:action|operation|command)"
    r"|permanently (?:delet|remov|eras|destroy)|(?:deletion|removal|erasure|destruction) of "
    r"|(?:gets?|(?:is|are|gets?) (?:then|also|afterwards|automatically|immediately|permanently))"
    r" (?:deleted|destroyed|discarded|erased|overwritten|purged|removed|wiped)\b)"
)
_MARKUP = re.compile(r"</?[A-Za-z][^<>]{0,80}>")
# Verbs that start harmless descriptions, too: `Run a search`, `Execute a SELECT query`, `Start here`.
_OF_MANY_MEANINGS = """
    charge check commit evaluate eval exec execute force invoke mark merge pin post put reply reset run save
    schedule sign start stop switch tag terminal transfer trigger
"""
_UNCLEAR = frozenset(_OF_MANY_MEANINGS.split())
# Verbs that say something else in the middle of a text: `It accepts a name`, `This applies to drafts`.
_OF_MANY_USES = frozenset({"accept", "add", "apply", "change", "empty", "grant", "set", "unlock"})
_RUNNING = frozenset({"evaluate", "eval", "exec", "execute", "run"})
_PROGRAMS_WORDS = """
    bash code command commands javascript powershell program programs python script scripts shell
"""
_PROGRAMS = frozenset(_PROGRAMS_WORDS.split())
_NEAR = 5  # words between a verb and what it runs
_LONGEST = 50_000  # characters to look at


def by_definition(definition: Definition) -> Rating | None:
    """Rate a tool by its description and its parameters; None if they say nothing."""
    name = definition.tool or definition.name
    found = [
        *_by_text(definition),
        *by_parameters(definition.input_schema, name),
    ]
    return combined(found) if found else None


def _by_text(definition: Definition) -> Iterator[Rating]:
    text, runs = (
        _MARKUP.sub(" ", (definition.description or "")[:_LONGEST]),
        runs_code(definition.input_schema),
    )
    named = split(definition.tool or definition.name).lower().split()
    for found in acting_verbs(text):
        yield from _by_verb(found, runs=runs, is_named=found.verb in named)
    if warning := _WARNING.search(text):
        yield Rating(Danger.DESTRUCTIVE, f"its description says `{warning[0].lower().strip()}`")


def _by_verb(found: ActingVerb, *, runs: bool, is_named: bool) -> Iterator[Rating]:
    rated, said = word_danger(found.verb), f"its description says `{found.verb}`"
    if rated is None or (rated.is_vague and found.verb not in STARTING_VERBS):
        return
    if rated.is_vague:
        yield from [Rating(rated.level, said, is_vague=not is_named)] if found.is_first else []
    elif found.verb not in _UNCLEAR and (found.is_first or found.verb not in _OF_MANY_USES):
        yield Rating(rated.level, said, is_vague=found.is_wish)
    elif found.verb in _RUNNING and (runs or not _PROGRAMS.isdisjoint(found.rest[1:_NEAR])):
        yield Rating(Danger.DESTRUCTIVE, said)
    elif found.is_first:
        yield Rating(rated.level, said, is_vague=True)
