"""A small linear model of sentences that steer the model, fitted by `training/inspection_model.py`."""

import pkgutil
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import NamedTuple
from zlib import decompress

from remit.inspection.sentence_models.hashed_features import (
    SIZE,
    PairEnds,
    pair_ends,
    pair_slot,
    pair_slots,
    pairs_of,
    piece_slots,
)
from remit.inspection.sentence_models.sentence_features import features, grammar, roles_of
from remit.inspection.sentence_models.sentence_words import ToolHome
from remit.inspection.sentence_models.word_roles import is_plain

PAIRS, PIECES = "#pairs", "#pieces"  # the hashed tables: signed bytes, compressed, in base64
FINE = 1 / 128  # unit of the weights in a hashed table
_SCALE = 100
_FEWEST_WORDS = 3
_NOTHING = -10.0
_MOST_SIGNS = 24  # of a sentence; few of them are words
_MOST_SHOWN = 4
_SHORTEST_SIGN = 3  # letters of a word that says something by itself
_FILLERS = frozenset(["and", "are", "but", "for", "has", "its", "the", "was", "with"])
_KINDS = {
    "<self>": "this tool",
    "<own>": "a tool of the same server",
    "<tool>": "another tool",
    "<home>": "its own server",
    "<private>": "a private file",
    "<variable>": "a variable",
    "<url>": "a web address",
    "<domain>": "a domain",
    "<email>": "an e-mail address",
    "<path>": "a path",
    "<number>": "a number",
    "<digits>": "a long number",
    "<name>": "a name",
    "<parameter>": "a parameter",
    "<quoted>": "a quoted name",
}
_MOST_SCORES = 1 << 12  # kept: the tools of a server repeat their schemas' texts
_MOST_WORDS = 1 << 14  # whose weights are kept

_Key = tuple[tuple[str, ...], frozenset[str]]  # the words of a sentence, and the purpose among its roles


class WeighedWord(NamedTuple):
    """What a word adds to a score."""

    ends: PairEnds  # to the checksums of its pairs
    of_word: int
    of_pieces: int


@dataclass(frozen=True, slots=True)
class SentenceModel:
    """The weight of each feature, and of the hashed ones: pairs of words, and the pieces of a word."""

    bias: float
    weights: dict[str, int]
    pairs: memoryview
    word: Callable[[str], WeighedWord]
    role: Callable[[str, str], int]  # by mood and role
    near: Callable[[tuple[str, str]], int]
    close: Callable[[tuple[str, str]], int]
    _scores: dict[_Key, float] = field(default_factory=dict[_Key, float], repr=False)

    def score(self, words: Sequence[str], home: ToolHome) -> float:
        """Return how much a sentence reads like an order to the model: above 0, more like one than not."""
        if len(words) < _FEWEST_WORDS or is_plain(words):
            return _NOTHING
        said = tuple(words)
        purpose = home.purpose & roles_of(said).names
        if (known := self._scores.get((said, purpose))) is not None:
            return known
        if len(self._scores) >= _MOST_SCORES:
            self._scores.clear()
        score = self._scores[said, purpose] = self._weigh(said, purpose)
        return score

    def _weigh(self, said: tuple[str, ...], purpose: frozenset[str]) -> float:
        mood, roles, near, close = grammar(said, purpose)
        listed = self.weights.get(f"^{mood}", 0) + sum([self.role(mood, role) for role in roles])
        listed += sum(map(self.near, near)) + sum(map(self.close, close))
        words = {word: self.word(word) for word in said}
        hashed = sum(map(self.pairs.__getitem__, pair_slots([words[word].ends for word in said])))
        for _, of_word, of_pieces in words.values():
            listed += of_word
            hashed += of_pieces
        return self.bias + listed / _SCALE + hashed * FINE

    def strongest(self, words: Sequence[str], home: ToolHome) -> list[str]:
        """Return the roles, words and pairs of words that weigh most in a sentence."""
        found = {word: self.word(word).of_pieces * FINE for word in words}
        for pair in pairs_of(words):
            found.setdefault(" ".join(pair).strip("^_$ "), self.pairs[pair_slot(pair)] * FINE)
        for each in features(words, home.purpose):
            name = each.removeprefix("w:")
            found[name] = found.get(name, 0.0) + self.weights.get(each, 0) / _SCALE
        ranked = sorted(found, key=lambda each: (-found[each], each))
        return [each for each in ranked[:_MOST_SIGNS] if found[each] > 0]


@lru_cache(maxsize=1)
def sentence_model() -> SentenceModel:
    """Load the bundled model."""
    content = pkgutil.get_data("remit.inspection", "data/sentence_weights.txt") or b""
    return parse_weights(content.decode())


def parse_weights(text: str) -> SentenceModel:
    """Read weights: a line for each feature, tab, and weight; the one without a name is the bias."""
    found = {feature: weight for feature, _, weight in (line.rpartition("\t") for line in text.splitlines())}
    pairs, pieces = _table(found.pop(PAIRS, "")), _table(found.pop(PIECES, ""))
    weights = {feature: int(weight) for feature, weight in found.items()}

    @lru_cache(_MOST_WORDS)
    def word(word: str) -> WeighedWord:
        of_pieces = sum([pieces[at] for at in piece_slots(word)])
        return WeighedWord(pair_ends(word), weights.get(f"w:{word}", 0), of_pieces)

    @cache
    def role(mood: str, role: str) -> int:
        return weights.get(role, 0) + weights.get(f"{mood}: {role}", 0)

    @cache
    def near(pair: tuple[str, str]) -> int:
        return weights.get(" .. ".join(pair), 0)

    @cache
    def close(pair: tuple[str, str]) -> int:
        return weights.get(" ".join(pair), 0)

    bias = weights.pop("", 0) / _SCALE
    return SentenceModel(
        bias=bias, weights=weights, pairs=pairs, word=word, role=role, near=near, close=close
    )


def _table(packed: str) -> memoryview:
    """Unpack a table; without one, no pair or piece weighs anything."""
    return memoryview(decompress(b64decode(packed)) if packed else bytes(SIZE)).cast("b")


def readable_signs(signs: Iterable[str], words: Sequence[str]) -> list[str]:
    """Return the first signs that a person can read: words of the sentence, and what stands for a name.

    Roles, moods and pairs with a gap are the model's own; a word that a shown pair contains is not repeated.
    """
    shown: list[str] = []
    for told in (told for sign in signs for told in _readable(sign.split(), words)):
        if not any(told.strip("“”") in each for each in shown):
            shown.append(told)
        if len(shown) == _MOST_SHOWN:
            break
    return shown


def _readable(sign: Sequence[str], words: Sequence[str]) -> Iterator[str]:
    if len(sign) == 1 and sign[0] in _KINDS:
        yield _KINDS[sign[0]]
    elif all(each.isalpha() for each in sign) and _is_said(sign, words) and not _is_filler(sign):
        yield f"“{' '.join(sign)}”"


def _is_said(sign: Sequence[str], words: Sequence[str]) -> bool:
    return any(list(words[at : at + len(sign)]) == list(sign) for at in range(len(words)))


def _is_filler(sign: Sequence[str]) -> bool:
    return all(len(each) < _SHORTEST_SIGN or each in _FILLERS for each in sign)
