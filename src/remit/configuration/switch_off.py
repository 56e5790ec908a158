"""Switches tools off in the text of a configuration file, in a way that can be undone exactly."""

import json
import re
import tomllib
from collections.abc import Iterable
from typing import cast

from remit.errors import PolicyError

_MARK = "  # switched off by `remit prune`"
_BLOCK = re.compile(r"\n\[tools\.(\"(?:[^\"\\\n]|\\.)*\")\]" + re.escape(_MARK) + r"\nai_enabled = false\n")


def switch_off(text: str, names: Iterable[str]) -> str:
    """Add a rule for each name that switches it off for AI.

    Raises:
        PolicyError: the text already has a rule for a name, or cannot be extended.
    """
    wanted = list(dict.fromkeys(names))
    known = _tools(text)
    for name in wanted:
        if name in known:
            hint = "write `ai_enabled = false` there"
            raise PolicyError(f"there is a rule for `{name}` already", hint=hint)
    made = text + "".join(f"\n[tools.{_quoted(name)}]{_MARK}\nai_enabled = false\n" for name in wanted)
    try:
        tomllib.loads(made)
    except tomllib.TOMLDecodeError:
        hint = "write its rules as tables, `[tools.x]`"
        raise PolicyError("the rules of this file cannot be added to", hint=hint) from None
    return made


def switch_on(text: str) -> str:
    """Remove every rule that `switch_off` added."""
    return _BLOCK.sub("", text)


def switched_off(text: str) -> list[str]:
    """List the names that `switch_off` added rules for."""
    return [json.loads(name) for name in _BLOCK.findall(text)]


def _tools(text: str) -> dict[str, object]:
    try:
        tools = tomllib.loads(text).get("tools", {})
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"the file is no TOML: {error}", hint="`remit policy check` shows where") from None
    return cast("dict[str, object]", tools) if isinstance(tools, dict) else {}


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
