"""Suggests known names for an unknown one."""

from collections.abc import Iterable, Sequence

MOST_SUGGESTIONS = 3
_SHORT = 4  # letters; one of fewer makes another word
_MAX_LENGTH = 60  # longest name that is compared


def nearest(wanted: str, known: Iterable[str]) -> list[str]:
    """List names that are spelled similarly, nearest first, ignoring case."""
    found = ((spelling_distance(wanted, each), each) for each in set(known))
    near = sorted((distance, each) for distance, each in found if distance is not None)
    return [each for _, each in near[:MOST_SUGGESTIONS]]


def did_you_mean(wanted: str, known: Iterable[str]) -> str | None:
    """Return a did-you-mean question if a known name is spelled similarly."""
    return as_question(nearest(wanted, known))


def as_question(names: Sequence[str]) -> str | None:
    """Return a did-you-mean question about names; None without any."""
    return f"did you mean {' or '.join(f'`{each}`' for each in names)}?" if names else None


def spelling_distance(wanted: str, known: str) -> int | None:
    """Return the edit distance between two words, ignoring case; None if they are not similar.

    Two neighboring letters in the wrong order count as one edit. Of a short word, the first must be right.
    """
    one, other = wanted.lower()[:_MAX_LENGTH], known.lower()[:_MAX_LENGTH]
    limit = max(1, len(one) // 4)
    if abs(len(other) - len(one)) > limit or (len(one) < _SHORT and one[:1] != other[:1]):
        return None
    older: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one):
        newer = [at + 1]
        for to, its in enumerate(other):
            edits = min(row[to + 1] + 1, newer[to] + 1, row[to] + (letter != its))
            if at and to and (letter, its) == (other[to - 1], one[at - 1]):
                edits = min(edits, older[to - 1] + 1)
            newer.append(edits)
        older, row = row, newer
        if min(*older, *row) > limit:  # it never falls again
            return None
    return row[-1] if row[-1] <= limit else None
