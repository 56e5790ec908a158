"""A small linear model of sentences that steer the model, fitted by `training/inspection.py`."""

import pkgutil
from functools import lru_cache
from typing import NamedTuple

from remit.inspection.sentence_features import features
from remit.inspection.sentence_words import ToolHome
from remit.inspection.word_roles import is_plain

_SCALE = 100
_FEWEST_WORDS = 3
_NOTHING = -10.0
_SHOWN = 4


class SentenceModel(NamedTuple):
    """The weight of each feature."""

    bias: float
    weights: dict[str, int]

    def score(self, words: list[str], home: ToolHome) -> float:
        """Return how much a sentence reads like an order to the model: above 0, more like one than not."""
        if len(words) < _FEWEST_WORDS or is_plain(words):
            return _NOTHING
        weight = self.weights.get
        return self.bias + sum(weight(each, 0) for each in features(words, home.purpose)) / _SCALE

    def strongest(self, words: list[str], home: ToolHome) -> list[str]:
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
