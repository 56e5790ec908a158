"""The inspector that ships with Remit."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from remit.decision import Definition
from remit.text import one_line
from remit.trust.inspection import HIGH, MEDIUM, Finding, OtherTools
from remit.trust.inspection.hidden import decodings, hidden_text
from remit.trust.inspection.model import bundled, checksum, features, sentence_scores, whole_score
from remit.trust.inspection.names import Shapes, imitations, shapes_of
from remit.trust.inspection.passages import Passage, Sentence, passages, sentences
from remit.trust.inspection.signs import Names, Read, plain, reader

_QUOTE = 300  # characters
_FEWEST_SPACES = 2
_COMMAND = re.compile(
    r"\b(?:curl|wget)\s+\S*(?:https?:|\d+\.\d+)|\|\s*(?:ba|z)?sh\b|\brm\s+-rf|\bchmod\s+\+x|/bin/(?:ba)?sh\b|/dev/tcp/"
)
_ASKS = (  # what a sentence with these signs asks of a model
    ({"zsecret"}, "it sends the model to a file with secrets"),
    ({"ignore", "rules"}, "it tells the model to set its instructions aside"),
    ({"ignore", "previous"}, "it tells the model to set its instructions aside"),
    ({"never", "tell", "user"}, "it tells the model to hide something from its user"),
    ({"silent"}, "it tells the model to do something unseen"),
    ({"zurl"}, "it names an address that the model should use"),
    ({"zmail"}, "it names an address that the model should use"),
    ({"secret"}, "it asks the model for secrets"),
    ({"talk"}, "it asks the model for the conversation"),
    ({"private"}, "it asks the model for private data"),
    ({"never", "rules"}, "it tells the model to leave out checks"),
    ({"before", "call"}, "it tells the model what to call first"),
    ({"zname"}, "it tells the model what to do with other tools"),
    ({"other", "tools"}, "it tells the model what to do with other tools"),
    ({"instead"}, "it tells the model to prefer it"),
    ({"best"}, "it praises itself to the model"),
    ({"destroy"}, "it tells the model to delete or stop something"),
    ({"run"}, "it tells the model to run something"),
    ({"must"}, "it gives the model an order"),
)
_ENGLISH = re.compile(r"\b(?:the|and|of|to|an?|is|are|for|with|this|that|from|in|on|or|it|use)\b", re.I)
_WORDS_PER_ENGLISH = 12
_DOUBTFUL = 2.0  # below the score of an order, a sentence about a file with secrets still counts


class Judgment(NamedTuple):
    """How much a definition reads like an attack."""

    score: float
    scores: Sequence[float]  # of its sentences
    parts: Sequence[Sentence]
    reads: Sequence[Read]


class ModelInspector:
    """Inspects definitions with checks for hidden text and names, and with the bundled model."""

    def __init__(self) -> None:
        self.version = f"1-{checksum()}"  # new weights inspect everything again

    def inspect(self, tools: Sequence[Definition], others: OtherTools) -> list[Sequence[Finding]]:
        """Return the findings about each of these definitions, worst first, from any thread."""
        siblings: dict[str | None, set[str]] = {}
        for tool in tools:
            siblings.setdefault(tool.server, set()).add(plain(tool.tool or tool.name))
        listed = {server: frozenset(names) for server, names in siblings.items()}
        shapes = shapes_of(others)
        return [self._findings(tool, listed[tool.server], others, shapes) for tool in tools]

    def _findings(
        self, tool: Definition, siblings: frozenset[str], others: OtherTools, shapes: Shapes
    ) -> Sequence[Finding]:
        texts = passages(tool)
        names = Names.of(texts, siblings)
        found = [finding for text in texts for finding in hidden_text(*text)]
        found += _encoded(texts, names)
        found += imitations(tool, others, shapes)
        if (judgment := judge(texts, names)) is not None:
            found += _said(judgment)
        return sorted(found, key=lambda finding: finding.severity != HIGH)


def judge(texts: Sequence[Passage], names: Names) -> Judgment | None:
    """Score texts with the bundled model; None if they hold no sentence."""
    parts = [part for text in texts for part in sentences(text)]
    if not parts:
        return None
    reads = reader(names)(parts)
    model, found = bundled(), features(reads)
    scores = sentence_scores(model, found)
    return Judgment(float(scores.max()) + whole_score(model, found), scores.tolist(), parts, reads)


def _said(judgment: Judgment) -> Iterator[Finding]:
    """Report the most suspicious sentence, and files with secrets that the models may not judge."""
    model, scores = bundled(), judgment.scores
    is_suspicious = judgment.score >= model.medium
    if is_suspicious:
        worst = max(range(len(scores)), key=scores.__getitem__)
        is_order = scores[worst] >= model.order  # one odd sentence is not enough
        severity = HIGH if is_order and judgment.score >= model.high else MEDIUM
        signs = set(judgment.reads[worst].signs)
        says = next(
            (says for wanted, says in _ASKS if wanted <= signs), "it reads like an order to the model"
        )
        yield _finding(severity, says, judgment.parts[worst])
    for part, read, score in zip(judgment.parts, judgment.reads, scores, strict=True):
        if " zsecret " in read.text and not _is_english(part.text):
            yield _finding(HIGH, "it names a file with secrets, in another language", part)
        elif " zsecret " in read.text and not is_suspicious and score >= model.order - _DOUBTFUL:
            yield _finding(MEDIUM, "it names a file with secrets", part)


def _finding(severity: str, says: str, part: Sentence) -> Finding:
    return Finding(severity, says, one_line(part.text, _QUOTE), part.place)


def _is_english(text: str) -> bool:
    return text.isascii() and len(_ENGLISH.findall(text)) * _WORDS_PER_ENGLISH >= text.count(" ")


def _encoded(texts: Sequence[Passage], names: Names) -> Iterator[Finding]:
    """Report commands and orders that are readable only once they are decoded."""
    for place, text in texts:
        for decoded in decodings(text):
            judgment = (
                None if decoded.count(" ") < _FEWEST_SPACES else judge([Passage(place, decoded)], names)
            )
            if _COMMAND.search(decoded):
                yield Finding(HIGH, "an encoding hides a command", one_line(decoded, _QUOTE), place)
            elif judgment is not None and max(judgment.scores) >= bundled().order:
                yield Finding(
                    HIGH, "an encoding hides an order to the model", one_line(decoded, _QUOTE), place
                )
