"""Comparisons of a count with a number, such as `>= 3`."""

import operator
import re
from collections.abc import Callable
from typing import NamedTuple

_OPERATORS: dict[str, Callable[[int, int], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
_LARGEST = 1_000_000_000


class Comparison(NamedTuple):
    """A comparison of a count with a number."""

    sign: str
    number: int

    def holds(self, count: int) -> bool:
        """Return whether a count satisfies the comparison."""
        return _OPERATORS[self.sign](count, self.number)


SOME = Comparison(">=", 1)


def comparison(text: str | int) -> Comparison | None:
    """Parse a comparison; a number alone means equality. Returns None if it is invalid."""
    found = re.fullmatch(r"\s*(>=|<=|==|!=|>|<)?\s*([0-9]{1,10})\s*", str(text))
    if found is None or int(found[2]) > _LARGEST:
        return None
    return Comparison(found[1] or "==", int(found[2]))
