"""The grammar of a sentence: its mood, the roles of its words, and which role follows which."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from remit.inspection.sentence_models.word_roles import ACTS, BASE_FORMS, roles_in

REACH = 8  # words between two roles that belong together
_CLOSE = 2
_NEGATION_REACH = 3
_OPENINGS = 6  # words in which a verb may come first
_PASSED_OVER = frozenset(
    [
        "also",
        "then",
        "please",
        "first",
        "silently",
        "quietly",
        "secretly",
        "always",
        "never",
        "afterwards",
        "finally",
        "instead",
        "now",
        "just",
        "kindly",
        "and",
        "but",
        "do",
        "not",
        "simply",
        "next",
        "additionally",
        "immediately",
        "automatically",
        "again",
        "important",
        "note",
        "step",
        "must",
        "should",
        "you",
        "to",
        "don't",
        "warning",
        "critical",
        "mandatory",
        "required",
        "<number>",
        ":",
        "!",
        '"',
        "|",
        "[",
    ]
)
_MORE_VERBS = frozenset(
    [
        "be",
        "make",
        "take",
        "let",
        "give",
        "have",
        "go",
        "leave",
        "come",
        "try",
        "think",
        "consider",
        "assume",
        "start",
        "stop",
        "begin",
        "end",
        "create",
        "update",
        "list",
        "limit",
        "filter",
        "select",
        "generate",
        "check",
        "verify",
        "ensure",
        "see",
        "note",
    ]
)
_CONDITIONS = frozenset(
    [
        "before",
        "when",
        "whenever",
        "if",
        "after",
        "once",
        "prior",
        "until",
        "unless",
        "for",
        "in",
        "on",
        "upon",
        "as",
        "while",
        "during",
        "every",
        "each",
        "with",
        "to",
        "where",
    ]
)


class SentenceRoles(NamedTuple):
    """The roles in a sentence."""

    found: tuple[tuple[int, str, bool], ...]  # each with its position, and whether it is a negated verb
    names: frozenset[str]


class Grammar(NamedTuple):
    """The grammar of a sentence."""

    mood: str
    roles: set[str]
    near: set[tuple[str, str]]  # roles that belong together, in their order
    close: set[tuple[str, str]]  # those next to each other


def mood_of(words: Sequence[str]) -> str:
    """Return how a sentence starts: with an order, a condition, a description, or something else."""
    for at, word in enumerate(words[:_OPENINGS]):
        if word in _PASSED_OVER:
            continue
        if word in BASE_FORMS or word in _MORE_VERBS:
            return "order"
        if word in _CONDITIONS:
            return "condition"
        if at == 0 and word.endswith("s") and word[:-1] in BASE_FORMS:
            return "description"
        break
    return "statement"


def features(words: Sequence[str], purpose: frozenset[str]) -> set[str]:
    """Return what the sentence model weighs: the words of a sentence, and its grammar."""
    found = grammar(tuple(words), purpose)
    return {
        f"^{found.mood}",
        *(f"w:{word}" for word in words if word[0] != "<"),
        *(each for role in found.roles for each in (role, f"{found.mood}: {role}")),
        *map(" .. ".join, found.near),
        *map(" ".join, found.close),
    }


def grammar(words: tuple[str, ...], purpose: frozenset[str]) -> Grammar:
    """Return the mood of a sentence, its roles, and which role follows which.

    A role that is part of the tool's purpose is marked `*`, a verb that is negated `!`.
    """
    roles = [(at, _marked(role, is_negated, purpose)) for at, role, is_negated in roles_of(words).found]
    near: set[tuple[str, str]] = set()
    close: set[tuple[str, str]] = set()
    for first, (at, role) in enumerate(roles, start=1):
        for other_at, other in roles[first:]:
            if (distance := other_at - at) > REACH:
                break
            if distance:
                near.add((role, other))
                if distance <= _CLOSE:
                    close.add((role, other))
    return Grammar(mood_of(words), {role for _, role in roles}, near, close)


@lru_cache(maxsize=1 << 12)  # the tools of a server repeat their schemas' texts
def roles_of(words: tuple[str, ...]) -> SentenceRoles:
    """Find the roles in a sentence."""
    found: list[tuple[int, str, bool]] = []
    negation = -REACH
    for at, roles in enumerate(roles_in(words)):
        if "not" in roles:
            negation = at
        is_near = 0 < at - negation <= _NEGATION_REACH
        found += [(at, role, is_near and role in ACTS) for role in roles]
    return SentenceRoles(tuple(found), frozenset([role for _, role, _ in found]))


def _marked(role: str, is_negated: bool, purpose: frozenset[str]) -> str:
    own = f"{role}*" if role in purpose else role
    return f"!{own}" if is_negated else own
