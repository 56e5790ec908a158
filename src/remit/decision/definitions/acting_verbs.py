"""Finds the verbs in a description that say what a tool does.

Verbs count where the tool is their subject: at the start of a text, after `this tool can`, and in the third
person. `Find what to delete` says nothing about deleting, and neither does `Deletes nothing`.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from remit.decision.danger import word_danger

_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]*`]*\s+|\n\s*\n|\n(?=\s*(?:[-*•]|\d+\.)\s)|[;⚠]")
_CLAUSE = re.compile(r"(?i)([,:()\[\]{}|\u2013\u2014]|\s-\s|\b(?:and|or|then|but)\b)")
_TAG = re.compile(r"^\s*[\[(][^\])]{0,40}[\])][:\s]*")  # `[DESTRUCTIVE] Delete a note`
_WORD = re.compile(r"[A-Za-z]+(?:['\u2019][a-z]+)?")
_BEFORE_THE_VERB = """
    a able action after agent allow allows also an api attempt attempts automatically batch bulk can
    command could currently designed enables endpoint for function hard help helper helps if in it just
    let lets may method might must need needs now only operation optionally permit permits please provides
    safely soft that the them this to tool tries try use used user users utility want wanted wants when
    which will with would you
"""
_LEAD = frozenset(_BEFORE_THE_VERB.split())
_SUBJECTS_WORDS = "it this tool command function helper"
_SUBJECTS = frozenset(_SUBJECTS_WORDS.split())
_MODALS_WORDS = "can could may might to will would must"
_MODALS = frozenset(_MODALS_WORDS.split())
_ARTICLES = frozenset({"a", "an", "the", "this", "that"})
# What follows a verb, and no noun.
_OBJECTS_WORDS = """
    a all an any both each every existing him her it its multiple one several some that the their them
    these this those your
"""
_OBJECTS = frozenset(_OBJECTS_WORDS.split())
# What follows a noun, and no verb that has an object: `Updates are free`, `Comments of a post`.
_AFTER_A_NOUN_WORDS = """
    are be by can cannot count has have if in is may must of per should that was were when which will with
"""
_AFTER_A_NOUN = frozenset(_AFTER_A_NOUN_WORDS.split())
_NOTHING = frozenset({"no", "none", "nothing", "you"})  # `This grants you access`
_WISHES = frozenset({"if", "need", "needs", "want", "wants", "when"})
_NEGATIONS_WORDS = "cannot can't doesn't don't never no not without won't"
_NEGATIONS = frozenset(_NEGATIONS_WORDS.split())
_REACH = 6  # words that a negation covers
# Verbs whose third person is the plural of a noun, too.
_PLURALS_WORDS = """
    archives builds changes charges clones comments commits copies deploys drops edits empties forks
    forces formats imports invites kills locks logs marks merges orders patches pauses pins posts prunes
    purchases pushes puts refunds registers releases replies resets restarts runs schedules sets shares
    shells signs starts stops switches tags terminals transfers triggers types updates upgrades uploads
    withdraws writes
"""
_PLURALS = frozenset(_PLURALS_WORDS.split())


class ActingVerb(NamedTuple):
    """A verb of a tool, and what follows it in its sentence."""

    verb: str  # in its base form
    is_first: bool  # it starts the description
    is_wish: bool  # of the user: `Use this when the user wants to delete a note`
    rest: tuple[str, ...]


def acting_verbs(text: str) -> Iterator[ActingVerb]:
    """List the verbs that say what a tool changes."""
    sentences = _SENTENCE.split(text.replace("can be used to", "can"))
    spoken = (sentence for sentence in sentences if _WORD.search(sentence) is not None)
    for number, sentence in enumerate(spoken):
        yield from _of_sentence(sentence, is_first=number == 0)


def _of_sentence(sentence: str, *, is_first: bool) -> Iterator[ActingVerb]:
    pieces = _CLAUSE.split(_TAG.sub("", sentence) or sentence)
    before: list[str] = []
    is_list, is_start = is_first, True  # whether base forms may follow: `Create, update or delete`
    for at in range(0, len(pieces), 2):
        words = [word.lower() for word in _WORD.findall(pieces[at])]
        joint = pieces[at - 1].strip().lower() if at else ""
        if not words:
            continue
        place = _Place(is_first, is_start, is_list or (is_first and joint == ":"))
        verb = None if _is_negated(before) else _verb(words, place)
        if verb is not None:
            rest = tuple(word.lower() for piece in pieces[at::2] for word in _WORD.findall(piece))
            is_wish = not _WISHES.isdisjoint(words[: _lead(words)])
            yield ActingVerb(verb, is_first and is_start, is_wish, rest)
        is_list = verb is not None and len(words) <= _lead(words) + 1
        is_start = False
        before += words


class _Place(NamedTuple):
    is_first: bool  # in the first sentence
    is_start: bool  # of its sentence
    is_list: bool


def _verb(words: list[str], place: _Place) -> str | None:
    """Return the verb of a clause, if it is one that changes something, and its subject is the tool."""
    at = _lead(words)
    lead, word, after = words[:at], words[at : at + 1], words[at + 1 : at + 2]
    if not word or not _NOTHING.isdisjoint(after):
        return None
    verb, form = _form(word[0])
    has_subject = not _SUBJECTS.isdisjoint(lead)
    if form == "third":
        is_noun = word[0] in _PLURALS and not has_subject and not place.is_start
        return None if is_noun or not _AFTER_A_NOUN.isdisjoint(after) else verb
    if form == "gerund":
        return verb if place.is_start and (place.is_first or "for" in lead) else None
    if form != "base" or not _ARTICLES.isdisjoint(lead[-1:]) or after == ["of"]:
        return None
    is_told = has_subject and not _MODALS.isdisjoint(lead)
    is_command = (place.is_first and place.is_start) or place.is_list
    is_joined = place.is_first and not _OBJECTS.isdisjoint(after)
    return verb if is_told or is_command or is_joined else None


def _lead(words: list[str]) -> int:
    """Count the words before the verb; adverbs may come before it, too."""
    return next((at for at, word in enumerate(words) if not (word in _LEAD or _is_adverb(word))), len(words))


def _is_adverb(word: str) -> bool:
    return word.endswith("ly") and word not in ("apply", "reply", "supply")


def _is_negated(before: list[str]) -> bool:
    return not _NEGATIONS.isdisjoint(before[-_REACH:])


@lru_cache(maxsize=4_096)
def _form(word: str) -> tuple[str, str]:
    """Return the base of a verb that changes something, and which form it has; an empty form for others."""
    bare = word.removesuffix("ing")
    third = (word.removesuffix("s"), word.removesuffix("es"), f"{word.removesuffix('ies')}y")
    gerund = () if bare == word else (bare, f"{bare}e", bare[:-1])  # `dropping`
    forms = [(word, "base"), *((each, "third") for each in third), *((each, "gerund") for each in gerund)]
    return next(((each, form) for each, form in forms if word_danger(each) is not None), (word, ""))
