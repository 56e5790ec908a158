# ruff: noqa: RUF001
"""Finds text that a person does not see, and reads it as a model would."""

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from remit.text import one_line
from remit.trust.inspection import HIGH, MEDIUM, Finding

_TAGS = re.compile("[\U000e0001-\U000e007f]+")
_FLAG = "\U0001f3f4"  # tags after this flag spell a region
_ZERO_WIDTH = re.compile("[\u00ad\u034f\u115f\u180e\u200b\u200e\u200f\u2060-\u2064\ufeff]")
_JOINERS = re.compile("[\u200c\u200d]")  # part of emoji, and of Persian and Indic words
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")
_OVERRIDE = re.compile("[\u202d\u202e]")
_PRIVATE_USE = re.compile("[\ue000-\uf8ff\U000f0000-\U0010ffff]")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]")
_GAP = re.compile(  # from where the blank space starts, so a long one is looked at once
    r"(?<![ \t\n])(?<![ \t\n]\r)[ \t]*+(?:\r?\n[ \t]*+){15,}+(?=\S)"
    r"|(?<![ \t\u00a0\u3000])[ \t\u00a0\u3000]{80,}+(?=\S)"
)
_BLANK = re.compile("[ \t\n\r\u00a0\u3000]{15}")  # in every gap
_WIDE = " " * 80
_MIXED = re.compile(r"[^\W\d_]+")
_LATIN = re.compile("[A-Za-z]")
_SIMILAR = (
    "аеорсухіѕјԁһԛԝкмтвнАВЕКМНОРСТХІЅЈУοαερτυικνΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"  # Cyrillic and Greek: look like Latin letters
)
_LOOKALIKES = str.maketrans(_SIMILAR, "aeopcyxisjdhqwkmtbhABEKMHOPCTXISJYoaeptuiknABEZHIKMNOPTYX")
_LOOKALIKE = re.compile(f"[{_SIMILAR}]")
_FOREIGN = re.compile("[аеорсухіѕјԁһԛԝАВЕКМНОРСТХІЅЈУοΑΒΕΖΗΙΚΜΝΟΡΤΥΧ]")
_SPACED = re.compile(r"(?:(?<!\w)\w[ .\-_]{1,3}){8,}\w(?!\w)")
_LONE = re.compile(r"[ .\-_]\w[ .\-_]{1,3}\w[ .\-_]")  # in every spaced word
_ESCAPED = re.compile(r"(?:\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|&#x?[0-9a-fA-F]{2,5};)")
_BASE64 = re.compile(r"(?<![\w+/])[A-Za-z0-9+/]{24,}={0,2}(?![\w+/])")
_HEX = re.compile(r"(?<!\w)(?:[0-9a-fA-F]{2}){16,}(?!\w)")
_SHORTEST = 24  # characters of a text that can hide an instruction
_QUOTE = 300  # characters
_MANY = 4  # hidden characters that are no accident


def hidden_text(place: str, text: str) -> Iterator[Finding]:
    """Report characters that hide text."""
    if text.isascii() and text.isprintable() and _WIDE not in text:  # nearly all, and much faster
        return
    if not text.isascii():
        yield from _invisible(place, text)
        yield from _lookalikes(place, text)
    if _CONTROL.search(text):
        yield _finding(HIGH, "control characters hide text", text, place)
    if _BLANK.search(text) and (gap := _GAP.search(text)):
        yield _finding(MEDIUM, "blank space pushes text out of sight", text[gap.end() :], place)


def _finding(severity: str, says: str, text: str, place: str) -> Finding:
    return Finding(severity, says, one_line(text, _QUOTE), place)


@lru_cache(maxsize=1 << 12)  # the tools of a server repeat their schemas' texts
def decodings(text: str) -> tuple[str, ...]:
    """Return other ways to read a text, as far as parts of it are encoded."""
    if len(text) < _SHORTEST:
        return ()
    readings = [*_decoded(text)]
    if _LONE.search(text) and _SPACED.search(text):
        readings.append(_SPACED.sub(lambda run: re.sub(r"(?<=\w)[ .\-_](?=\w)", "", run[0]), text))
    return tuple(readings)


def revealed(text: str) -> str:
    """Return a text as it reads once tags are letters and lookalikes are Latin."""
    if text.isascii():
        return text
    text = _TAGS.sub(lambda tags: " " + "".join(chr(ord(char) - 0xE0000) for char in tags[0]), text)
    text = _JOINERS.sub("", _BIDI.sub(" ", _ZERO_WIDTH.sub("", text)))
    text = unicodedata.normalize("NFKC", text)
    return _MIXED.sub(_latin, text) if _LOOKALIKE.search(text) else text


def _latin(word: re.Match[str]) -> str:
    plain = word[0].translate(_LOOKALIKES)
    return plain if plain.isascii() else word[0]


def _invisible(place: str, text: str) -> Iterator[Finding]:
    tags = [run for run in _TAGS.finditer(text) if text[run.start() - 1 : run.start()] != _FLAG]
    if tags:
        spelled = "".join(chr(ord(char) - 0xE0000) for run in tags for char in run[0])
        yield _finding(HIGH, "invisible characters spell a text", spelled, place)
    marks = len(_ZERO_WIDTH.findall(text.lstrip("\ufeff"))) + sum(
        _is_loose(text, at) for at in _joiners(text)
    )
    if marks:
        severity = HIGH if marks >= _MANY else MEDIUM
        yield _finding(severity, "invisible characters stand in the text", revealed(text), place)
    if _BIDI.search(text):
        severity = HIGH if _OVERRIDE.search(text) else MEDIUM
        yield _finding(severity, "characters change the direction of the text", text, place)
    if _PRIVATE_USE.search(text):
        yield _finding(MEDIUM, "characters without a common meaning stand in the text", text, place)


def _joiners(text: str) -> list[int]:
    return [match.start() for match in _JOINERS.finditer(text)]


def _is_loose(text: str, at: int) -> bool:
    """Return whether a joiner joins nothing: only plain letters and spaces are around it."""
    return (text[max(at - 1, 0) : at] + text[at + 1 : at + 2]).isascii()


def _lookalikes(place: str, text: str) -> Iterator[Finding]:
    words = [word for word in _MIXED.findall(text) if _FOREIGN.search(word) and _LATIN.search(word)]
    words = [word for word in words if word.translate(_LOOKALIKES).isascii()]
    if words:
        severity = HIGH if place == "name" or len(words) > 2 else MEDIUM
        yield _finding(severity, "letters of another alphabet imitate Latin ones", " ".join(words), place)


def _decoded(text: str) -> Iterator[str]:
    if ("\\" in text or "&#" in text) and len(_ESCAPED.findall(text)) > 3:
        yield _ESCAPED.sub(lambda escape: chr(int(re.sub(r"^\W*[ux#]+|;", "", escape[0]) or "0", 16)), text)
    if max(map(len, text.split()), default=0) < _SHORTEST:
        return  # most texts have no word that is long enough for an encoding
    for run in _BASE64.findall(text):
        yield from _printable(_from_base64(run))
    for run in _HEX.findall(text):
        yield from _printable(bytes.fromhex(run))


def _from_base64(run: str) -> bytes:
    try:
        return base64.b64decode(run + "=" * (-len(run) % 4), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _printable(content: bytes) -> Iterator[str]:
    text = content.decode("ascii", errors="replace")
    if len(text) >= 8 and text.isprintable() and "\ufffd" not in text:
        yield text
