"""Inspects a definition: is this a description of a tool, or does it steer the model?

`inspect` is pure and deterministic. Each rule is one idea; each finding has a reason and an excerpt.
"""

import re
from collections.abc import Iterator

from remit.decision.tools import Definition
from remit.inspection.hidden_text import decodings, hidden_text, revealed
from remit.inspection.inspection_findings import InspectionFinding, Suspicion, finding
from remit.inspection.model_signals import MODEL_SIGNALS
from remit.inspection.name_rules import imitations
from remit.inspection.parameter_rules import out_of_scope_parameters
from remit.inspection.passages import Passage, passages
from remit.inspection.scorer import Reading, combined
from remit.inspection.sentences import Sentence, sentences
from remit.inspection.signal import Signal
from remit.inspection.surroundings import Surroundings
from remit.inspection.tool_mentions import InspectedDefinition, mentions
from remit.inspection.tool_signals import TOOL_SIGNALS

SIGNALS: tuple[Signal, ...] = (*MODEL_SIGNALS, *TOOL_SIGNALS)
OVERSIZED = 40_000  # characters
_FEWEST_SPACES = 2
_LONGEST_VALUE = 40  # characters of a name or value
_SIGNS = re.compile(r"[|>_/~]|\w-\w")  # of commands, and of names
_RANKS = {severity: rank for rank, severity in enumerate(Suspicion)}


def inspect(definition: Definition, others: Surroundings) -> list[InspectionFinding]:
    """Return what is suspicious about a definition, worst first; each rule reports once."""
    found: dict[str, InspectionFinding] = {}
    for each in sorted(_findings(definition, others), key=lambda each: _RANKS[each.severity]):
        found.setdefault(each.rule, each)
    return list(found.values())


def _findings(definition: Definition, others: Surroundings) -> Iterator[InspectionFinding]:
    texts = passages(definition)
    values = frozenset(passage.text for passage in texts if not is_prose(passage))
    subject = InspectedDefinition(definition=definition, others=others, values=values)
    for passage in texts:
        yield from hidden_text(passage.place, passage.text)
        if is_prose(passage):
            said = list(_said(read(passage, subject)))
            yield from said
            yield from _encoded(passage, subject, {each.rule for each in said})
    yield from out_of_scope_parameters(definition)
    yield from imitations(definition, others)
    if (size := sum(len(passage.text) for passage in texts)) > OVERSIZED:
        reason = f"its texts have {size:,} characters, enough to bury an instruction"
        yield finding("oversized", Suspicion.LOW, reason, definition.description or "")


def read(passage: Passage, subject: InspectedDefinition) -> list[Reading]:
    """Find the signals in each sentence of a passage."""
    said = sentences(
        revealed(passage.text), describes=passage.place == "description" or passage.place.startswith("title")
    )
    return [Reading(each.text, _signals(each, subject)) for each in said]


def is_prose(passage: Passage) -> bool:
    """Return whether a passage may hold a sentence; most names and values cannot."""
    text = passage.text
    return text.count(" ") >= _FEWEST_SPACES or len(text) > _LONGEST_VALUE or not text.isascii()


def _encoded(passage: Passage, subject: InspectedDefinition, known: set[str]) -> Iterator[InspectionFinding]:
    """Report what a passage says only once it is decoded."""
    for text in decodings(passage.text):
        decoded = Passage(place=passage.place, text=text)
        for each in _said(read(decoded, subject)):
            if each.severity is not Suspicion.LOW and each.rule not in known:
                reason = f"an encoding in the {passage.place} hides that it {each.reason}"
                yield finding("encoded-text", Suspicion.HIGH, reason, each.excerpt)


def _said(heard: list[Reading]) -> Iterator[InspectionFinding]:
    for reading in heard:
        for signal in reading.signals:
            if signal.severity is not None:
                yield finding(signal.name, signal.severity, signal.reason, reading.text)
    if (together := combined(heard)) is not None:
        yield together


def _may_signal(sentence: Sentence) -> bool:
    """Return whether a sentence needs a closer look; most only describe, and this is much faster."""
    return bool(sentence.found or sentence.places) or _SIGNS.search(sentence.text) is not None


def _signals(sentence: Sentence, subject: InspectedDefinition) -> tuple[Signal, ...]:
    if not _may_signal(sentence):
        return ()
    named = mentions(sentence.text, subject)
    return tuple(signal for signal in SIGNALS if signal.test(sentence, named))
