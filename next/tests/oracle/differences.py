"""How answers differ from the recorded ones, and which differences are wanted: see `differences.toml`."""

import tomllib
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from oracle.answers import FIELDS, Answers, Rows

NAMED = Path(__file__).parents[1] / "differences.toml"
KEYS = ("world", "command", "name", "field", "reason", "wanted_by")


class Difference(NamedTuple):
    """One value that is not as recorded; `field` is also `missing`, `added` or `order`."""

    world: str
    command: str
    name: str
    field: str
    before: Any
    now: Any

    def __str__(self) -> str:
        place = f"command = {self.command!r}, name = {self.name!r}, field = {self.field!r}"
        return f"{place}: {self.before!r} is now {self.now!r}"


def wanted() -> list[dict[str, str]]:
    """Read which differences are wanted; their first four values are patterns."""
    return tomllib.loads(NAMED.read_text(encoding="utf-8")).get("difference", [])


def unnamed(world: str, recorded: Answers, answers: Answers, commands: Sequence[str]) -> list[Difference]:
    """Compare the answers to some commands, and leave out what is wanted."""
    known = [tuple(difference[key] for key in KEYS[:4]) for difference in wanted()]
    return [
        difference
        for difference in _differences(world, recorded, answers, commands)
        if not any(all(map(fnmatchcase, difference[:4], patterns)) for patterns in known)
    ]


def _differences(
    world: str, recorded: Answers, answers: Answers, commands: Sequence[str]
) -> Iterator[Difference]:
    for command in dict.fromkeys([*recorded, *answers]):
        kind = command.removeprefix("then ").split()[0]
        if kind in commands:
            fields = FIELDS.get(kind, ())
            for part in _compared(recorded.get(command, {}), answers.get(command, {}), fields):
                yield Difference(world, command, *part)


def _compared(before: Rows, now: Rows, fields: Sequence[str]) -> Iterator[tuple[str, str, Any, Any]]:
    for name in dict.fromkeys([*before, *now]):
        if name not in now:
            yield name, "missing", before[name], None
        elif name not in before:
            yield name, "added", None, now[name]
        else:
            for place, (old, new) in enumerate(zip(before[name], now[name], strict=True)):
                if old != new:
                    yield name, fields[min(place, len(fields) - 1)], old, new
    common = [name for name in before if name in now]
    order = [name for name in now if name in before]
    if common != order:
        yield "", "order", common, order
