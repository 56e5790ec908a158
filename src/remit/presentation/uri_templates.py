"""Templates: which addresses a server would answer for, by the patterns that it gives for them.

What stands for a part is not looked at closely, so that no template can make matching slow: of several that
match, the one that says most of the address counts.
"""

import re
from functools import lru_cache

from remit.decision.globs import Glob

_EXPRESSION = re.compile(r"\{[^{}]*\}")


def fit(template: str, uri: str) -> int | None:
    """Tell how much of an address a template says by itself; None where the address is none of its."""
    pattern = _pattern(template)
    return sum(map(len, pattern.parts)) if pattern.matches(uri) else None


@lru_cache(maxsize=1_000)
def _pattern(template: str) -> Glob:
    return Glob(tuple(_EXPRESSION.split(template)))
