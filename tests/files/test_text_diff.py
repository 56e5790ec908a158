from hypothesis import given
from hypothesis import strategies as st

from remit.files.text_diff import TextDifference, differences

texts = st.lists(st.sampled_from(['"a b"', "{", "}", ",", "\n", "  ", "x", '"']), max_size=12).map("".join)


def test_only_what_goes_and_comes_is_shown() -> None:
    before = '{\n  "token": "t0p",\n  "a": ["x"]\n}\n'
    after = '{\n  "token": "t0p",\n  "a": ["x", "y"],\n  "b": 1\n}\n'
    assert list(differences(before, after)) == [
        TextDifference(3, 12, "", ', "y"'),
        TextDifference(3, 13, "", ',\n  "b": 1'),
    ]


def test_nothing_differs_in_equal_texts() -> None:
    assert list(differences("a\nb", "a\nb")) == list(differences("", "")) == []


@given(texts, texts)
def test_what_is_shown_makes_one_text_of_the_other(before: str, after: str) -> None:
    made, done = "", 0
    lines = before.split("\n")
    for line, column, removed, inserted in differences(before, after):
        at = sum(len(each) + 1 for each in lines[: line - 1]) + column - 1
        assert before.startswith(removed, at)
        made += before[done:at] + inserted
        done = at + len(removed)
    assert made + before[done:] == after
