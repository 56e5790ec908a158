"""Writes a sentence as the models read it: with signs for names, paths, addresses and classes of words."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from remit.text import split
from remit.trust.inspection.passages import Passage, Sentence
from remit.trust.inspection.vocabulary import CLASSES, FOREIGN

# Files that hold secrets, as they are written in every language.
_SECRET_FILE = re.compile(
    r"(?<![\w.])\.(?:ssh|aws|gnupg|kube|azure|netrc|pgpass|npmrc|pypirc|git-credentials|docker/config|cursor/mcp"
    r"|(?:bash|zsh|psql|mysql|python)_history|claude\.json|config/(?:gcloud|gh))\b[\w./\\-]*"
    r"|\bid_(?:rsa|dsa|ecdsa|ed25519)\b(?:\.pub)?|\b(?:wallet\.dat|logins\.json|claude_desktop_config\.json)\b"
    r"|(?<![\w.])\.env(?:\.\w+)?\b(?!\.)|/etc/(?:passwd|shadow|sudoers)\b|/proc/\w+/environ\b"
)
_MAY_BE_SECRET = re.compile(
    r"\.[a-z]*(?:ssh|aws|gnu|kub|azu|net|pgp|npm|pyp|git|_h|doc|cur|cla|con|env)|id_|/etc/|/proc/|\.dat|\.json"
)
_NAME = re.compile(
    r"(?P<url>https?://\S+|\b(?:\d{1,3}\.){3}\d{1,3}\S*)"
    r"|(?P<mail>(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w.-]+)"
    r"|(?P<quoted>`[^`\n]{1,60}`)"
    r"|(?P<path>(?<![\w<])(?:~|\.{1,2}|[A-Z]:)?[/\\][\w.~-]+(?:[/\\][\w.~*-]*)+)"
    r"|(?P<name>\b[A-Za-z][a-z0-9]*(?:(?:_+|(?<=[a-z])-(?=[a-z]+_)|\.(?=[a-z]+_))[A-Za-z0-9]+)+(?:\(\))?"
    r"|\b[a-z]+(?:[A-Z][a-z0-9]+)+(?:\(\))?)"
)
_MAY_HOLD = re.compile(r"[_`/\\@~.][\w~.]|[a-z][A-Z]|id_")
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[^\W\d_]{3,}")
_TOKEN = re.compile(r"[a-z][a-z'-]*")
_MARK = re.compile(
    r"<[a-z_]*(?:important|system|secret|instruction|note|hidden|critical)[a-z_]*>|\[(?:system|inst|important|hidden)|#{2,}"
)
_ROLES = frozenset({"zsecret", "zurl", "zmail", "zpath", "zname", "zsibling", "zown", "zparameter"})
_MOST_CLASSES = 60
_LONGEST_RUN = 3  # of classes
_CAPITALS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SHARES = (0.05, 0.2, 0.4, 0.7)


class Names(NamedTuple):
    """What the names in a definition's sentences may be."""

    own: str
    parameters: frozenset[str]
    siblings: frozenset[str]
    words: frozenset[str]  # of the tool's name

    @classmethod
    def of(cls, texts: Sequence[Passage], siblings: frozenset[str]) -> "Names":
        """Collect the names in a definition's texts; `siblings` are those of its server's tools."""
        name = next((text.text for text in texts if text.place == "name"), "")
        parameters = frozenset(plain(text.text) for text in texts if text.place == "parameter name")
        own = plain(name)
        return cls(own, parameters, siblings - {own}, _stems(split(name)))

    def role(self, match: re.Match[str]) -> str:
        """Return the sign for a name, a path or an address."""
        if match.lastgroup not in ("quoted", "name"):
            return f" z{match.lastgroup} "
        name = plain(match[0])
        if name == self.own:
            return " zown "
        if name in self.parameters:
            return " zparameter "
        if name in self.siblings:
            return " zsibling "
        if match.lastgroup == "quoted" and not re.search(r"[_\w]\w*[_A-Z]", match[0][1:-1]):
            return f" zquote {match[0][1:-1]} "
        return " zname "


class Read(NamedTuple):
    """A sentence as the models read it."""

    text: str  # in lower case, with signs for names
    signs: tuple[str, ...]
    runs: tuple[str, ...]  # of classes, one after the other


def plain(name: str) -> str:
    """Return a name in lower case without quotes and separators."""
    return "".join(filter(str.isalnum, name)).lower()


@lru_cache(maxsize=1 << 12)
def _stems(text: str) -> frozenset[str]:
    return frozenset(word[:5] for word in _WORD.findall(text.lower()))


def reader(names: Names) -> "Callable[[list[Sentence]], list[Read]]":
    """Return what reads the sentences of a definition."""

    def read(sentences: list[Sentence]) -> list[Read]:
        texts = [
            f"{sentence.about} : {sentence.text}"
            if sentence.about and sentence.place.startswith("param") and sentence.place != "parameter name"
            else sentence.about or sentence.text
            for sentence in sentences
        ]
        stems = [_stems(text) for text in texts]
        counts: dict[str, int] = {}
        for words in stems:
            for word in words:
                counts[word] = counts.get(word, 0) + 1
        return [
            _read(text, sentence, words, counts, names, at)
            for at, (text, sentence, words) in enumerate(zip(texts, sentences, stems, strict=True))
        ]

    return read


def _read(
    text: str, sentence: Sentence, words: frozenset[str], counts: dict[str, int], names: Names, at: int
) -> Read:
    signed = _SECRET_FILE.sub(" zsecret ", text) if _MAY_BE_SECRET.search(text) else text
    signed = _NAME.sub(names.role, signed) if _MAY_HOLD.search(signed) else signed
    lower = _NUMBER.sub("0", signed.lower()).replace("\n", " ")
    classes, class_pairs, runs = _classes(lower)
    signs: list[str] = []
    if len(words) > 2:
        shared = sum(counts[word] > 1 or word in names.words for word in words) / len(words)
        signs.append(f"shares{sum(shared > share for share in _SHARES)}")
    if not lower.isascii() and sum(char > "\u024f" for char in lower) > len(lower) / 4:
        signs.append("script")
    capitals = len(text) - len(text.encode(errors="replace").translate(None, _CAPITALS))
    if capitals > max(12, len(text) / 3):
        signs.append("capitals")
    signs.append(
        "place"
        + (sentence.place.split()[0] if sentence.place.startswith(("desc", "param", "name")) else "other")
    )
    if at < 2:
        signs.append("first")
    if _MARK.search(lower):
        signs.append("mark")
    pairs = [f"{one}&{other}" for one in classes for other in signs]
    return Read(lower, (*classes, *signs, *class_pairs, *pairs, *_pairs(signs)), runs)


def _pairs(signs: Sequence[str]) -> list[str]:
    return [f"{one}&{other}" for at, one in enumerate(signs) for other in signs[at + 1 :]]


@lru_cache(maxsize=1 << 12)  # the tools of a server repeat their parameters
def _classes(text: str) -> tuple[list[str], list[str], tuple[str, ...]]:
    """Return the classes of a sentence's words, their pairs, and which follow each other."""
    order: list[str] = []
    for word in _TOKEN.findall(text):
        if word in CLASSES:
            order += CLASSES[word]
        elif word.startswith("z") and word in _ROLES:
            order.append(word)
    if not text.isascii():
        order += [name for part, name in FOREIGN if part in text]
    order = order[:_MOST_CLASSES]
    runs = [
        ">".join(order[at : at + length])
        for length in (2, _LONGEST_RUN)
        for at in range(len(order) - length + 1)
    ]
    classes = sorted(set(order))
    return classes, _pairs(classes), tuple(dict.fromkeys(runs))
