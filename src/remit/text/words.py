"""Splits identifiers into words, and lists stop words."""

import re

_LOWER_UPPER = re.compile(r"([a-z0-9])([A-Z])")
_UPPER_WORD = re.compile(r"(?<![A-Z])([A-Z]+)([A-Z][a-z])")
# SQLite treats a few characters as separators that Python treats as letters.
_NOT_WORD = re.compile(r"[\W_\u19b0-\u19c0\u19c8\u19c9\u1cf2\u1cf3]+")
# Verbs that occur in tool names ("get", "find", "show", "make", "list") are not stop words.
_STOP_WORDS = """
    a an the this that these those some any such each every both all there here
    i me my mine myself we us our ours you your yours he him his she her hers it its they them their theirs
    someone something anyone anything everyone everything one ones
    of in on at to from by for with without about into onto over under between through during before after
    above below against within across near per as than via upon toward towards among
    and or but nor so if then else because while although though
    am is are was were be been being do does did doing done have has had having
    can could may might must shall should will would ll ve re s t d m don doesn didn isn aren won
    what which who whom whose when where why how
    please thanks thank hi hello hey kindly
    want need like just also too very really some only own same other another more most
    up out off down again not no yes
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


def split(identifier: str) -> str:
    """Split an identifier into words: `listDBIndexes_v2` becomes `list DB Indexes v2`."""
    spaced = _UPPER_WORD.sub(r"\1 \2", _LOWER_UPPER.sub(r"\1 \2", identifier))
    return _NOT_WORD.sub(" ", spaced).strip()
