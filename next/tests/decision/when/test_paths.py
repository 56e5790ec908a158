import time

import pytest

from remit.decision.when.paths import PathError, matches, matches_name, name_pattern, path_pattern
from remit.errors import ConditionError


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("/", "/"),
        ("/blog", "/blog"),
        ("/blog", "/blog/"),
        ("/blog/", "/blog"),
        ("/blog", "/blog?page=2#top"),
        ("/blog", "/%62log"),
        ("/a b", "/a%20b"),
        ("/posts/*", "/posts/7"),
        ("/posts/:id", "/posts/7"),
        ("/posts/[id]", "/posts/7"),
        ("/posts/:id/edit", "/posts/:id/edit"),
        ("/posts/draft-*", "/posts/draft-7"),
        ("/posts/*-*.md", "/posts/a-b-c.md"),
        ("/*a*a*", "/xaya"),
        ("/blog/**", "/blog"),
        ("/blog/**", "/blog/2026/11/x"),
        ("/**/edit", "/edit"),
        ("/**/edit", "/posts/7/edit"),
        ("/a/**/b/**/c", "/a/x/b/y/b/c"),
        ("/a/**/b/*/**/c", "/a/b/b/x/c"),
        ("**", "/"),
        ("**", "settings"),
        ("settings", "settings"),
    ],
)
def test_a_path_matches(pattern: str, path: str) -> None:
    assert matches(path_pattern(pattern), path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("/blog", "/blog/7"),
        ("/blog", "/Blog"),
        ("/blog", "blog"),
        ("/blog", "/"),
        ("/*", "/"),
        ("*", "/"),
        ("/posts/*", "/posts"),
        ("/posts/*", "/posts/7/edit"),
        ("/posts/*", "/posts/a/b"),
        ("/posts/draft-*", "/posts/7"),
        ("/x*y", "/xyz"),
        ("/ab*ba", "/aba"),  # the two ends may not overlap
        ("/*a*b*", "/xbya"),
        ("/blog/**", "/blogs"),
        ("/**/edit", "/edit/7"),
        ("/a/**/b", "/a"),
        ("/a/**/a", "/a"),
        ("/a/**/b/**/c", "/a/c/b"),
        ("/a/**/x/**/c", "/a/b/c"),
        ("/*", "/a%2Fb/c"),
    ],
)
def test_a_path_does_not_match(pattern: str, path: str) -> None:
    assert not matches(path_pattern(pattern), path)


def test_a_slash_that_is_escaped_separates_nothing() -> None:
    assert matches(path_pattern("/*"), "/a%2Fb")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/a/../admin", "is not a plain path"),
        ("/a/%2e%2e/admin", "is not a plain path"),
        ("/./a", "is not a plain path"),
        ("//admin", "is not a plain path"),
        ("https://host/a", "is not a plain path"),
        ("", "is not a plain path"),
        ("?page=2", "is not a plain path"),
        ("/a%", "has a `%` that is not part of an escape"),
        ("/a%zz", "has a `%` that is not part of an escape"),
        ("/a%ff", "has escapes that are not text"),
        ("/" + "a" * 2048, "is longer than 2048 characters"),
    ],
)
def test_what_is_not_a_plain_path_neither_matches_nor_does_not(path: str, reason: str) -> None:
    with pytest.raises(PathError, match=reason):
        matches(path_pattern("**"), path)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("", "the pattern is empty"),
        ("/" + "a" * 512, "the pattern is longer than 512 characters"),
        ("/a//b", "has an empty segment"),
        ("/a/../b", "has the segment `..`"),
        ("/a/./b", "has the segment `.`"),
        ("/a**", "has `**` inside a segment"),
        ("/a?b=1", "has `?`, `#` or `%`"),
        ("/a%20b", "has `?`, `#` or `%`"),
        ("/:", "has a parameter that is not a whole segment"),
        ("/:id.json", "has a parameter that is not a whole segment"),
        ("/[...all]", "has a parameter that is not a whole segment"),
    ],
)
def test_a_pattern_that_nothing_could_match_is_an_error(pattern: str, message: str) -> None:
    with pytest.raises(ConditionError) as caught:
        path_pattern(pattern)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("BlogEditor", "BlogEditor"),
        ("Blog*", "BlogEditor"),
        ("#save-*", "#save-button"),
        ("sidebar/**", "sidebar/tools/save"),
        ("form/:field", "form/[name=x]"),
        ("50%", "50%"),
    ],
)
def test_a_name_matches_with_any_sign_in_it(pattern: str, name: str) -> None:
    assert matches_name(name_pattern(pattern), name)


def test_a_name_that_does_not_match_or_is_too_long_does_not() -> None:
    assert not matches_name(name_pattern("Blog*"), "Editor")
    assert not matches_name(name_pattern("**"), "a" * 2049)
    assert not matches_name(name_pattern("*"), "a/b")


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 250 + "b", "a" * 2040),
        ("**/a/" * 100 + "b", "a/" * 1000 + "c"),
        ("**/*a*/" * 70 + "b", "aa/" * 600 + "c"),
        ("/**" * 170, "/a" * 1000),
    ],
)
def test_hostile_patterns_take_no_time(pattern: str, path: str) -> None:
    pattern_ = path_pattern(pattern)
    start = time.process_time()
    for _ in range(10):
        matches(pattern_, path)
    assert time.process_time() - start < 0.5
