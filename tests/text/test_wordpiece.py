"""How texts become pieces; the ids are lines of the vocabulary, counted from 0."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.search.embeddings.token_sequences import vocabulary
from remit.text.wordpiece import PIECES, WordPiece, words

ENTRIES = vocabulary()
PIECES_OF = WordPiece(ENTRIES[:PIECES])


def pieces(text: str) -> list[str]:
    return [ENTRIES[i] for i in PIECES_OF(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("read the file", ["read", "the", "file"]),
        ("Screenshot", ["screens", "##hot"]),
        ("unaffable", ["una", "##ffa", "##ble"]),
        ("list_tables(db)", ["list", "_", "tables", "(", "db", ")"]),
        ("Don't stop!", ["don", "'", "t", "stop", "!"]),
        ("naïve café", ["naive", "cafe"]),
        ("ÅNGSTRÖM", ["ang", "##strom"]),
        ("日本", ["日", "本"]),
        ("дым", ["д", "##ы", "##м"]),
        ("a\u200bb", ["ab"]),
        ("tab\there\nand\u00a0there", ["tab", "here", "and", "there"]),
        ("“quoted”", ["“", "quoted", "”"]),
        ("🙂", ["[UNK]"]),
        ("x" * 101, ["[UNK]"]),
        ("[CLS]", ["[", "cl", "##s", "]"]),
        ("", []),
        ("\ud800", []),
        ("\ufffd \x00", []),
    ],
)
def test_a_text_is_cut_into_the_longest_pieces_that_are_known(text: str, expected: list[str]) -> None:
    assert pieces(text) == expected


def test_a_word_of_our_own_is_whole_and_not_the_beginning_of_another() -> None:
    plain = WordPiece([*ENTRIES[:PIECES], "postgres"])
    assert plain("postgres") == [PIECES]
    assert PIECES not in plain("postgresql")
    assert plain("postgresql") == PIECES_OF("postgresql")


def test_two_words_side_by_side_can_be_an_entry_of_their_own() -> None:
    paired = WordPiece([*ENTRIES[:PIECES], "pull request"])
    assert paired.pairs(paired("open a pull request")) == [(3, PIECES)]
    assert paired.pairs(paired("request a pull")) == []
    assert paired.pairs([]) == PIECES_OF.pairs(PIECES_OF("pull request")) == []


@pytest.mark.long
def test_words_that_were_cut_are_forgotten_before_they_fill_the_memory() -> None:
    remembering = WordPiece(ENTRIES[:PIECES])
    for number in range(50_100):
        remembering(f"zq{number}")
    assert len(remembering._cut) < 50_000  # pyright: ignore[reportPrivateUsage]
    assert remembering("zq7") == PIECES_OF("zq7")


def test_ten_thousand_characters_are_read_like_ten() -> None:
    assert PIECES_OF("ask " * 2500) == PIECES_OF("ask") * 2500


@given(st.text())
def test_any_text_is_cut_and_leaves_no_capital_and_no_space(text: str) -> None:
    assert all(0 <= i < PIECES for i in PIECES_OF(text))
    assert all(word and not any(c.isspace() for c in word) for word in words(text))
