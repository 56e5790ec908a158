"""The limit of one result, in estimated tokens or in characters, and the longest beginning that fits it."""

from typing import NamedTuple

from remit.text.token_estimate import PER_BYTE, PER_EXTRA_BYTE, PER_RUN, estimate

RESULT_BUDGET = 10_000  # tokens; clients cut or warn from here on
LEAST_BUDGET = 500  # tokens; a smaller budget has no room for the shape of a result
MOST_CHARACTERS = 500_000  # that a tool may declare for itself, as in Claude Code
_LEAST_CHARACTERS = 2_000
_PER_CHARACTER = PER_RUN + 4 * PER_BYTE + 3 * PER_EXTRA_BYTE  # the most that one character can cost
ALWAYS_FITS = int(LEAST_BUDGET / _PER_CHARACTER)  # characters within every limit


class ResultLimit(NamedTuple):
    """How large a result may be for a model; nothing set means no limit."""

    tokens: int | None = None
    characters: int | None = None

    def __str__(self) -> str:
        if self.characters is not None:
            return f"{self.characters:,} characters"
        return "no limit" if self.tokens is None else f"{self.tokens:,} tokens"

    @property
    def is_off(self) -> bool:
        """Whether results of any size are passed on."""
        return self.tokens is None and self.characters is None

    def fits(self, text: str) -> bool:
        """Check whether a text is within the limit."""
        if self.characters is not None:
            return len(text) <= self.characters
        if self.tokens is None or len(text) * _PER_CHARACTER <= self.tokens:
            return True
        return len(text) * PER_BYTE <= self.tokens and estimate(text) <= self.tokens

    def surely_fits(self, characters: int) -> bool:
        """Check whether every text of this length is within the limit."""
        if self.characters is not None:
            return characters <= self.characters
        return self.tokens is None or characters * _PER_CHARACTER <= self.tokens

    def share(self, part: float) -> "ResultLimit":
        """Return a part of the limit."""
        if self.characters is not None:
            return ResultLimit(characters=int(self.characters * part))
        return self if self.tokens is None else ResultLimit(tokens=int(self.tokens * part))

    def without(self, text: str) -> "ResultLimit":
        """Return what is left of the limit after a text."""
        if self.characters is not None:
            return ResultLimit(characters=max(0, self.characters - len(text)))
        return self if self.tokens is None else ResultLimit(tokens=max(0, self.tokens - estimate(text)))

    def longest(self, text: str) -> int:
        """Return how many characters of a text fit, from its beginning."""
        if self.fits(text):
            return len(text)
        if self.characters is not None:
            return self.characters
        assert self.tokens is not None  # noqa: S101 - without a limit, every text fits
        low, high = 0, min(len(text), int(self.tokens / PER_BYTE) + 1)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.fits(text[:middle]) else (low, middle)
        return low


NO_LIMIT = ResultLimit()


def declared_limit(characters: object) -> ResultLimit | None:
    """Return the limit that a tool declares for itself, in characters."""
    if type(characters) is not int or characters <= 0:
        return None
    return ResultLimit(characters=min(max(characters, _LEAST_CHARACTERS), MOST_CHARACTERS))


def budget_limit(tokens: int) -> ResultLimit:
    """Return the limit of a configured budget; 0 means none."""
    return ResultLimit(tokens=tokens) if tokens else NO_LIMIT
