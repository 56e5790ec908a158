"""A small linear model of sentences that steer the model, fitted by `training/inspection.py`."""

import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from remit.inspection.sentence_features import features, roles_of
from remit.inspection.sentence_words import ToolHome
from remit.inspection.word_roles import is_plain

_SCALE = 100
_FEWEST_WORDS = 3
_NOTHING = -10.0
_SHOWN = 4
_MOST_SCORES = 1 << 12  # kept: the tools of a server repeat their schemas' texts

_Key = tuple[tuple[str, ...], frozenset[str]]  # the words of a sentence, and the purpose among its roles


@dataclass(frozen=True, slots=True)
class SentenceModel:
    """The weight of each feature."""

    bias: float
    weights: dict[str, int]
    _scores: dict[_Key, float] = field(default_factory=dict[_Key, float], repr=False)

    def score(self, words: Sequence[str], home: ToolHome) -> float:
        """Return how much a sentence reads like an order to the model: above 0, more like one than not."""
        if len(words) < _FEWEST_WORDS or is_plain(words):
            return _NOTHING
        said = tuple(words)
        purpose = home.purpose.intersection(role for _, role, _ in roles_of(said))
        if (known := self._scores.get((said, purpose))) is not None:
            return known
        if len(self._scores) >= _MOST_SCORES:
            self._scores.clear()
        weight = self.weights.get
        score = self.bias + sum([weight(each, 0) for each in features(said, purpose)]) / _SCALE
        self._scores[said, purpose] = score
        return score

    def strongest(self, words: Sequence[str], home: ToolHome) -> list[str]:
        """Return the features that weigh most in a sentence."""
        found = features(words, home.purpose)
        ranked = sorted(found, key=lambda each: (-self.weights.get(each, 0), each))
        return [each.removeprefix("w:") for each in ranked[:_SHOWN] if self.weights.get(each, 0) > 0]


@lru_cache(maxsize=1)
def sentence_model() -> SentenceModel:
    """Load the bundled model."""
    content = pkgutil.get_data("remit.inspection", "data/sentence_weights.txt") or b""
    return parse_weights(content.decode())


def parse_weights(text: str) -> SentenceModel:
    """Read weights: a line for each feature, tab, and weight; the first one is the bias."""
    pairs = (line.rpartition("\t")[::2] for line in text.splitlines())
    weights = {feature: int(weight) for feature, weight in pairs}
    return SentenceModel(bias=weights.pop("", 0) / _SCALE, weights=weights)
