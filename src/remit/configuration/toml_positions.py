"""Finds the positions of keys in TOML text, which `tomllib` does not report.

Only text that `tomllib` has parsed is scanned, so it is valid TOML.
"""

import re
from collections.abc import Iterator

from remit.configuration.config_model import KEY_SEPARATOR, KeyPath

_MOST = 5000  # keys

_KEY = r"[A-Za-z0-9_-]+|\"(?:\\.|[^\"\\])*\"|'[^']*'"
_KEY_PATH = re.compile(rf"(?:{_KEY})(?:[ \t]*\.[ \t]*(?:{_KEY}))*")
_ONE_KEY = re.compile(_KEY)
_STRING = re.compile(
    r'"""(?:\\.|(?!""").)*"{3,5}|\'\'\'(?:(?!\'\'\').)*\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'', re.DOTALL
)
_QUOTES = re.compile(r'"""\n?|\'\'\'\n?|"|\'')
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)")
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b"}


def positions(text: str) -> dict[str, list[int]]:
    """Return the line and column of each key, and of the content of its value, from 1."""
    starts = [0, *(at + 1 for at, sign in enumerate(text) if sign == "\n")]
    found: dict[str, list[int]] = {}
    for path, at, value in _Scanner(text).places():
        found.setdefault(KEY_SEPARATOR.join(path), [*_place(starts, at), *_place(starts, value)])
        if len(found) >= _MOST:
            break
    return found


def _place(starts: list[int], at: int) -> tuple[int, int]:
    low, high = 0, len(starts)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if starts[middle] <= at else (low, middle)
    return low + 1, at - starts[low] + 1


class _Scanner:
    """Scans a text once, key by key."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._open: list[KeyPath | None] = []  # inline tables by path, and lists as None

    def places(self) -> Iterator[tuple[KeyPath, int, int]]:
        header: KeyPath = ()
        is_key_next = True
        while self._at < len(self._text):
            sign = self._text[self._at]
            if is_key_next and sign == "[" and not self._open:
                start, header = self._header()
                yield header, start, start
                is_key_next = False
            elif is_key_next and (name := _KEY_PATH.match(self._text, self._at)):
                path = (*(self._table() or header), *_names(name[0]))
                self._at = self._text.find("=", name.end()) + 1 or len(self._text)
                self._skip(" \t")
                yield path, name.start(), self._inside_value()
                is_key_next = self._begin_value(path)
            else:
                is_key_next = self._step(sign, is_key_next)

    def _header(self) -> tuple[int, KeyPath]:
        self._skip("[ \t")
        name = _KEY_PATH.match(self._text, self._at)
        start = self._at
        self._at = name.end() if name else self._at + 1
        self._skip("] \t")
        return start, _names(name[0]) if name else ()

    def _table(self) -> KeyPath | None:
        return next((path for path in reversed(self._open) if path is not None), None)

    def _begin_value(self, path: KeyPath) -> bool:
        """Enter an inline table; return whether a key comes next."""
        if self._text[self._at : self._at + 1] == "{":
            self._at += 1
            self._open.append(path)
            return True
        return False

    def _inside_value(self) -> int:
        quotes = _QUOTES.match(self._text, self._at)
        return quotes.end() if quotes else self._at

    def _step(self, sign: str, is_key_next: bool) -> bool:
        """Skip one token that is not a key; return whether a key comes next."""
        if sign == "#":
            end = self._text.find("\n", self._at)
            self._at = end if end >= 0 else len(self._text)
            return is_key_next
        if string := _STRING.match(self._text, self._at):
            self._at = string.end()
            return False
        self._at += 1
        if sign in "[{":
            self._open.append(self._table() if sign == "{" else None)
        elif sign in "]}" and self._open:
            self._open.pop()
        is_in_table = bool(self._open) and self._open[-1] is not None
        if sign == "\n":
            return not self._open or (is_key_next and is_in_table)
        return (sign in "{," and is_in_table) or (is_key_next and sign in " \t\r")

    def _skip(self, signs: str) -> None:
        while self._text[self._at : self._at + 1] and self._text[self._at] in signs:
            self._at += 1


def _names(path: str) -> KeyPath:
    return tuple(map(_name, _ONE_KEY.findall(path)))


def _name(key: str) -> str:
    if key.startswith("'"):
        return key[1:-1]
    return _ESCAPE.sub(_unescaped, key[1:-1]) if key.startswith('"') else key


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPES.get(code, code)
