"""Splits text into sentences, and finds the concepts in each."""

import re
from dataclasses import dataclass
from functools import lru_cache

from remit.inspection.vocabulary.concepts import Concept
from remit.inspection.vocabulary.foreign_words import UNSPACED
from remit.inspection.vocabulary.imperatives import is_order
from remit.inspection.vocabulary.phrase_table import has_foreign_words, is_foreign, is_telling, phrases_from

MAX_LENGTH = 1000  # characters; a longer sentence is cut, which bounds the time that patterns take
NEAR = 6  # words
_END = re.compile(r"(?<=[.!?])[\"')\]`]*\s+(?=\S)|[\n\r;。！？؛।]+|\s[-*•]\s|(?<=\w):\s+(?=[A-Z])|[<>\]]")
_WORD = re.compile(r"[^\W_]+(?:['’_][^\W_]+)*")
_ADDRESS = re.compile(r"(?i)\bhttps?://\S+|(?<![\w.+-])[\w.+-]++@[\w.-]+")
_PLACE = re.compile(
    r"(?ix)https?://(?!localhost|127\.)[\w.-]+|(?<![\w.+-])[\w.+-]++@[\w-]+\.[\w.-]+"
    r"|\b\d{1,3}(?:\.\d{1,3}){3}\b|(?<!\w)\+\d{9,}\b"
)
_SAMPLE = re.compile(
    r"(?i)@example\.|contoso|\byour|@company\.|@domain\.|://example\.|api\.example|w3\.org|json-schema|://graph\."
)
_PRIVATE_FILE = re.compile(
    r"(?ix)id_(?:rsa|ed25519|dsa|ecdsa)\b|(?<!\w)\.(?:ssh|aws|gnupg|kube|netrc|npmrc|pypirc|git-credentials|docker/config"
    r"|bash_history|zsh_history|pgpass|config/gh|cursor|vscode|azure|boto|htpasswd|env)\b(?!\.(?:example|sample|template))"
    r"|/etc/(?:passwd|shadow|sudoers|hosts\b)|authorized_keys|known_hosts|\bkubeconfig\b|credentials\.json|\bmcp\.json"
    r"|wallet\.dat|/proc/self/environ|login\sdata|cookies\.sqlite|(?-i:\$\{?(?:\w*_)?(?:KEY|TOKEN|SECRET|PASSWORD)\b)"
    r"|(?-i:\b[A-Z][A-Z0-9]*_(?:TOKEN|API_KEY|SECRET(?:_KEY)?|ACCESS_KEY)\b)"
)
_UNSPACED = re.compile("[\u0590-\u08ff\u0900-\u0dff\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_OTHER_LETTERS = re.compile("[\u0370-\u1fff\u3040-\ud7af]")
_SIGNS = re.compile(r"[@~$|/._](?:(?<=[@~$|])|\w)")  # of addresses, files and names
_FILE_WORDS = ("kubeconfig", "login")  # of private files whose names have no such signs
_FOREIGN_ORDERS = (Concept.IGNORE, Concept.READ, Concept.SEND, Concept.CALL, Concept.TELL)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with the positions of each concept, counted in words."""

    text: str
    words: tuple[str, ...]
    found: dict[Concept, list[int]]
    places: tuple[str, ...] = ()  # addresses of somebody else
    is_unspaced: bool = False  # in a language without spaces, where positions mean nothing
    is_directive: bool = False  # an order rather than a description

    def has(self, *concepts: Concept) -> bool:
        """Return whether all concepts are in the sentence."""
        return self.found.keys() >= {*concepts}

    def any(self, *concepts: Concept) -> bool:
        """Return whether one of the concepts is in the sentence."""
        return not self.found.keys().isdisjoint(concepts)

    def near(self, one: Concept, other: Concept, within: int = NEAR) -> bool:
        """Return whether two concepts are near each other, in any order."""
        if one not in self.found or other not in self.found:
            return False
        return self.follows(one, other, within) or self.follows(other, one, within)

    def follows(self, one: Concept, other: Concept, within: int = NEAR) -> bool:
        """Return whether the second concept follows the first closely."""
        if one not in self.found or other not in self.found:
            return False
        firsts, seconds = self.found[one], self.found[other]
        return self.is_unspaced or any(0 < at - first <= within for first in firsts for at in seconds)

    def wants(self, verb: Concept, thing: Concept, within: int = NEAR) -> bool:
        """Return whether a verb that is not negated is near its object."""
        if verb not in self.found or thing not in self.found:
            return False
        return self.is_unspaced or any(
            0 < abs(at - first) <= within and not self._is_negated(first)
            for first in self.found[verb]
            for at in self.found[thing]
        )

    def starts(self, *concepts: Concept, within: int = 2) -> bool:
        """Return whether one of the concepts opens the sentence."""
        return any(self.found.get(concept, (within,))[0] < within for concept in concepts)

    def _is_negated(self, at: int) -> bool:
        """Return whether a word is negated; `never`, as the first word, reaches further."""
        return any(0 < at - no <= (9 if no < 2 else 4) for no in self.found.get(Concept.NOT, ()))


def sentences(text: str, *, describes: bool = True) -> tuple[Sentence, ...]:
    """Split a text into sentences; the first one of a description says what the tool does, in any mood."""
    return tuple(sentence(part, may_order=at > 0 or not describes) for at, part in enumerate(parts(text)))


@lru_cache(maxsize=1 << 12)
def parts(text: str) -> tuple[str, ...]:
    """Split a text where a sentence ends; a long one is cut."""
    whole = [part for part in _END.split(text) if part and not part.isspace()]
    if len(text) <= MAX_LENGTH:
        return tuple(whole)
    return tuple(part[at : at + MAX_LENGTH] for part in whole for at in range(0, len(part), MAX_LENGTH))


@lru_cache(maxsize=1 << 12)  # the tools of a server repeat their schemas' texts
def sentence(text: str, *, may_order: bool) -> Sentence:
    """Find the concepts in a sentence."""
    has_address = "@" in text or "://" in text
    spoken = _ADDRESS.sub(" ", text) if has_address else text  # the words of an address say nothing
    words = tuple(_WORD.findall(spoken.lower().replace("’", "'")))
    has_signs = _SIGNS.search(text) is not None
    if text.isascii() and not has_signs and not is_telling(words):
        return Sentence(text, words, {})
    found = _concepts(words)
    is_unspaced = not text.isascii() and _UNSPACED.search(text) is not None
    if is_unspaced:
        _add_unspaced(text, found)
    may_hold_file = has_signs or not text.isascii() or any(word in text.lower() for word in _FILE_WORDS)
    if may_hold_file and (file := _PRIVATE_FILE.search(text)) is not None:
        found.setdefault(Concept.PRIVATE_FILE, []).append(len(_WORD.findall(text[: file.start()])))
    is_directive = Concept.MUST in found or (may_order and is_order(text))
    if is_unspaced or sum(map(is_foreign, words)) > 1:
        is_directive = is_directive or any(concept in found for concept in _FOREIGN_ORDERS)
    places = _places(text) if has_address or has_signs or "+" in text else ()
    return Sentence(" ".join(text.split()), words, found, places, is_unspaced, is_directive)


@lru_cache(maxsize=1 << 12)
def is_in_another_language(text: str) -> bool:
    """Return whether a text is not in English, as far as the vocabulary tells."""
    has_other_letters = not text.isascii() and _OTHER_LETTERS.search(text) is not None
    return has_other_letters or has_foreign_words(text.lower().split())


def _concepts(words: tuple[str, ...]) -> dict[Concept, list[int]]:
    found: dict[Concept, list[int]] = {}
    for at, word in enumerate(words):
        for rest, concepts in phrases_from(word):
            is_browser = word.startswith("agent") and words[at - 1] == "user" and at > 0
            if not is_browser and (not rest or words[at + 1 : at + 1 + len(rest)] == rest):
                for concept in concepts:
                    found.setdefault(concept, []).append(at)
    return found


def _add_unspaced(text: str, found: dict[Concept, list[int]]) -> None:
    for concept, phrases in UNSPACED.items():
        if any(phrase in text for phrase in phrases):
            found.setdefault(concept, []).append(0)


def _places(text: str) -> tuple[str, ...]:
    """Find the addresses in a sentence, except those of examples."""
    return tuple(place for place in _PLACE.findall(text) if _SAMPLE.search(place) is None)
