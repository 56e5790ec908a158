"""JSON paths: selects parts of a JSON value, such as `$.items[0:10].name`.

A small subset of RFC 9535, without filters: `.name`, `['name']`, `[0]`, `[-1]`, `[2:5]`, `[*]`, `.*` and
`..name`. The leading `$` may be left out.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

LONGEST_PATH = 1_000  # characters
_MOST_STEPS = 50
MOST_VISITED = 500_000  # values that a path looks at, in all its steps
_NAME = r"[^\W\d][\w-]*"
_STEP = re.compile(
    rf"""\.\.(?P<below>{_NAME}|\*)
    |\.?\[\s*(?:(?P<quote>['"])(?P<quoted>(?:\\.|(?!(?P=quote)).)*)(?P=quote)
        |(?P<index>-?\d+)
        |(?P<first>-?\d*)\s*:\s*(?P<last>-?\d*)
        |(?P<all>\*))\s*\]
    |\.(?P<name>{_NAME}|\*|\d+)
    |(?P<bare>^{_NAME})""",
    re.VERBOSE | re.DOTALL,
)


class JsonPathError(ValueError):
    """A JSON path cannot be read."""


class _Step(NamedTuple):
    name: str | None = None
    at: int | None = None
    cut: slice | None = None
    is_below: bool = False  # at any depth; without a name: every value


class Selected(NamedTuple):
    """The values that a path selects; a path without wildcards selects at most one."""

    values: list[Any]
    is_single: bool


class _Visits:
    """Counts the values that a path looks at: repeated wildcards multiply."""

    def __init__(self) -> None:
        self._left = MOST_VISITED

    def count(self, values: Iterable[Any]) -> Iterator[Any]:
        for value in values:
            self._left -= 1
            if self._left < 0:
                raise JsonPathError(f"the path looks at more than {MOST_VISITED:,} values; name the members")
            yield value


def select(value: Any, path: str) -> Selected:
    """Select the parts of a JSON value.

    Raises:
        JsonPathError: the path cannot be read, or looks at too many values.
    """
    steps = list(_steps(path))
    found, visits = [value], _Visits()
    for step in steps:
        found = [each for one in found for each in visits.count(_take(one, step, visits))]
    return Selected(found, not any(step.is_below or step.cut is not None for step in steps))


def member_path(path: str, name: str) -> str:
    """Return the path of a member."""
    if re.fullmatch(_NAME, name):
        return f"{path}.{name}"
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"{path}['{escaped}']"


def _steps(path: str) -> Iterator[_Step]:
    text = path.strip().removeprefix("$")
    if len(text) > LONGEST_PATH:
        raise JsonPathError(f"a path has at most {LONGEST_PATH:,} characters")
    at = count = 0
    while at < len(text):
        match = _STEP.match(text, at)
        count += 1
        if match is None or count > _MOST_STEPS:
            raise JsonPathError(f"cannot read the path from `{text[at : at + 40]}`")
        at = match.end()
        yield _step(match)


def _step(match: re.Match[str]) -> _Step:
    named = match.groupdict()
    if (below := named["below"]) is not None:
        return _Step(name=None if below == "*" else below, is_below=True)
    if named["quoted"] is not None:
        return _Step(name=re.sub(r"\\(.)", r"\1", named["quoted"], flags=re.DOTALL))
    if named["index"] is not None:
        return _Step(at=int(named["index"]))
    if named["first"] is not None:
        return _Step(cut=slice(*(int(each) if each else None for each in (named["first"], named["last"]))))
    name = named["name"] or named["bare"]
    if named["all"] or name == "*":
        return _Step(cut=slice(None))
    return _Step(at=int(name)) if name.isdecimal() else _Step(name=name)


def _take(value: Any, step: _Step, visits: _Visits) -> Iterator[Any]:
    if step.is_below:
        for each in visits.count(_below(value)):
            yield from (each,) if step.name is None else _take(each, _Step(name=step.name), visits)
    elif isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        if step.cut == slice(None):
            yield from members.values()
        name = str(step.at) if step.name is None else step.name
        if name in members:
            yield members[name]
    elif isinstance(value, list):
        items = cast("list[Any]", value)
        if step.cut is not None:
            yield from items[step.cut]
        elif step.at is not None and -len(items) <= step.at < len(items):
            yield items[step.at]


def _below(value: Any) -> Iterator[Any]:
    """Yield a value and all values inside it, as they are written."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        yield each
        inner: Sequence[Any] = ()
        if isinstance(each, Mapping):
            inner = list(cast("Mapping[str, Any]", each).values())
        elif isinstance(each, list):
            inner = cast("list[Any]", each)
        waiting.extend(reversed(inner))
