"""Redaction: what may be a secret in words that are about to be shown."""

import re
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import urlsplit

HIDDEN = "***"
_SHORTEST = 4  # a shorter value is no secret, and would be found in every other word

_SECRET_NAME = re.compile(
    r"(^|[-_.])(api-?key|key|token|secret|password|passwd|pwd|auth|authorization|bearer|credentials?|cookie|pat)"
    r"($|[-_.=])"
    r"|apikey|accesskey|privatekey|accesstoken|authtoken",
    re.IGNORECASE,
)
_SECRET_VALUE = re.compile(
    r"(sk|pk|rk|ghp|gho|ghs|ghu|github_pat|glpat|xox[abeprs]|npm|pypi|hf|ntn|secret|key|lin_api|dop_v1|tvly|fc|BSA)"
    r"[-_][A-Za-z0-9_-]{8,}"
    r"|(AKIA|ASIA|AIza|eyJ)[A-Za-z0-9_.-]{12,}"
    r"|[0-9a-fA-F]{32,}"
    r"|(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=[^0-9]*[0-9])[A-Za-z0-9_+=-]{20,}"
)
_TOKEN = re.compile(r"[A-Za-z0-9_+/=.:~@%-]+")  # with a space or a shell's sign, it is something to be judged
_USER_INFO = re.compile(r"(?<=://)[^/@\s]+@")
_PAIR = re.compile(r"([?&#;])([^=&#;]+)=([^&#;]*)")


def redact(text: str, values: Iterable[str]) -> str:
    """Hide values wherever they stand in a text, whole or by single lines, the longest first."""
    parts = {part for value in values for part in (value, *value.splitlines()) if len(part) >= _SHORTEST}
    for part in sorted(parts, key=len, reverse=True):
        text = text.replace(part, HIDDEN)
    return text


def redact_words(words: Sequence[str]) -> list[str]:
    """Hide what looks like a secret in a command's arguments; all else stands as it is written."""
    return list(_words(words))


def redact_url(url: str) -> str:
    """Hide a URL's user and password, and what looks like a secret in its query."""
    plain = _USER_INFO.sub(f"{HIDDEN}@", url)
    return _PAIR.sub(lambda pair: f"{pair[1]}{pair[2]}={_hidden_if_secret(pair[2], pair[3])}", plain)


def url_secrets(url: str) -> Iterator[str]:
    """List the parts of a URL that are never to be shown."""
    try:
        parts = urlsplit(url)
        yield from filter(None, (parts.username, parts.password, parts.query, parts.fragment))
    except ValueError:
        yield url


def is_secret_name(name: str) -> bool:
    """Tell whether a variable, flag or parameter of this name holds a secret."""
    return _SECRET_NAME.search(name) is not None


def looks_secret(word: str) -> bool:
    """Tell whether a word has the form of a secret."""
    return _SECRET_VALUE.fullmatch(word) is not None


def _words(words: Sequence[str]) -> Iterator[str]:
    follows = False  # the word before was a flag such as `--token`
    for word in words:
        flag, equals, value = word.partition("=")
        if follows and not word.startswith("-"):
            yield _hidden_if_secret("token", word)
        elif equals and re.fullmatch(r"[\w-]+", flag):
            yield f"{flag}={_hidden_if_secret(flag, value)}"
        elif "://" in word:
            yield redact_url(word)
        else:
            yield HIDDEN if looks_secret(word) else word
        follows = not equals and word.startswith("-") and is_secret_name(word)


def _hidden_if_secret(name: str, value: str) -> str:
    is_reference = "$" in value or "{" in value
    if is_reference or not _TOKEN.fullmatch(value):
        return value
    if "://" in value:
        return redact_url(value)
    return HIDDEN if is_secret_name(name) or looks_secret(value) else value
