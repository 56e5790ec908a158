"""Finds tools that imitate another server's."""

import re
from collections.abc import Iterator

from remit.decision.tools import Definition
from remit.inspection.inspection_findings import InspectionFinding, Suspicion, finding
from remit.inspection.surroundings import Surroundings, own_name, plain_name

_SUFFIX = re.compile(
    r"_(?:v?\d+|new|secure|safe|plus|pro|fast|better|fixed|official|latest|enhanced|improved)$"
)


_LONG = 80  # characters of a description that two authors do not write alike


def imitations(definition: Definition, others: Surroundings) -> Iterator[InspectionFinding]:
    """Report a name or a description that belongs to another server's tool."""
    name = own_name(definition)
    yield from _copies(definition, others)
    for twin, severity, how in _twins(plain_name(name), others):
        if holders := others.holders(twin) - {definition.server}:
            reason = f"{how} `{twin}` of `{min(map(str, holders))}`"
            yield finding("imitated-name", severity, reason, name)
            break
    if (twin := others.lookalikes.get(definition.server)) is not None:
        reason = f"its server is spelled almost like `{twin}`"
        yield finding("imitated-server", Suspicion.LOW, reason, str(definition.server))


def _copies(definition: Definition, others: Surroundings) -> Iterator[InspectionFinding]:
    for each in others.copies(definition)[:1]:
        is_same = plain_name(own_name(each)) == plain_name(own_name(definition))
        is_long = len(definition.description or "") >= _LONG
        severity = Suspicion.MEDIUM if is_long and not is_same else Suspicion.LOW
        reason = f"its description is that of `{own_name(each)}` of `{each.server}`"
        yield finding("copied-description", severity, reason, definition.description or "")


def _twins(name: str, others: Surroundings) -> Iterator[tuple[str, Suspicion, str]]:
    for twin in sorted(others.similar(name)):
        yield twin, Suspicion.MEDIUM, "looks like"
    yield name, Suspicion.LOW, "has the same name as"
    if (base := _SUFFIX.sub("", name)) != name:
        yield base, Suspicion.LOW, "is named like"
