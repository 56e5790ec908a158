"""Suggests known names for an unknown one."""

from collections.abc import Callable, Iterable

MOST_SUGGESTIONS = 3
_MAX_LENGTH = 60  # longest name that is compared


def nearest(wanted: str, known: Iterable[str], form: Callable[[str], str] = str) -> list[str]:
    """List names that are spelled similarly, nearest first, ignoring case."""
    word = wanted.lower()[:_MAX_LENGTH]
    limit = max(1, len(word) // 4)
    forms = ((each, form(each).lower()[:_MAX_LENGTH]) for each in set(known))
    alike = ((each, its) for each, its in forms if abs(len(its) - len(word)) <= limit)
    near = sorted((distance, each) for each, its in alike if (distance := _distance(word, its)) <= limit)
    return [each for _, each in near[:MOST_SUGGESTIONS]]


def did_you_mean(wanted: str, known: Iterable[str]) -> str | None:
    """Return a did-you-mean question if a known name is spelled similarly."""
    near = nearest(wanted, known)
    return f"did you mean {' or '.join(f'`{each}`' for each in near)}?" if near else None


def _distance(one: str, other: str) -> int:
    """Return the edit distance between two words."""
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, start=1):
        before, row[0] = row[0], at
        for to, its in enumerate(other, start=1):
            before, row[to] = row[to], min(row[to] + 1, row[to - 1] + 1, before + (letter != its))
    return row[-1]
