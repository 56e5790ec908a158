import pytest

from remit.text.spelling import did_you_mean, nearest

KNOWN = ("git-initialized", "project-loaded", "docker", "has-tests")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("git-initialised", ["git-initialized"]),
        ("GIT-INITIALIZED", ["git-initialized"]),
        ("dokcer", ["docker"]),  # two letters in the wrong order
        ("dakcor", []),
        ("docke", ["docker"]),
        ("kubernetes", []),
        ("", []),
    ],
)
def test_names_that_are_nearly_written_alike_are_found(written: str, meant: list[str]) -> None:
    assert nearest(written, KNOWN) == meant


def test_the_nearest_comes_first_and_no_more_than_three_are_told() -> None:
    assert nearest("abcdefgh", ["abcdefxx", "abcdefgx", "abcdexgh", "xbcdefgx"]) == [
        "abcdefgx",
        "abcdexgh",
        "abcdefxx",
    ]


def test_a_suggestion_is_a_question() -> None:
    assert did_you_mean("dockr", KNOWN) == "did you mean `docker`?"
    assert did_you_mean("ab", ["aa", "ac"]) == "did you mean `aa` or `ac`?"
    assert did_you_mean("kubernetes", KNOWN) is None


def test_a_short_word_with_another_first_letter_is_another_word() -> None:
    assert nearest("foo", ["roo"]) == []
    assert nearest("gti", ["git"]) == ["git"]
