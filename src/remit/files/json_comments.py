"""Replaces comments and trailing commas in JSON with spaces, so positions stay the same."""

import re

_STRING = r'"(?:\\.|[^"\\])*+"?'
_STRINGS = re.compile(f"({_STRING})", re.DOTALL)
# Matches everything to keep, strings included, in one step, then a comment if there is one.
_COMMENT = re.compile(rf'((?:[^"/]++|{_STRING}|/(?![/*]))*+)(//[^\n]*|/\*.*?(?:\*/|\Z))?', re.DOTALL)
_VISIBLE = re.compile(r"[^\r\n]+")
_TRAILING_COMMA = re.compile(r",(?=\s*[\]}])")


def without_comments(text: str) -> str:
    """Replace comments with spaces, keeping every position."""
    return _COMMENT.sub(_blank, text)


def without_trailing_commas(text: str) -> str:
    """Replace trailing commas with spaces, in a text without comments."""
    parts = _STRINGS.split(text)  # odd parts are strings
    parts[::2] = [_TRAILING_COMMA.sub(" ", part) for part in parts[::2]]
    return "".join(parts)


def _blank(match: re.Match[str]) -> str:
    kept, comment = match[1], match[2] or ""
    if "\n" in comment or "\r" in comment:
        return kept + _VISIBLE.sub(_spaces, comment)
    return kept + " " * len(comment)


def _spaces(match: re.Match[str]) -> str:
    return " " * len(match[0])
