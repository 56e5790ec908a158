"""Rates the danger of a tool by its description and its parameters.

Only clear words count: the verb that a description starts with, a warning, and parameters that run commands,
overwrite or rehearse. What a server writes here can raise a danger, and never lower it.
"""

import json
import re
from functools import lru_cache

from remit.decision.danger import Danger, Rating, word_danger
from remit.decision.tools import Definition
from remit.text.json_values import as_object

_BEFORE_THE_VERB = """
    this the tool a an to used use it can will lets allows you permanently safely immediately irreversibly
    completely quickly easily bulk batch asynchronously
"""
_LEAD = frozenset(_BEFORE_THE_VERB.split())
_WORD = re.compile(r"[A-Za-z]+")
_WARNING = re.compile(
    r"(?i)\b(?:irreversibl[ey]|cannot be undone|can't be undone|destructive (?:action|operation|command)"
    r"|permanently (?:delet|remov|eras|destroy))"
)
# Verbs that start harmless descriptions, too: `Run a search`, `Execute a SELECT query`, `Start here`.
_OF_MANY_MEANINGS = """
    charge check commit evaluate eval exec execute force invoke mark merge pin post put reply reset run save
    schedule sign start stop switch tag terminal transfer trigger
"""
_UNCLEAR = frozenset(_OF_MANY_MEANINGS.split())
_RUNNING = frozenset({"cmd", "shell_command", "shellcommand", "bash_command", "command_line"})
_OVERWRITING = frozenset({"overwrite", "overwrite_existing", "force_overwrite", "force_delete"})
_REHEARSING = frozenset({"dry_run", "dryrun"})
_OPENING = 200  # characters before the verb at most
_LONGEST = 2_000  # characters to look at: a description starts with what a tool does


def by_definition(definition: Definition) -> Rating | None:
    """Rate a tool by its description and its parameters; None if they say nothing."""
    found = [*_by_text(definition.description or ""), *_by_parameters(definition.input_schema)]
    return max(found, key=lambda each: (each.level, not each.is_vague), default=None)


def _by_text(text: str) -> list[Rating]:
    found: list[Rating] = []
    text = text[:_LONGEST]
    words = (word.lower() for word in _WORD.findall(text[:_OPENING]))
    verb = next((_stem(word) for word in words if word not in _LEAD), "")
    rated = None if verb in _UNCLEAR else word_danger(verb)
    if rated is not None and not rated.is_vague:
        found.append(Rating(rated.level, f"its description says `{verb}`"))
    if warning := _WARNING.search(text):
        found.append(Rating(Danger.DESTRUCTIVE, f"its description says `{warning[0].lower()}`"))
    return found


def _by_parameters(schema: str | None) -> list[Rating]:
    read: object = json.loads(schema) if schema else {}
    names = as_object(as_object(read).get("properties"))
    return [rating for name in names for rating in _by_parameter(name)]


def _by_parameter(name: str) -> list[Rating]:
    plain = name.replace("-", "_").lower()
    said = f"its parameter `{plain}` says so"
    if plain in _RUNNING:
        return [Rating(Danger.DESTRUCTIVE, said, is_vague=True)]
    if plain in _OVERWRITING:
        return [Rating(Danger.DESTRUCTIVE, said)]
    return [Rating(Danger.MODERATE, said)] if plain in _REHEARSING else []


@lru_cache(maxsize=4_096)
def _stem(word: str) -> str:
    """Return a verb without the ending of its third person, if that is a verb of danger."""
    endings = (word, word.removesuffix("s"), word.removesuffix("es"), f"{word.removesuffix('ies')}y")
    return next((each for each in endings if word_danger(each) is not None), word)
