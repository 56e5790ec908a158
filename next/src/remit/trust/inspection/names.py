"""Finds servers and tools whose names imitate those of others."""

import re
from collections.abc import Iterator, Mapping

from remit.decision import Definition
from remit.text import spelling_distance
from remit.trust.inspection import HIGH, MEDIUM, Finding, OtherTools
from remit.trust.inspection.hidden import revealed

_ALIKE = str.maketrans("1i0", "llo")
_CLAIM = re.compile(r"(?:mcp__)?(?P<server>.+?)(?:__|\.|/).")
_SUFFIX = re.compile(r"[_-](?:v?\d+|new|secure|safe|plus|pro|fast|better|fixed|official|enhanced|improved)$")
_SHORTEST = 6  # characters of a name that nobody misspells by chance

Shapes = Mapping[str, dict[str, str]]  # how names look, their letters, canonical names


def shapes_of(others: OtherTools) -> Shapes:
    """Index the names of others by how they look."""
    shapes: dict[str, dict[str, str]] = {}
    for name in sorted(others.tools):
        letters = _letters(name.rpartition("__")[2])
        if len(letters) >= _SHORTEST:
            shapes.setdefault(_shape(letters), {}).setdefault(letters, name)
    return shapes


def imitations(definition: Definition, others: OtherTools, shapes: Shapes) -> Iterator[Finding]:
    """Report names that read like another server's."""
    server, name = definition.server or "", definition.tool or definition.name
    labels = {label.lower(): label for label in others.servers if label.lower() != server.lower()}
    if twin := next((label for label in sorted(labels.values()) if _is_misspelled(server, label)), None):
        yield Finding(MEDIUM, f"its server is spelled almost like `{twin}`", server, "server")
    claim = _CLAIM.match(name)
    if claim is not None and claim["server"].lower() in labels:
        yield Finding(
            HIGH, f"its name claims to be a tool of `{labels[claim['server'].lower()]}`", name, "name"
        )
    elif twin := _imitated(name, shapes):
        yield Finding(MEDIUM, f"its name imitates `{twin}`", name, "name")


def _imitated(name: str, shapes: Shapes) -> str | None:
    letters, base = _letters(name), _letters(_SUFFIX.sub("", name.lower()))
    alike = {twin: own for twin, own in shapes.get(_shape(letters), {}).items() if twin != letters}
    if base != letters:
        alike |= {twin: own for twin, own in shapes.get(_shape(base), {}).items() if twin == base}
    return min(alike.values(), default=None)


def _is_misspelled(one: str, other: str) -> bool:
    """Return whether two servers differ in one letter; numbers count servers of one kind."""
    plain, twin = _letters(one), _letters(other)
    if plain == twin or re.sub(r"\d", "", plain) == re.sub(r"\d", "", twin):
        return plain != twin and _shape(plain) == _shape(twin)
    is_long = min(len(plain), len(twin)) >= _SHORTEST
    return _shape(plain) == _shape(twin) or (is_long and spelling_distance(plain, twin) == 1)


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def _shape(letters: str) -> str:
    return revealed(letters).translate(_ALIKE).replace("rn", "m")
