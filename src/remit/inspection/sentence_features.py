"""The grammar of a sentence: its mood, the roles of its words, and which role follows which."""

from collections.abc import Sequence
from functools import lru_cache

from remit.inspection.word_roles import ACTS, BASE_FORMS, roles_at

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
    """Return what the sentence model weighs.

    A role that is part of the tool's purpose is marked `*`, a verb that is negated `!`.
    """
    mood = mood_of(words)
    found = {f"^{mood}", *(f"w:{word}" for word in words if word[0] != "<")}
    roles = [(at, _marked(role, is_negated, purpose)) for at, role, is_negated in roles_of(tuple(words))]
    for first, (at, role) in enumerate(roles):
        found.add(role)
        found.add(f"{mood}: {role}")
        for other_at, other in roles[first + 1 :]:
            if other_at - at > REACH:
                break
            if other_at > at:
                found.add(f"{role} .. {other}")
                if other_at - at <= _CLOSE:
                    found.add(f"{role} {other}")
    return found


@lru_cache(maxsize=1 << 12)  # the tools of a server repeat their schemas' texts
def roles_of(words: tuple[str, ...]) -> tuple[tuple[int, str, bool], ...]:
    """Return the roles in a sentence: each with its position, and whether it is a verb that is negated."""
    found: list[tuple[int, str, bool]] = []
    negation = -REACH
    for at in range(len(words)):
        roles = roles_at(words, at)
        if "not" in roles:
            negation = at
        found += [(at, role, role in ACTS and 0 < at - negation <= _NEGATION_REACH) for role in roles]
    return tuple(found)


def _marked(role: str, is_negated: bool, purpose: frozenset[str]) -> str:
    own = f"{role}*" if role in purpose else role
    return f"!{own}" if is_negated else own
