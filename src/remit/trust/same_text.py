"""Compares texts by their words, numbers and symbols, apart from what varies from start to start.

Only typography may differ: spaces, the capital that starts a word, the form of quotes and dashes, and the
period at the end. A date may be another date, a user's name in a home directory another name, a name in a
temporary directory another one of the same length, and a version number another version number.
"""

import re
from unicodedata import normalize

from remit.trust.definition_pin import canonical_text
from remit.trust.secret_words import mentions_secret

# Quotes, dashes, spaces and the ellipsis.
_TYPOGRAPHY = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019", "'"),
        **dict.fromkeys("\u201c\u201d", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014", "-"),
        **dict.fromkeys("\u00a0\u2009\u202f", " "),
        "\u2026": "...",
    }
)
_FINAL_PERIOD = re.compile(r"(?<=[a-z])\.$")
_CAPITALIZED = re.compile(r"^([^\w\s]*)([^\W\d_])((?:[^\W\d_]|['-](?=[^\W\d_]))*)([^\w\s]*)$")
_START = r"(?<![\w/.:@~-])"  # neither in an address nor in another path
_NAME = r"[A-Za-z](?:[\w.-]{0,30}\w)?"
_NUMBER = "[0-9]{1,4}"
_VARYING = re.compile(
    rf"(?P<user>{_START}(?:/home/|/Users/|[A-Z]:\\Users\\)){_NAME}(?![\w-])"
    rf"|(?P<temporary>{_START}(?:/private)?(?:/tmp/|/var/tmp/|/var/folders/\w\w/\w+/T/)){_NAME}(?![\w-])"
    rf"|(?P<version>{_START}(?:v?{_NUMBER}\.{_NUMBER}\.{_NUMBER}|(?:v|(?<=version )){_NUMBER}\.{_NUMBER}))"
    r"(?![\w:/@-]|\.\w)"  # neither an IP address nor a package with its version
)
_MOST_VARYING = 2  # different values of one text: more could spell something


def same_text(before: str, after: str) -> bool:
    """Return whether two texts say the same."""
    old, new = _folded(before), _folded(after)
    if old == new:
        return True
    values = [*_VARYING.finditer(old)], [*_VARYING.finditer(new)]
    if _masked(old) != _masked(new) or len(values[0]) != len(values[1]):
        return False
    pairs = {(str(one.lastgroup), one[0], other[0]) for one, other in zip(*values, strict=True)}
    changes = [pair for pair in pairs if pair[1] != pair[2]]
    return len(changes) <= _MOST_VARYING and all(_is_plausible(*change) for change in changes)


def _folded(text: str) -> str:
    """Return a text in one typography; a word in capitals stays, because it is stressed."""
    plain = canonical_text(normalize("NFC", text).translate(_TYPOGRAPHY))
    return " ".join(map(_uncapitalized, _FINAL_PERIOD.sub("", plain).split(" ")))


def _uncapitalized(word: str) -> str:
    found = _CAPITALIZED.match(word)
    if found is None or not (found[3] == "" or found[3].islower()):
        return word
    return f"{found[1]}{found[2].lower()}{found[3]}{found[4]}"


def _masked(text: str) -> str:
    return _VARYING.sub(lambda found: f"{found['user'] or found['temporary'] or ''}<{found.lastgroup}>", text)


def _is_plausible(kind: str, before: str, after: str) -> bool:
    if kind == "version":
        return True
    return not mentions_secret(after) and (kind == "user" or len(before) == len(after))
