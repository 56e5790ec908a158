"""Compares texts by their words, numbers and symbols, apart from what varies from start to start.

Only typography may differ: spaces, the capital that starts a word, the form of quotes and dashes, and the
period at the end. For a tool that only reads, a date may be another date, a version another version, a user's
name in a home directory another word, and a random name in a temporary directory another one.
"""

import re
from collections.abc import Callable
from unicodedata import normalize

from remit.inspection.vocabulary.concepts import Concept
from remit.inspection.vocabulary.sentences import sentences
from remit.text.words import split
from remit.trust.definition_pin import canonical_text, dateless_text

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
# A symbol before it, or one letter or two, may be an option, a path or a unit: `-D`, `/Data`, `Mg`.
_CAPITALIZED = re.compile(r"^([^\W\d_])((?:['-]?[^\W\d_]){2,})([^\w\s]*)$")
_START = r"(?<![\w/.:@~-])"  # neither in an address nor in another path
_NAME = r"[A-Za-z](?:[\w.-]{0,30}\w)?"
_NUMBER = "[0-9]{1,4}"
_VARYING = re.compile(
    rf"(?P<user>{_START}(?:/home/|/Users/|[A-Z]:\\Users\\)){_NAME}(?![\w-])"
    rf"|(?P<temporary>{_START}(?:/private)?(?:/tmp/|/var/tmp/|/var/folders/\w\w/\w+/T/)){_NAME}(?![\w-])"
    rf"|(?P<version>{_START}(?:v|(?<=version )){_NUMBER}\.{_NUMBER}(?:\.{_NUMBER})?)"
    r"(?![\w:/@-]|\.\w)"  # neither an IP address nor a package with its version
)
_MOST_VARYING = 2  # different values of one text: more could spell something
_LAST = re.compile(r"[/\\]")
_USER = re.compile(r"[A-Za-z][a-z]*[0-9]{0,4}")
_LONGER = 4  # letters that the name of another user may have more
_RANDOM = re.compile(r"[A-Za-z0-9]{0,12}_?[A-Za-z0-9]{0,12}")
_MOST_RANDOM = 12  # characters


def same_text(before: str, after: str, *, may_vary: bool) -> bool:
    """Return whether two texts say the same; in those of a tool that only reads, some values may vary."""
    old, new = _folded(canonical_text, before), _folded(canonical_text, after)
    return old == new or (may_vary and _varies(before, after))


def _varies(before: str, after: str) -> bool:
    """Return whether two texts differ only in a date, and in few other values that vary."""
    old, new = _folded(dateless_text, before), _folded(dateless_text, after)
    values = [*_VARYING.finditer(old)], [*_VARYING.finditer(new)]
    if _masked(old) != _masked(new) or len(values[0]) != len(values[1]):
        return False
    pairs = {(str(one.lastgroup), one[0], other[0]) for one, other in zip(*values, strict=True)}
    changes = [pair for pair in pairs if pair[1] != pair[2]]
    return len(changes) <= _MOST_VARYING and all(_is_plausible(*change) for change in changes)


def _folded(form: Callable[[str], str], text: str) -> str:
    """Return a text in one typography; a word in capitals stays, because it is stressed."""
    plain = form(normalize("NFC", text).translate(_TYPOGRAPHY))
    return " ".join(map(_uncapitalized, _FINAL_PERIOD.sub("", plain).split(" ")))


def _uncapitalized(word: str) -> str:
    found = _CAPITALIZED.match(word)
    return word if found is None or not found[2].islower() else word[0].lower() + word[1:]


def _masked(text: str) -> str:
    return _VARYING.sub(lambda found: f"{found['user'] or found['temporary'] or ''}<{found.lastgroup}>", text)


def _is_plausible(kind: str, before: str, after: str) -> bool:
    if kind == "version":
        return True
    if mentions_secret(after):
        return False
    if kind == "user":
        name = _LAST.split(after)[-1]
        return _USER.fullmatch(name) is not None and len(after) <= len(before) + _LONGER
    at = next(at for at, (one, other) in enumerate(zip(before, after, strict=False)) if one != other)
    is_short = len(before) == len(after) <= at + _MOST_RANDOM
    return is_short and _RANDOM.fullmatch(after[at:]) is not None


_SECRET = re.compile(
    r"(?ix)(?<![^\W_])(?:secrets?|tokens?|(?:api|ssh|access|private)?keys?|passwords?|passwd|passphrases?"
    r"|credentials?|cookies?|dot[ ]?env|env|ssh|id[ ]rsa|gnupg|keychain|keyring)(?![^\W_])"
)
# Lengths of what a model reads and writes; an `access token limit` is still about a secret.
_MODEL_TOKENS = re.compile(
    r"(?ix)(?<![^\W_])(?:(?:max(?:imum)?|min(?:imum)?|many|input|output|prompt|completion)[ _-]?tokens"
    r"|(?:number|count|amount)[ ]of[ ](?:(?:input|output|prompt|completion|generated)[ ])?tokens"
    r"|(?<!\w[ _-])tokens[ ]to[ ](?:generate|produce|sample)"
    r"|(?<!\w[ _-])tokens?[ _-]?(?:counts?|limits?|budget))(?![^\W_])"
)


def mentions_secret(text: str) -> bool:
    """Return whether a text is about secrets, or names a file that holds some."""
    if any(_SECRET.search(_MODEL_TOKENS.sub(" ", each)) for each in (text, split(text))):
        return True
    return any(each.any(Concept.SECRET, Concept.PRIVATE_FILE) for each in sentences(text))
