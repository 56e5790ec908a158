"""Looks for evidence that a tool only reads: a name, a description and hints that all say so.

Other verbs are no evidence, known or not: `wire_money` and `encrypt_disk` may do anything. Of a tool that
nobody has seen before, its texts also must not steer the model, as far as Remit can read them.
"""

import re
from collections.abc import Iterator

from remit.decision.danger import READING_VERBS, Danger, by_annotations, by_name, is_reading
from remit.decision.definitions.described_danger import by_definition
from remit.decision.tools import Definition
from remit.inspection.inspector import is_prose
from remit.inspection.passages import Passage, passages
from remit.inspection.vocabulary.concepts import Concept
from remit.inspection.vocabulary.imperatives import is_order
from remit.inspection.vocabulary.sentences import parts, sentence
from remit.text.untrusted_text import one_line
from remit.text.words import split
from remit.trust.read_only_words import may_act, stem
from remit.trust.same_text import mentions_secret
from remit.trust.text_change import names_address

_WORD = re.compile(r"[A-Za-z]+")
_LEAD = "this the a tool to used use can will it lets you"
_BEFORE_THE_VERB = frozenset(_LEAD.split())
# Verbs that do not only read in a name: `return_order`, `retrieve_funds`, `show_banner`.
_WEAK = frozenset({"display", "retrieve", "return", "show"})
_OFFERING = frozenset({"display", "list", "show"})  # before `a`: `List a property on the market`
# Words that give a verb another meaning: `get_rid_of_user`, `view_as_admin`.
_IDIOMS_WORDS = "access as away back down even hold off onto out paid ready rid sale up"
_IDIOMS = frozenset(_IDIOMS_WORDS.split())
_OPENING = 200  # characters before the verb at most
# All but Western letters, digits and the usual punctuation: the rules cannot read it.
_UNREADABLE = re.compile(r"[^\x20-\x7e\t\r\n\u00a0À-ÖØ-öø-ÿ\u2013\u2014\u2018-\u201d\u2022\u2026\u2192]")
_NUMBER = re.compile(r"[0-9]+")
_SYMBOLS = re.compile(r"(?<!\S)[^\w\s]+(?!\S)")
_BULLETS = frozenset("-*&+/|\u2013\u2014\u2022\u2192")
_MOST_NUMBERS = 6  # in one text: more may be a code
_LONGEST_NUMBER = 8  # digits
_MOST_SYMBOLS = 4
_LONGEST_WORD = 60  # characters without a space
_MOST_WORDS = 6  # of a name: a longer one is a sentence
_CARRYING = (Concept.CONVERSATION, Concept.SYSTEM_PROMPT, Concept.PERSONAL)
_EXCERPT = 120


def lacks_evidence(definition: Definition) -> str | None:
    """Tell why a tool may do more than read; None if its name, description and hints say that it reads."""
    name, text = definition.tool or definition.name, definition.description or ""
    described, hinted = by_definition(definition), by_annotations(definition.annotations)
    rated = [
        by_name(name).level,
        hinted or Danger.SAFE,
        Danger.SAFE if described is None else described.level,
    ]
    if max(rated) > Danger.LOW:
        return f"it is `{max(rated).word}`"
    if not _name_reads(name, has_text=text != ""):
        return "its name does not say that it only reads"
    if text and not _starts_reading(text):
        return "its description does not say that it only reads"
    if (verb := may_act(text)) is not None:
        return f"its description says `{verb}`"
    return None


def steering_text(definition: Definition) -> str | None:
    """Tell what in the texts of a new tool may steer a model, or cannot be read; None if there is nothing."""
    return next((why for passage in passages(definition) for why in _steers(passage)), None)


def _name_reads(name: str, *, has_text: bool) -> bool:
    """Return whether a name says that a tool reads; `list` needs a plural, or a description."""
    words = split(name).lower().split()
    is_clear = _WEAK.isdisjoint(words[:2]) and (_IDIOMS.isdisjoint(words) or words[:2] == ["look", "up"])
    is_plural = words[:1] != ["list"] or words[-1].endswith("s")
    return is_reading(name) and is_clear and (has_text or is_plural)


def _starts_reading(text: str) -> bool:
    """Return whether the first verb of a description reads."""
    words = [word.lower() for word in _WORD.findall(text[:_OPENING])]
    at = next((at for at, word in enumerate(words) if word not in _BEFORE_THE_VERB), len(words))
    verb, after = next(iter(words[at:]), ""), next(iter(words[at + 1 :]), "")
    if stem(verb).isdisjoint(READING_VERBS) or (verb not in ("look", "looks") and after in _IDIOMS):
        return False
    return after not in ("a", "an") or (verb != "return" and stem(verb).isdisjoint(_OFFERING))


def _steers(passage: Passage) -> Iterator[str]:
    text = passage.text
    if _is_encoded(text):
        yield f"it has a text that Remit cannot read: “{one_line(text, _EXCERPT)}”"
    if names_address(text):
        yield f"it names an address: “{one_line(text, _EXCERPT)}”"
    if not is_prose(passage) and split(text).count(" ") >= _MOST_WORDS:
        yield f"a name or value in it is a sentence: “{one_line(text, _EXCERPT)}”"
    if is_prose(passage):
        if mentions_secret(text):
            yield "it mentions secrets"
        yield from (why for part in parts(text) for why in _steering_sentence(part))


def _steering_sentence(part: str) -> Iterator[str]:
    if sentence(part, may_order=True).any(*_CARRYING):
        yield f"it asks for private data: “{one_line(part, _EXCERPT)}”"
    first = _WORD.search(part)
    is_description = first is not None and not stem(first[0].lower()).isdisjoint(READING_VERBS)
    if is_order(f"It {part}" if is_description else part):  # `Gets notes, then send them` is an order, too
        yield f"its texts give orders: “{one_line(part, _EXCERPT)}”"


def _is_encoded(text: str) -> bool:
    """Return whether a text may be a code: other characters, many numbers, many symbols, endless words."""
    if _UNREADABLE.search(text) is not None:
        return True
    numbers = _NUMBER.findall(text)
    symbols = [each for each in _SYMBOLS.findall(text) if each not in _BULLETS]
    return (
        len(numbers) > _MOST_NUMBERS
        or max(map(len, numbers), default=0) > _LONGEST_NUMBER
        or len(symbols) > _MOST_SYMBOLS
        or max(map(len, text.split()), default=0) > _LONGEST_WORD
    )
