"""Hides secrets in text before it is shown."""

import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from urllib.parse import quote, quote_plus

from remit.text.secrets import is_credential, is_secret, may_be_secret, names_a_secret, secrets_in

HIDDEN = "***"
# Names of this process's variables that a repository set, or `ANY_VARIABLE`; never inherited.
FOREIGN = "REMIT_FOREIGN_VARIABLES"
ANY_VARIABLE = "*"  # a file of the repository cannot be read, so it may have set any of them
_SHORTEST_SECRET = 8  # shorter ones are part of ordinary words
_SHORTEST = 4  # shorter values are not secrets and occur in ordinary words

# Compiled on first use, as in `secrets`.
_PLAIN = r"[A-Za-z0-9_+/=.:~@%-]+"  # all other words are checked
_PART = r"@?(?:sha\d+:)?[^/\\@:]+"
_USER_INFO = r"(?<=://)[^/?#\s]+@"
_PATH = r"(://[^/?#\s]*)(/[^?#\s]*)"
_PARAMETER = r"([?&#;])([^=&#;\s]+)(?:=([^&#;\s]*))?"


def redact(text: str, values: Iterable[str]) -> str:
    """Hide values in a text, whole or line by line, longest first."""
    return _redactor(values)(text)


def redact_output(text: str, values: Iterable[str]) -> str:
    """Hide values in what a program printed, also encoded as programs print them, or in another case."""
    return output_redactor(values)(text)


def output_redactor(values: Iterable[str]) -> Callable[[str], str]:
    """Return what hides values in many texts that a program printed."""
    parts = {part for value in values for part in (value, *value.splitlines())}
    forms = {form for part in parts if len(part) >= _SHORTEST_SECRET for form in _forms(part)}
    return _redactor(parts | forms)


def _redactor(values: Iterable[str]) -> Callable[[str], str]:
    parts = {part for value in values for part in (value, *value.splitlines()) if len(part) >= _SHORTEST}
    ordered = sorted(parts, key=len, reverse=True)

    def redacted(text: str) -> str:
        for part in ordered:
            text = text.replace(part, HIDDEN)
        return text

    return redacted


def _forms(value: str) -> Iterator[str]:
    """Yield a value in hexadecimal, base64, URLs and JSON, and in upper and lower case."""
    raw = value.encode("utf-8", "surrogateescape")
    yield from (value.upper(), value.lower(), json.dumps(value)[1:-1])
    yield from (raw.hex(), raw.hex().upper(), raw.hex(" "), raw.hex(":"))
    for encoded in (quote(raw, safe=""), quote(raw), quote_plus(raw)):
        yield from (encoded, re.sub("%..", lambda match: match[0].lower(), encoded))
    for encode in (b64encode, urlsafe_b64encode):
        for before in range(3):  # `user:VALUE` may start at any of three places in a group
            after = -(before + len(raw)) % 3
            groups = encode(b"\0" * before + raw + b"\0" * after).decode()
            # The first and the last characters also depend on the bytes around the value.
            yield groups[(0, 2, 3)[before] : len(groups) - (0, 2, 3)[after]]


def environment_secrets(variables: Mapping[str, str]) -> frozenset[str]:
    """Return the values of variables that are a secret.

    A repository may set variables, and a command must not be hidden because one of them has the same value:
    only a value that is one credential counts, and no variable that is known to be a repository's.
    """
    foreign = variables.get(FOREIGN, "").split(",")
    return frozenset(
        value
        for name, value in variables.items()
        if len(value) >= _SHORTEST_SECRET
        and name not in foreign
        and ANY_VARIABLE not in foreign
        and is_credential(value, name)
        and (names_a_secret(name) or is_secret(value))
    )


def hidden(secret: str) -> str:
    """Return what is shown in place of a secret: its length."""
    return f"{HIDDEN}({len(secret)} characters)"


def redact_url(url: str) -> str:
    """Hide the user and password of a URL, and possible secrets in its path, query and fragment."""
    plain = re.sub(_USER_INFO, f"{HIDDEN}@", url)
    plain = re.sub(_PATH, lambda match: match[1] + _parts(match[2]), plain)
    return re.sub(_PARAMETER, _parameter, plain)


def _value(value: str, name: str) -> str:
    if "://" in value:
        return redact_url(value)
    if not re.fullmatch(_PLAIN, value):
        return redact(value, secrets_in(value, name))
    return HIDDEN if names_a_secret(name) else _parts(value)


def _parts(text: str) -> str:
    return re.sub(_PART, _part, text)


def _part(match: re.Match[str]) -> str:
    """Hide one part of a path; an `@` starts a version, which is checked separately."""
    part = match[0]
    return HIDDEN if (is_secret if part.startswith("@") else may_be_secret)(part) else part


def _parameter(match: re.Match[str]) -> str:
    mark, name, value = match.groups()
    if value is None:
        return mark + (HIDDEN if is_secret(name) else name)
    return f"{mark}{name}={_value(value, name)}"
