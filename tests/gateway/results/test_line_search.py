"""Searching by regular expression takes a bounded time."""

import pytest

from remit.gateway.results import line_search
from remit.gateway.results.line_search import regex_matches
from remit.presentation.results.excerpts import BadReadError, Match


def test_lines_are_found_with_the_place_of_the_match() -> None:
    assert regex_matches("first\nerror 42\nno\nERROR 7", r"(?i)error \d+") == [Match(1, 0), Match(3, 0)]
    assert regex_matches("ä \ud800 x1", r"x\d") == [Match(0, 4)]
    assert regex_matches("a", "b") == []


def test_an_invalid_pattern_is_explained() -> None:
    with pytest.raises(BadReadError, match="not a regular expression: unterminated character set"):
        regex_matches("text", "[a-")
    with pytest.raises(BadReadError, match="not a regular expression"):
        regex_matches("text", "a{99999999999}")


def test_a_pattern_that_takes_forever_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_search, "SECONDS", 0.5)
    with pytest.raises(BadReadError, match=r"takes longer than 0\.5 s"):
        regex_matches("a" * 60 + "!", r"^(a+)+$")
