"""Splits the text of a condition into tokens."""

import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

from remit.errors import ConditionError
from remit.files.json_positions import position

MAX_LENGTH = 4096


class TokenKind(Enum):
    """The kind of a token."""

    NAME = auto()
    STRING = auto()
    INT = auto()
    DOUBLE = auto()
    SIGN = auto()
    END = auto()


class Token(NamedTuple):
    """A token and its position in the text."""

    sort: TokenKind
    text: str
    at: int


# The alternatives are unambiguous, so matching takes linear time.
_TOKEN = re.compile(
    r"([ \t\n\f\r]+)"
    r"|([A-Za-z_][A-Za-z0-9_]*)"
    r"|([0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    r"|(0x[0-9a-fA-F]+|[0-9]+)"
    r"|('(?:[^'\\\n\r]|\\[^\n\r])*'|\"(?:[^\"\\\n\r]|\\[^\n\r])*\")"
    r"|(\|\||&&|==|!=|<=|>=|[!<>()\[\].,-])"
)
_SORTS = (
    TokenKind.END,
    TokenKind.END,
    TokenKind.NAME,
    TokenKind.DOUBLE,
    TokenKind.INT,
    TokenKind.STRING,
    TokenKind.SIGN,
)  # the kind of each group of `_TOKEN`
_SPACE = 1
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|X([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))"
)
_SINGLE = {
    **dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True)),
    **{sign: sign for sign in "\\'\"`?"},
}
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_HINTS = {
    "=": "write `==`",
    "&": "write `&&`",
    "|": "write `||`",
    "'": "end the text with `'` on the same line",
    '"': 'end the text with `"` on the same line',
    "`": "write `a['b-c']` for a member whose name is not a word",
    "?": "write conditions with `&&` and `||`",
    "{": "compare members one by one",
    **dict.fromkeys("+*/%", "conditions compare; they do not calculate"),
}


def error(text: str, at: int, message: str, hint: str | None = None) -> ConditionError:
    """Build an error at a position in a text."""
    line, column = position(text, at)
    return ConditionError(message, line=line, column=column, hint=hint)


def tokens(text: str) -> Iterator[Token]:
    """Split a text into tokens; the last one is the end token.

    Raises:
        ConditionError: the text is too long or has an unknown character.
    """
    if len(text) > MAX_LENGTH:
        raise error(text, MAX_LENGTH, f"the condition is longer than {MAX_LENGTH} characters")
    if control := _CONTROL.search(text):
        raise error(text, control.start(), f"the character U+{ord(control[0]):04X} is not allowed here")
    at = 0
    for found in _TOKEN.finditer(text):
        if found.start() != at:
            break
        at = found.end()
        if found.lastindex != _SPACE:
            yield Token(_SORTS[found.lastindex or 0], found[0], found.start())
    if at < len(text):
        raise error(text, at, f"`{text[at]}` is not valid here", _HINTS.get(text[at]))
    yield Token(TokenKind.END, "", at)


def unquote(token: Token, text: str) -> str:
    """Return the value of a string token.

    Raises:
        ConditionError: the string has an invalid escape.
    """

    def replaced(found: re.Match[str]) -> str:
        *codes, octal, single = found.groups()
        code = next(filter(None, codes), None)
        if single in _SINGLE:
            return _SINGLE[single]
        number = int(code, 16) if code else int(octal, 8) if octal else -1
        if 0 <= number < 0xD800 or 0xDFFF < number <= 0x10FFFF:
            return chr(number)
        raise error(
            text, token.at + 1 + found.start(), f"`{found[0]}` is not an escape", "write `\\\\` for `\\`"
        )

    return _ESCAPE.sub(replaced, token.text[1:-1])
