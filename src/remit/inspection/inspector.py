"""Inspects a definition: is this a description of a tool, or does it steer the model?

`inspect` is pure and deterministic. Each rule is one idea; each finding has a reason and an excerpt.
"""

import math
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

from remit.decision.tools import Definition
from remit.inspection.inspection_findings import InspectionFinding, Suspicion, finding
from remit.inspection.passages import Passage, passages
from remit.inspection.rules.combined_signs import Reading, combined
from remit.inspection.rules.hidden_text import decodings, hidden_text, revealed
from remit.inspection.rules.model_rules import MODEL_RULES
from remit.inspection.rules.name_rules import imitations
from remit.inspection.rules.other_tool_rules import OTHER_TOOL_RULES
from remit.inspection.rules.parameter_rules import out_of_scope_parameters
from remit.inspection.rules.text_rule import TextRule
from remit.inspection.sentence_models.linear_model import SentenceModel, readable_signs, sentence_model
from remit.inspection.sentence_models.sentence_context import SentenceInContext, in_context
from remit.inspection.sentence_models.sentence_words import ToolHome, has_plain_words, home_of, words_of
from remit.inspection.surroundings import Surroundings
from remit.inspection.tool_mentions import InspectedDefinition, ToolMentions, mentions
from remit.inspection.vocabulary.sentences import Sentence, is_in_another_language, parts, sentence
from remit.text.words import split

TEXT_RULES: tuple[TextRule, ...] = (*MODEL_RULES, *OTHER_TOOL_RULES)
LEARNED = "learned-signs"  # the rule
OVERSIZED = 40_000  # characters
WORTH_READING = -1.5  # linear score of a sentence that the network reads, too
LINEAR_SHARE = 0.5  # of the linear score, added to the network's
LIKELY = -1.0  # both together: takes a sentence for an attack
CERTAIN = 1.0  # high, if a rule agrees
BEYOND_DOUBT = 2.5  # high, even without a rule
ENGLISH = 2.75  # linear score of a sentence that counts as English, whatever words are mixed in
PLAUSIBLE = -2.0  # linear score below which weak signs do not count
HARMLESS = -5.0  # score below which rules are not even asked, which is much faster
_FEWEST_SPACES = 2
_FEWEST_IN_NAME = 3  # spaces in a name that may be a sentence, once it is split
_SHORTEST_PHRASE = 16  # characters of such a name
_LONGEST_VALUE = 40  # characters of a name or value
_SIGNS = re.compile(r"[|>_/~]|\w-\w")  # of commands, and of names
_COMMAND = re.compile(r"[|~]|\b(?:rm|cat|nc|chmod|env|curl)\s+\S")
_NAME = re.compile(r"[\w.-]+", re.ASCII)
_NAMES = frozenset(["<name>", "<tool>"])  # that may be another server's tools
_RANKS = {severity: rank for rank, severity in enumerate(Suspicion)}


Network = Callable[[SentenceInContext], float]


class Models(NamedTuple):
    """What judges sentences: a linear model, and a network for those that it finds worth reading."""

    linear: SentenceModel
    network: Network


class Examination(NamedTuple):
    """A definition under inspection."""

    subject: InspectedDefinition
    home: ToolHome
    models: Models


def inspect(
    definition: Definition, others: Surroundings, models: Models | None = None
) -> list[InspectionFinding]:
    """Return what is suspicious about a definition, worst first; each rule reports once."""
    found: dict[str, InspectionFinding] = {}
    findings = _findings(definition, others, models or bundled_models())
    for each in sorted(findings, key=lambda each: _RANKS[each.severity]):
        found.setdefault(each.rule, each)
    return list(found.values())


def _findings(definition: Definition, others: Surroundings, models: Models) -> Iterator[InspectionFinding]:
    texts = passages(definition)
    values = frozenset(passage.text for passage in texts if not is_prose(passage))
    subject = InspectedDefinition(definition=definition, others=others, values=values)
    examination = Examination(subject, home_of(subject), models)
    for passage in texts:
        yield from hidden_text(passage.place, passage.text)
        if (prose := spoken(passage)) is not None and not _holds_nothing(prose.text):
            said = list(_said(prose, examination))
            yield from said
            yield from _encoded(prose, examination, {each.rule for each in said})
    yield from out_of_scope_parameters(definition)
    yield from imitations(definition, others)
    if (size := sum(len(passage.text) for passage in texts)) > OVERSIZED:
        reason = f"its texts have {size:,} characters, enough to bury an instruction"
        yield finding("oversized", Suspicion.LOW, reason, definition.description or "")


def bundled_models() -> Models:
    """Return the models that ship with Remit; the network loads numpy when it reads its first sentence."""
    return Models(sentence_model(), _bundled_network)


def _bundled_network(sentence: SentenceInContext) -> float:
    from remit.inspection.sentence_models.sentence_network import sentence_network

    return sentence_network().score(sentence)


def read(passage: Passage, subject: InspectedDefinition) -> list[Reading]:
    """Find the rules that match each sentence of a passage."""
    is_description = _is_description(passage)
    return [
        _reading(part, subject, may_order=at > 0 or not is_description)
        for at, part in enumerate(parts(revealed(passage.text)))
    ]


def is_prose(passage: Passage) -> bool:
    """Return whether a passage may hold a sentence; most names and values cannot."""
    text = passage.text
    return text.count(" ") >= _FEWEST_SPACES or len(text) > _LONGEST_VALUE or not text.isascii()


def spoken(passage: Passage) -> Passage | None:
    """Return a passage as sentences; a long name such as `read_the_key_file_first` is split into words."""
    text = passage.text
    if is_prose(passage) and (_NAME.fullmatch(text) is None or decodings(text)):
        return passage
    if len(text) >= _SHORTEST_PHRASE and (words := split(text)).count(" ") >= _FEWEST_IN_NAME:
        return Passage(passage.place, words)
    return passage if is_prose(passage) else None


def _encoded(passage: Passage, examination: Examination, known: set[str]) -> Iterator[InspectionFinding]:
    """Report what a passage says only once it is decoded."""
    for text in decodings(passage.text):
        for each in _said(Passage(place=passage.place, text=text), examination, is_decoded=True):
            if each.severity is not Suspicion.LOW and each.rule not in known:
                reason = f"an encoding in the {passage.place} hides that it {each.reason}"
                yield finding("encoded-text", Suspicion.HIGH, reason, each.excerpt)


def _said(
    passage: Passage, examination: Examination, *, is_decoded: bool = False
) -> Iterator[InspectionFinding]:
    heard = list(_heard(passage, examination, is_decoded=is_decoded))
    for reading in heard:
        for rule in reading.rules:
            if rule.severity is not None:
                yield finding(rule.name, rule.severity, rule.reason, reading.text)
        if reading.certainty >= LIKELY:
            yield _learned(reading, examination)
    if (together := combined(heard, PLAUSIBLE)) is not None:
        yield together


def _heard(passage: Passage, examination: Examination, *, is_decoded: bool) -> Iterator[Reading]:
    """Score each sentence of a passage, and find the rules that match those that may be attacks."""
    is_description = _is_description(passage)
    said = parts(revealed(passage.text))
    for at, part in enumerate(said):
        if not is_decoded and _is_plain(part):
            yield Reading(part, (), -math.inf)
            continue
        words = words_of(part, examination.home)
        score = examination.models.linear.score(words, examination.home)
        certainty = -math.inf
        if score < ENGLISH and is_in_another_language(part):
            score = 0.0  # the models know English only
        elif score >= WORTH_READING:
            description = parts(revealed(examination.subject.definition.description or ""))
            context = in_context(said, at, passage.place, description, examination.home)
            certainty = examination.models.network(context) + LINEAR_SHARE * score
        if score < HARMLESS and not is_decoded and not _needs_rules(part, words, examination.subject):
            yield Reading(part, (), score)
        else:
            may_order = at > 0 or not is_description
            text, rules, *_ = _reading(part, examination.subject, may_order=may_order)
            yield Reading(text, rules, score, certainty)


def _needs_rules(text: str, words: list[str], subject: InspectedDefinition) -> bool:
    """Return whether a harmless sentence may still be a command, or be about another server's tool."""
    return _is_command(text) or (not _NAMES.isdisjoint(words) and bool(mentions(text, subject).foreign))


def _holds_nothing(text: str) -> bool:
    """Return whether no sentence of a text may be part of an order, in whatever tool."""
    return text.isascii() and not decodings(text) and all(map(_is_plain, parts(text)))


@lru_cache(maxsize=1 << 13)  # the tools of a server repeat their schemas' texts
def _is_plain(part: str) -> bool:
    """Return whether a sentence names nothing and no word in it may be part of an order, in whatever tool."""
    return not _is_command(part) and not is_in_another_language(part) and has_plain_words(part)


def _is_command(text: str) -> bool:
    return _COMMAND.search(text) is not None


def _learned(reading: Reading, examination: Examination) -> InspectionFinding:
    words = words_of(reading.text, examination.home)
    signs = readable_signs(examination.models.linear.strongest(words, examination.home), words)
    has_rule = any(rule.severity for rule in reading.rules)
    is_sure = reading.certainty >= (CERTAIN if has_rule else BEYOND_DOUBT)
    return finding(
        LEARNED,
        Suspicion.HIGH if is_sure else Suspicion.MEDIUM,
        ": ".join(filter(None, ("reads like an order to the model", ", ".join(signs)))),
        reading.text,
    )


def _is_description(passage: Passage) -> bool:
    return passage.place == "description" or passage.place.startswith("title")


def _may_match(sentence: Sentence) -> bool:
    """Return whether a sentence needs a closer look; most only describe, and this is much faster."""
    return bool(sentence.found or sentence.places) or _SIGNS.search(sentence.text) is not None


def _reading(part: str, subject: InspectedDefinition, *, may_order: bool) -> Reading:
    said = sentence(part, may_order=may_order)
    if not _may_match(said):
        return Reading(said.text, ())
    return Reading(said.text, _matching_rules(part, may_order, mentions(said.text, subject)))


@lru_cache(maxsize=1 << 12)  # the tools of a server repeat their schemas' texts
def _matching_rules(part: str, may_order: bool, named: ToolMentions) -> tuple[TextRule, ...]:
    said = sentence(part, may_order=may_order)
    return tuple(rule for rule in TEXT_RULES if rule.test(said, named))
