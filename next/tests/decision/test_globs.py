"""Patterns of names: what they match, however they are written, and how long that takes."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as some

from remit.decision import GlobIndex, glob, tool_globs


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("git", "git", True),
        ("git", "gitx", False),
        ("*", "", True),
        ("git*", "git", True),
        ("*git", "mygit", True),
        ("a*b*c", "a-b-c", True),
        ("a*b*c", "a-c-b", False),
        ("ab*ba", "aba", False),  # the ends may not overlap
        ("a*x*x*b", "a-x-b", False),
    ],
)
def test_a_star_stands_for_any_run_of_characters(pattern: str, name: str, expected: bool) -> None:
    assert glob(pattern).matches(name) is expected


@given(some.text("ab*", max_size=8), some.text("ab", max_size=12))
def test_a_pattern_matches_what_its_regular_expression_does(pattern: str, name: str) -> None:
    expected = re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name) is not None
    assert glob(pattern).matches(name) is expected


def test_a_hostile_pattern_takes_no_time() -> None:
    start = time.perf_counter()
    assert not glob("*a" * 2000 + "b").matches("a" * 20_000)
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("mcp__deploy__*", "mcp__deploy__*"),  # the server's own row
        ("mcp__deploy__*", "mcp__deploy__start"),
        ("mcp__deploy", "mcp__deploy__*"),
        ("deploy__start", "mcp__deploy__start"),  # as the gateway serves it
        ("mcp__remit__deploy__start", "mcp__deploy__start"),  # as a client calls that
        ("mcp__supernal__requirement.*", "mcp__supernal__requirement_list"),
        ("requirement.*", "requirement.list"),
        ("/commit", "/commit"),
        ("mcp__remit__*", "mcp__remit__x"),
    ],
)
def test_a_pattern_of_tools_may_be_written_as_any_program_writes_names(pattern: str, name: str) -> None:
    assert any(form.matches(name) for form in tool_globs(pattern))


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("mcp__deploy__create_*", "mcp__deploy__*"),  # some of its tools are not the server
        ("mcp__deploy__*", "mcp__deployer__start"),
        ("mcp__remit__*", "mcp__deploy__start"),  # Remit itself, and not all that it serves
        ("requirement.*", "mcp__x__requirement_list"),
    ],
)
def test_a_pattern_of_tools_covers_nothing_else(pattern: str, name: str) -> None:
    assert not any(form.matches(name) for form in tool_globs(pattern))


def test_an_index_finds_what_trying_each_pattern_finds() -> None:
    patterns = ["*", "a*", "*b", "*ab*", "abc", "a*b*c", "*a*b*", "**", "", "x*yz", "mcp__*__get_*"]
    names = ["", "a", "ab", "abc", "aXbXc", "xyz", "x-yz", "mcp__git__get_log", "b", "ba"]
    index = GlobIndex(((glob(text),), text) for text in patterns)
    for name in names:
        assert index.matching(name) == [text for text in patterns if glob(text).matches(name)]
