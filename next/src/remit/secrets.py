"""Recognizes secrets in text by their form and name, and hides them."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

_MAX_SHOWN = 100
_JUDGED = 256  # characters checked per value

# Patterns are compiled on first use, because most commands have nothing to check.

# Formats of known services' secrets, anywhere in a text.
_SHAPES = r"""(?x)
    (?<![A-Za-z0-9])(?:
        gh[a-z]_\w{20,} | github_pat_\w{20,} | gl[a-z]{2,4}-[\w-]{16,} | glsa_\w{20,}
      | sk-[\w-]{20,} | [rs]k_(?:live|test)_\w{16,} | whsec_\w{16,}
      | xox[a-z]-[\w-]{10,} | xapp-[\w-]{10,} | (?:AKIA|ASIA)[0-9A-Z]{16} | AIza[\w-]{30,} | ya29\.[\w-]{20,}
      | (?P<web_token>eyJ[\w-]{8}) | hf_\w{20,} | npm_\w{30,} | pypi-[\w-]{30,} | do[opr]_v1_\w{30,}
      | SG\.[\w-]{16,}\.[\w-]{16,} | ntn_\w{20,} | secret_\w{30,} | lin_api_\w{20,} | fig[dor]_[\w-]{20,}
      | tvly-[\w-]{16,} | fc-\w{20,} | shp[a-z]{2}_\w{20,} | dckr_pat_[\w-]{16,} | sntr[a-z]{2}_[\w=+/.-]{20,}
      | gsk_\w{20,} | xai-\w{20,} | pplx-\w{20,} | r8_\w{20,} | ATATT[\w=-]{20,} | PMAK-[\w-]{20,}
      | dapi[0-9a-f]{30,} | pat[A-Za-z0-9]{14}\.[0-9a-f]{30,} | pat-[a-z]{2}\d-[0-9a-f-]{30,}
    )
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----[^-]{20,}
"""
_REFERENCE = r"\$\{\{|\$\{|\{(?:env|file):"  # the start of a reference
_SCHEME = r"(?i)^\s*(?:bearer|basic|token|bot|apikey|api-key|key)\s+"
_CREDENTIAL = r"(?i)\b(?:bearer|basic)\s+([\w.~+/=-]+)"
# A lookahead, because the value may contain the next pair, as in `url=https://mcp.test/?token=...`.
_VALUE = r"[^\s;&,\"'}]"
_PAIR = rf"(?<![\w.-])([\w.-]++)[\"']?+\s*+[=:]\s*+[\"']?+(?=({_VALUE}{{1,{_JUDGED}}}+))"
_USERINFO = r"(?<![\w+.-])([\w+.-]++)://([^/?#\s@:]*+)(?::([^/?#\s@]*+))?+@"
_SEGMENT = r"(?<=/)[\w=-]{40,}(?=[/?#]|$)"
# Whole values: no spaces, separators of paths or signs of a shell, which a command or an address would have.
_CREDENTIAL_WORD = r"[\w+=~-]+|[A-Za-z0-9+/]{24,}={0,2}|(?:eyJ|SG\.)[\w.-]+"
_SINGLE_WORD = r"[^\s/\\:$`'\"|;<>(){}]+"
_PLACEHOLDER = (
    r"(?i)<[^<>]*>|\[[^\[\]]*\]|\byour|your[-_ ]|[-_ ]here\b|x{4,}|^x+$|\*{3,}|\.{3}|…|^\$\w+$|%\w+%"
    r"|change[-_ ]?(me|it|this)|place[-_ ]?holder|example|replace|redacted|dummy|foobar|sample|fake|todo"
    r"|insert[-_ ]|enter[-_ ]|\bmy[-_ ]|123456|abcdef|0{6}"
    r"|^(none|null|undefined|tbd|test|string|true|false|yes|no|on|off)$"
)
_PATH = (
    r"\.{0,2}[\\/]\S*[\\/]|\.{1,2}[\\/]|~|[A-Za-z]:[\\/]"
    r"|\S[^\s\\/]*[\\/]\S+\.\w{1,5}$|\S+\.(pem|key|json|txt)$"
)
_URL = r"[A-Za-z][\w+.-]*://"
_WORD = r"[A-Za-z]{1,16}\d{0,2}|v?\d{1,4}|\d{8}"

_NAME_WORDS = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+"
_KEYS = (
    r"token|secret|key|apikey|credential|credentials|pat|auth|authorization|bearer|jwt|authtoken"
    r"|accesstoken|accesskey|secretkey|privatekey|signature|sig|cookie"
)
_PASSWORDS = r"[a-z]*(?:password|passwd|passphrase)|pwd|pass"
_HARMLESS = (  # words that mark a key or token as not secret
    r"public|publishable|site|file|sort|cache|partition|primary|foreign|project|object|bucket|storage"
    r"|space|idempotency|issue|page|next|continuation|design"
)
_ABOUT = (  # `KEY_FILE`: the last word describes a secret but is not one
    r"file|path|dir|folder|url|uri|host|server|provider|name|type|method|mode|sock"
    r"|command|cmd|script|program|helper"
)
_KNOWN_PASSWORDS = (
    r"password|passwd|pass|pw|secret|postgres|root|admin|user|username|guest|mysql|neo4j|test|dev|local"
    r"|minio|minioadmin|redis|mongo|sa"
)
_ASSIGNMENT = r"(?s)((-{0,2}[A-Za-z_][\w.-]*)=)([^=].*)"  # excludes base64 padding `==`


class Word(NamedTuple):
    """A word of a command."""

    prefix: str  # `--token=` or `TOKEN=`
    name: str  # the option or variable that the value is assigned to, if any
    value: str


def words_of(command: Iterable[str]) -> Iterator[Word]:
    """Split a command into words, each with the option or variable it is assigned to."""
    option = ""
    for word in command:
        pair = None if names_a_secret(option) else re.fullmatch(_ASSIGNMENT, word)
        yield Word(pair[1], pair[2], pair[3]) if pair else Word("", option, word)
        option = word.lstrip("-") if word.startswith("-") and "=" not in word else ""


def is_secret(value: str, name: str = "") -> bool:
    """Return whether a value contains a secret, given the name of its variable, header or option."""
    return any(True for _ in secrets_in(value, name))


def secrets_in(value: str, name: str = "") -> Iterator[str]:
    """List the parts of a value that are secrets."""
    plain = _resolved(_resolved(value)).strip()
    for text in dict.fromkeys((plain, value.strip())):  # braces around a secret do not make it a reference
        yield from filter(_is_random, _shaped(text))
    yield from (match[1] for match in re.finditer(_CREDENTIAL, plain) if _is_hard_to_guess(match[1]))
    if name and _is_given_to(name, whole := re.sub(_SCHEME, "", plain)):
        yield whole
    yield from _paired(plain)
    yield from _in_url(plain)


def is_credential(value: str, name: str = "") -> bool:
    """Return whether a whole value is one credential, and cannot be a path, an address or a command."""
    plain = re.sub(_SCHEME, "", value.strip())
    if re.fullmatch(_PASSWORDS, _name_words(name)[-1]):
        return re.fullmatch(_SINGLE_WORD, plain) is not None and _is_password(plain)
    return re.fullmatch(_CREDENTIAL_WORD, plain) is not None and _is_hard_to_guess(plain)


def names_a_secret(name: str) -> bool:
    """Return whether a variable, header, option or parameter with this name may contain a secret."""
    words = _name_words(name)
    is_about = re.fullmatch(_ABOUT, words[-1]) is not None
    return not is_about and any(
        (re.fullmatch(_KEYS, word) or re.fullmatch(_PASSWORDS, word)) and not re.fullmatch(_HARMLESS, kind)
        for kind, word in pairwise(words)
    )


def may_be_secret(value: str, name: str = "") -> bool:
    """Return whether a value must not be shown, because it is a secret or looks like one."""
    return is_secret(value, name) or names_a_secret(name) or _looks_random(value)


def shown(word: str) -> str | None:
    """Return a word of a command for display; None if it may be a secret or is not a plain word."""
    is_plain = len(word) <= _MAX_SHOWN and re.fullmatch(r"[\w@./\\:+~ -]+", word)
    return word if is_plain and not may_be_secret(word) else None


def _resolved(text: str) -> str:
    """Replace each reference with its default, which is usually empty."""
    if "{" not in text:
        return text
    kept: list[str] = []
    at = 0
    closing, both, line = (_Ahead(text, sign) for sign in ("}", "}}", "\n"))
    for reference in re.finditer(_REFERENCE, text):
        start, inside = reference.span()
        if start < at:
            continue  # inside the previous reference
        default = ""
        if reference[0] == "${{" and both.after(inside) < line.after(inside):
            end = both.after(inside) + 1
        else:
            end = closing.after(start + 2)
            if reference[0].startswith("$"):
                default = text[start + 2 : end].partition(":-")[2]
        if end == len(text):
            break
        kept += (text[at:start], default)
        at = end + 1
    return "".join((*kept, text[at:]))


class _Ahead:
    """Finds the next occurrence of a substring, scanning the text only once for increasing positions."""

    def __init__(self, text: str, sign: str) -> None:
        self._text = text
        self._sign = sign
        self._at = -1

    def after(self, start: int) -> int:
        """Return the next position; the length of the text if there is none."""
        if self._at < start:
            found = self._text.find(self._sign, start)
            self._at = len(self._text) if found < 0 else found
        return self._at


def _shaped(text: str) -> Iterator[str]:
    """List the parts of a text that have the format of a secret."""
    shapes, at, run = re.compile(_SHAPES), 0, 0
    while found := shapes.search(text, at):
        start, at = found.span()
        if found["web_token"]:
            run = run if at <= run else _end(r"[\w-]*", text, at)
            at = _end(r"\.[\w-]{8,}", text, run)
            if at == run:  # a web token has at least two parts
                at = start + 1
                continue
        yield text[start:at]


def _end(pattern: str, text: str, start: int) -> int:
    match = re.compile(pattern).match(text, start)
    return start if match is None else match.end()


def _paired(text: str) -> Iterator[str]:
    """List the secrets in a text that are assigned to a name."""
    known = 0  # end of the last long value
    for match in re.finditer(_PAIR, text):
        name, value = match.groups()
        start = match.end()
        is_long = len(value) == _JUDGED
        if (is_long and start < known) or not _is_given_to(name, value):
            continue
        if is_long:
            known = _end(f"{_VALUE}*", text, start)
            value = text[start:known]
        yield value


def _name_words(name: str) -> list[str]:
    return ["", "", *(word.lower() for word in re.findall(_NAME_WORDS, name))]


def _is_given_to(name: str, value: str) -> bool:
    """Return whether a value is a secret, judging by the name it is assigned to."""
    *_, kind, word = _name_words(name)
    if re.fullmatch(_HARMLESS, kind) or re.match(_URL, value):
        return False
    if re.fullmatch(_PASSWORDS, word):
        return _is_password(value)
    return re.fullmatch(_KEYS, word) is not None and _is_hard_to_guess(value)


def _is_password(value: str, user: str = "") -> bool:
    is_known = re.fullmatch(_KNOWN_PASSWORDS, value.lower()) or value == user
    return (
        len(value) >= 4 and not is_known and not re.search(_PLACEHOLDER, value) and not re.match(_PATH, value)
    )


def _is_hard_to_guess(value: str) -> bool:
    is_one = len(value) >= 12 and not re.search(r"\s", value)
    return is_one and not re.match(_PATH, value) and _is_random(value)


def _is_random(value: str) -> bool:
    """Return whether a value is more than words and numbers, and not a placeholder."""
    start = value[:_JUDGED]
    pieces = [piece for piece in re.split(r"[^A-Za-z0-9]+", start) if piece]
    is_words = all(re.fullmatch(_WORD, piece) for piece in pieces)
    return not is_words and not re.search(_PLACEHOLDER, start) and re.search(r"[A-Za-z]", start) is not None


def _looks_random(word: str) -> bool:
    pieces = re.findall(r"[A-Za-z0-9]{16,}", word)
    return any(re.search(r"\d", piece) and re.search(r"[A-Za-z]", piece) for piece in pieces) or any(
        _is_mixed(run) and _is_random(run) for run in re.findall(r"[\w+=-]{20,}", word)
    )


def _is_mixed(text: str) -> bool:
    return all(re.search(kind, text) for kind in ("[a-z]", "[A-Z]", "[0-9]"))


def _in_url(text: str) -> Iterator[str]:
    for match in re.finditer(_USERINFO, text):
        scheme, user, password = match.groups()
        if not re.search(r"[A-Za-z]", scheme):
            continue
        if _is_password(password, user) if password else len(user) >= 16 and _is_random(user):
            yield password or user
    yield from filter(_is_mixed, re.findall(_SEGMENT, text) if re.match(_URL, text) else ())


HIDDEN = "***"
_SHORTEST_SECRET = 8  # shorter ones are part of ordinary words
_SHORTEST = 4  # shorter values are not secrets and occur in ordinary words

_PLAIN = r"[A-Za-z0-9_+/=.:~@%-]+"  # all other words are checked
_PART = r"@?(?:sha\d+:)?[^/\\@:]+"
_USER_INFO = r"(?<=://)[^/?#\s]+@"
_URL_PATH = r"(://[^/?#\s]*)(/[^?#\s]*)"
_PARAMETER = r"([?&#;])([^=&#;\s]+)(?:=([^&#;\s]*))?"


def redact(text: str, values: Iterable[str]) -> str:
    """Hide values in a text, whole or line by line, longest first."""
    return redactor(values)(text)


def redactor(values: Iterable[str]) -> Callable[[str], str]:
    """Return what hides values in many texts."""
    parts = {part for value in values for part in (value, *value.splitlines()) if len(part) >= _SHORTEST}
    ordered = sorted(parts, key=len, reverse=True)

    def redacted(text: str) -> str:
        for part in ordered:
            text = text.replace(part, HIDDEN)
        return text

    return redacted


def environment_secrets(variables: Mapping[str, str]) -> frozenset[str]:
    """Return the values of variables that are one credential, so that no ordinary word is hidden."""
    return frozenset(
        value
        for name, value in variables.items()
        if len(value) >= _SHORTEST_SECRET
        and is_credential(value, name)
        and (names_a_secret(name) or is_secret(value))
    )


def hidden(secret: str) -> str:
    """Return what is shown in place of a secret: its length."""
    return f"{HIDDEN}({len(secret)} characters)"


def redact_url(url: str) -> str:
    """Hide the user and password of a URL, and possible secrets in its path, query and fragment."""
    plain = re.sub(_USER_INFO, f"{HIDDEN}@", url)
    plain = re.sub(_URL_PATH, lambda match: match[1] + _parts(match[2]), plain)
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
