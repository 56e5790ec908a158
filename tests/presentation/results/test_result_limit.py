"""How large a result may be."""

import pytest

from remit.presentation.results.result_limit import NO_LIMIT, ResultLimit, budget_limit, declared_limit
from remit.text.token_estimate import estimate

TEXTS = ["plain words and more " * 500, "a.b,c;" * 900, "日本語のテキスト" * 700, "🙂" * 900, "x" * 9_000]


@pytest.mark.parametrize("text", TEXTS)
def test_the_longest_beginning_fits_and_one_more_character_does_not(text: str) -> None:
    limit = ResultLimit(tokens=300)
    length = limit.longest(text)
    assert estimate(text[:length]) <= 300
    assert not limit.fits(text[: length + 1])
    assert not limit.surely_fits(len(text))
    assert limit.surely_fits(100)
    assert limit.fits(text[:100])


def test_no_limit_takes_everything() -> None:
    assert NO_LIMIT.is_off
    assert NO_LIMIT.fits("x" * 10**6)
    assert NO_LIMIT.surely_fits(10**9)
    assert NO_LIMIT.longest("abc") == 3
    assert NO_LIMIT.share(0.5) == NO_LIMIT.without("abc") == NO_LIMIT
    assert budget_limit(0) is NO_LIMIT


def test_characters_and_tokens_are_shared_out_and_named() -> None:
    characters, tokens = ResultLimit(characters=100), ResultLimit(tokens=100)
    assert characters.share(0.2) == ResultLimit(characters=20)
    assert tokens.share(0.2) == ResultLimit(tokens=20)
    assert characters.without("x" * 30) == ResultLimit(characters=70)
    assert tokens.without("one two") == ResultLimit(tokens=97)
    assert characters.surely_fits(100)
    assert not characters.surely_fits(101)
    assert (str(characters), str(tokens), str(NO_LIMIT)) == ("100 characters", "100 tokens", "no limit")


def test_a_tool_may_declare_its_own_limit_within_bounds() -> None:
    assert declared_limit(50_000) == ResultLimit(characters=50_000)
    assert declared_limit(9_000_000) == ResultLimit(characters=500_000)
    assert declared_limit(5) == ResultLimit(characters=2_000)
    assert [declared_limit(each) for each in (None, 0, -5, "50000", True, 2.5)] == [None] * 6
