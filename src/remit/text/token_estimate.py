"""Estimates the tokens that a tool costs in every request of a client.

It uses no tokenizer. A run of letters and digits, or of punctuation, is about one token; long runs are more,
and so is every extra byte of a multi-byte character. `bench/tokens.py` compares these weights with real
tokenizers on real definitions.
"""

import json
from collections.abc import Iterable
from math import ceil

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
