"""Texts of JSON and TOML files as many people and programs would write them, from a seed."""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# The contents of files have any shape.

import json
import random
from collections.abc import Mapping
from typing import Any


class JsonHand:
    """Writes JSON with somebody's indent, line ends, comments and commas."""

    def __init__(self, chance: random.Random, *, is_lenient: bool) -> None:
        self.chance = chance
        self.is_lenient = is_lenient
        self.newline = chance.choice(("\n", "\r\n"))
        self.unit = chance.choice(("  ", "    ", "\t", " ", ""))
        self.is_spread = chance.random() < 0.6
        self.space = chance.choice((" ", ""))

    def text(self, value: object) -> str:
        mark, end = self.chance.choice(("", "\ufeff")), self.chance.choice(("", self.newline, "  "))
        return mark + self._value(value, 0) + end

    def _value(self, value: Any, depth: int) -> str:
        if isinstance(value, dict):
            opening, closing = "{}"
            pairs = ((f"{json.dumps(key)}:{self.space}", item) for key, item in value.items())
        elif isinstance(value, list):
            opening, closing = "[]"
            pairs = (("", item) for item in value)
        else:
            return json.dumps(value, ensure_ascii=self.chance.random() < 0.5)
        parts = [key + self._value(item, depth + 1) for key, item in pairs]
        is_spread = self.is_spread and self.chance.random() < 0.9
        inner = self.newline + self.unit * (depth + 1) if is_spread else ""
        outer = self.newline + self.unit * depth if is_spread else ""
        written = ""
        for at, part in enumerate(parts):
            is_last = at + 1 == len(parts)
            comma = "" if is_last and not self._happens(0.3) else ","
            written += self._remark(inner) + inner + part + self._remark(inner) + comma
            written += self._remark(inner) + ("" if is_last or is_spread else self.space)
        return opening + written + (outer if parts else self._remark(inner)) + closing

    def _remark(self, inner: str) -> str:
        if not self._happens(0.15):
            return ""
        number = self.chance.randrange(1000)
        if self.chance.random() < 0.5:
            return f" // see {number}, {{here}}" + self.newline
        return f"{inner}/* [so {number}], */"

    def _happens(self, probability: float) -> bool:
        return self.is_lenient and self.chance.random() < probability


class TomlHand:
    """Writes TOML with headers, dotted keys or inline tables, and somebody's comments and line ends."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.newline = chance.choice(("\n", "\r\n"))

    def text(self, content: Mapping[str, Any]) -> str:
        lines = self._table((), content)
        end = self.newline if self.chance.random() < 0.8 else ""
        return self.chance.choice(("", "\ufeff")) + self.newline.join(lines) + (end if lines else "")

    def _table(self, path: tuple[str, ...], content: Mapping[str, Any]) -> list[str]:
        lines: list[str] = []
        below: list[str] = []
        for key, value in content.items():
            form = self.chance.randrange(3) if isinstance(value, dict) else 3
            if form == 0:
                below += self._gap() + self._header((*path, key)) + self._table((*path, key), value)
            elif form == 1 and value and not any(isinstance(item, dict) for item in value.values()):
                lines += [self._line(f"{_key(key)}.{_key(name)}", item) for name, item in value.items()]
            else:
                lines.append(self._line(_key(key), value))
        return lines + below

    def _header(self, path: tuple[str, ...]) -> list[str]:
        space = self.chance.choice(("", "", " "))
        return [f"[{space}{f'{space}.{space}'.join(map(_key, path))}{space}]" + self._remark()]

    def _line(self, key: str, value: object) -> str:
        return f"{self.chance.choice(('', '', '  '))}{key} = {self._value(value)}" + self._remark()

    def _value(self, value: Any) -> str:
        if isinstance(value, dict):
            inside = ", ".join(f"{_key(key)} = {self._value(item)}" for key, item in value.items())
            return f"{{ {inside} }}"
        if isinstance(value, list):
            parts = [self._value(item) for item in value]
            if self.chance.random() < 0.3:
                return "[" + "".join(f"{self.newline}  {part}, # item" for part in parts) + self.newline + "]"
            return f"[{', '.join(parts)}]"
        return json.dumps(value)

    def _gap(self) -> list[str]:
        lines = self.chance.choice(([], [""], ["", f"# about {self.chance.randrange(1000)}"]))
        return list(lines)

    def _remark(self) -> str:
        return f" # note {self.chance.randrange(1000)}" if self.chance.random() < 0.2 else ""


def _key(key: str) -> str:
    return key if key.replace("_", "").replace("-", "").isalnum() and key.isascii() else json.dumps(key)
