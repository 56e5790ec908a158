"""JSON as people write it: with comments and trailing commas, which are blanked so that all else keeps its
place.
"""

import re

_STRING = r'"(?:\\.|[^"\\])*+"?'
_STRINGS = re.compile(f"({_STRING})", re.DOTALL)
# Takes all that is to stay, strings above all, in one step, and then a comment, if one is left.
_COMMENT = re.compile(rf'((?:[^"/]++|{_STRING}|/(?![/*]))*+)(//[^\n]*|/\*.*?(?:\*/|\Z))?', re.DOTALL)
_TRAILING_COMMA = re.compile(r",(?=\s*[\]}])")


def without_comments(text: str) -> str:
    """Blank comments; every other character stays where it is."""
    return _COMMENT.sub(_blank, text)


def without_trailing_commas(text: str) -> str:
    """Blank commas before a closing bracket, in a text without comments."""
    parts = _STRINGS.split(text)  # the strings are every other one
    parts[::2] = [_TRAILING_COMMA.sub(" ", part) for part in parts[::2]]
    return "".join(parts)


def _blank(match: re.Match[str]) -> str:
    return match[1] + re.sub(r"[^\r\n]", " ", match[2] or "")
