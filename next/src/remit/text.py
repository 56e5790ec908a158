"""Text: JSON values, times, spelling, words, tokens, and what strangers wrote made fit to read."""

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from math import ceil
from typing import Any, NamedTuple, cast
from unicodedata import category


def as_object(value: object) -> dict[str, Any]:
    """Return a raw JSON object as a dict; any other value becomes an empty one."""
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    if value is None:  # the usual other value, and the check below takes longer
        return {}
    return dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else {}


def as_list(value: object) -> list[Any]:
    """Return a raw JSON array as a list; any other value becomes an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


Clock = Callable[[], int]  # Unix milliseconds


def local_time(milliseconds: int, shape: str = "%Y-%m-%d %H:%M") -> str:
    """Write a time for a person: to the minute, in their time zone."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000).astimezone().strftime(shape)
    except (ValueError, OverflowError, OSError):
        return str(milliseconds)


def moment(milliseconds: int, timespec: str = "milliseconds") -> str:
    """Write a time for a program: in UTC, by ISO 8601."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec=timespec)
    except (ValueError, OverflowError, OSError):
        return str(milliseconds)


def day(milliseconds: int) -> str:
    """Write a date, in UTC."""
    return moment(milliseconds).partition("T")[0]


MOST_SUGGESTIONS = 3
_SHORT = 4  # letters; one of fewer makes another word
_MAX_LENGTH = 60  # longest name that is compared


def nearest(wanted: str, known: Iterable[str]) -> list[str]:
    """List names that are spelled similarly, nearest first, ignoring case."""
    found = ((spelling_distance(wanted, each), each) for each in set(known))
    near = sorted((distance, each) for distance, each in found if distance is not None)
    return [each for _, each in near[:MOST_SUGGESTIONS]]


def did_you_mean(wanted: str, known: Iterable[str]) -> str | None:
    """Return a did-you-mean question if a known name is spelled similarly."""
    return as_question(nearest(wanted, known))


def as_question(names: Sequence[str]) -> str | None:
    """Return a did-you-mean question about names; None without any."""
    return f"did you mean {' or '.join(f'`{each}`' for each in names)}?" if names else None


def spelling_distance(wanted: str, known: str) -> int | None:
    """Return the edit distance between two words, ignoring case; None if they are not similar.

    Two neighboring letters in the wrong order count as one edit. Of a short word, the first must be right.
    """
    one, other = wanted.lower()[:_MAX_LENGTH], known.lower()[:_MAX_LENGTH]
    limit = max(1, len(one) // 4)
    if abs(len(other) - len(one)) > limit or (len(one) < _SHORT and one[:1] != other[:1]):
        return None
    older: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one):
        newer = [at + 1]
        for to, its in enumerate(other):
            edits = min(row[to + 1] + 1, newer[to] + 1, row[to] + (letter != its))
            if at and to and (letter, its) == (other[to - 1], one[at - 1]):
                edits = min(edits, older[to - 1] + 1)
            newer.append(edits)
        older, row = row, newer
        if min(*older, *row) > limit:  # it never falls again
            return None
    return row[-1] if row[-1] <= limit else None


_LOWER_UPPER = re.compile(r"([a-z0-9])([A-Z])")
_UPPER_WORD = re.compile(r"(?<![A-Z])([A-Z]+)([A-Z][a-z])")
# SQLite treats a few characters as separators that Python treats as letters.
_NOT_WORD = re.compile(r"[\W_\u19b0-\u19c0\u19c8\u19c9\u1cf2\u1cf3]+")
# Verbs that occur in tool names ("get", "find", "show", "make", "list") are not stop words.


def split(identifier: str) -> str:
    """Split an identifier into words: `listDBIndexes_v2` becomes `list DB Indexes v2`."""
    spaced = _UPPER_WORD.sub(r"\1 \2", _LOWER_UPPER.sub(r"\1 \2", identifier))
    return _NOT_WORD.sub(" ", spaced).strip()


LONGEST_TEXT = 20_000  # characters of one description; the longest of 2,189 real tools has 13,086
_KEPT = "\n\t"
_BREAKS = "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
# Control, format (bidirectional, zero-width, tags), surrogate and line-separating characters.
_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Blank, but letters, marks or symbols to Unicode: fillers, joiners, variation selectors, the blank pattern.
_BLANK = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xFFA0, 0xFFA0),
    (0xE0100, 0xE01EF),
)
_JOINERS = "\u200c\u200d"
# Persian, Indic scripts and emoji need joiners; everywhere else they only hide something.
_JOINED = "[\u0600-\u1fff\u2600-\u27bf\ufe0f\U0001f000-\U0001faff]"
_STRAY_JOINER = f"(?<!{_JOINED})[{_JOINERS}]|[{_JOINERS}](?!{_JOINED})"


def clean(text: str, most: int = LONGEST_TEXT) -> str:
    """Remove characters that are invisible, change the direction of text or control a terminal.

    A text that is too long is cut, with a mark that says so.
    """
    if hidden := set(filter(is_invisible, set(text))):
        breaks = {ord(char): "\n" if char in _BREAKS else None for char in hidden.difference(_JOINERS)}
        text = text.replace("\r\n", "\n").translate(breaks)
        text = re.sub(_STRAY_JOINER, "", text) if hidden.intersection(_JOINERS) else text
    return text if len(text) <= most else f"{text[:most]}… [cut by Remit: {len(text):,} characters]"


def one_line(text: str, most: int) -> str:
    """Return a text as a single line of printable characters, shortened if needed.

    Descriptions come from servers, so a line break must not start a new section.
    """
    plain = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return plain if len(plain) <= most else plain[: most - 1].rstrip() + "…"


def fence(source: str, text: str, most: int = LONGEST_TEXT) -> str:
    """Quote a text after its source; each line has a mark, so no line can end the quote or pose as ours."""
    lines = clean(text, most).strip().splitlines()
    return "\n".join([f"{source}:", *(f"> {line}".rstrip() for line in lines)])


def attribute(source: str, text: str) -> str:
    """Put a source before a text; a text of several lines is fenced."""
    plain = clean(text).strip()
    return fence(source, plain) if "\n" in plain else f"{source}: {plain}"


def make_visible(text: str) -> str:
    """Escape every character that a person cannot see or that moves others, and change nothing else."""
    return "".join(char if char.isprintable() and not _is_blank(char) else _escaped(char) for char in text)


@cache
def is_invisible(char: str) -> bool:
    """Return whether `clean` removes a character or replaces it with a line break."""
    return char not in _KEPT and (category(char) in _CATEGORIES or _is_blank(char))


def _is_blank(char: str) -> bool:
    code = ord(char)
    return code > 127 and any(first <= code <= last for first, last in _BLANK)


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


PER_RUN = 0.9
PER_BYTE = 0.04
PER_EXTRA_BYTE = 0.4

# Translating and splitting bytes is several times faster than a regular expression.
_WORD = frozenset(byte for byte in range(256) if byte > 127 or chr(byte).isalnum())
_WORDS = bytes(byte if byte in _WORD else 32 for byte in range(256))
_MARKS = bytes(byte if 32 < byte < 127 and byte not in _WORD else 32 for byte in range(256))


def estimate(text: str) -> int:
    """Estimate the number of tokens in a text."""
    data = text.encode(errors="replace")
    runs = len(data.translate(_WORDS).split()) + len(data.translate(_MARKS).split())
    return ceil(PER_RUN * runs + PER_BYTE * len(data) + PER_EXTRA_BYTE * (len(data) - len(text)))


def definition_tokens(name: str, description: str | None = None, input_schema: str | None = None) -> int:
    """Estimate the tokens of a tool: its definition, or a single line if it has no schema.

    Skills, commands and subagents cost one line, because their bodies load only when used.
    """
    if input_schema is None:
        return estimate(f"- {name}: {description or ''}")
    head = _write({"name": name, "description": description or ""})
    return estimate(f'{head[:-1]},"input_schema":{_compact(input_schema)}}}')


def name_tokens(names: Iterable[str]) -> int:
    """Estimate the tokens of a list of names, which has one line for each."""
    return estimate("".join(f"{name}\n" for name in names))


def _compact(schema: str) -> str:
    """Serialize JSON as clients send it, without extra spaces and escapes."""
    if '": ' not in schema and "\\u" not in schema:
        return schema
    return _write(json.loads(schema))


def _write(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class Section(NamedTuple):
    """A section of a text; the section with the lowest `keep` is dropped first."""

    text: str
    keep: int


def assemble(sections: Sequence[Section], *, budget: int = sys.maxsize, tokens: int = sys.maxsize) -> str:
    """Join sections, dropping whole sections until the rest fits the budget."""
    kept = [section for section in sections if section.text]
    while len(text := "\n\n".join(section.text for section in kept)) > budget or estimate(text) > tokens:
        kept.remove(min(kept, key=lambda section: section.keep))
    return text


def plural(count: int, noun: str, many: str | None = None) -> str:
    """Write a count with its noun: `1 tool`, `2 tools`."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def rounded(tokens: int) -> int:
    """Round an estimate to two digits, because more would promise too much."""
    digits = len(str(abs(tokens))) - 2
    return round(tokens, -digits) if digits > 0 else tokens
