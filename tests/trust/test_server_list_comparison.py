"""How a listed definition differs from what was accepted."""

import pytest

from remit.decision.declarations import Declaration
from remit.decision.definitions.definition_changes import ChangeVerdict
from remit.decision.kinds import Kind
from remit.decision.scopes import Scope
from remit.decision.tools import Definition
from remit.trust.server_list_comparison import (
    Known,
    ListedDefinition,
    Pin,
    ServerListComparison,
    ServerPins,
    Sight,
    Sighting,
)

FIND = Definition(name="mcp__notes__find")
WORDS, SILENCE = (
    Definition(name="mcp__notes__*", description=text) for text in ("Notes are short.", "")
)  # instructions
BEFORE = Definition(name="mcp__notes__find", description="Find notes.")
ACCEPTED = Pin(accepted_id=1, entry="2:a", verdict=None, accepted="p1", changed=None, changed_id=None)
HELD = ACCEPTED._replace(verdict=ChangeVerdict.MATTERS, changed="p2", changed_id=2)
UNKNOWN_ENTRY = ACCEPTED._replace(entry=None)
REJECTED = HELD._replace(verdict=ChangeVerdict.REJECTED)
NEVER_ACCEPTED = HELD._replace(accepted_id=None, accepted=None)


def comparison(
    *, entry: str = "2:a", listed: str | None = "2:a", scope: Scope = Scope.GLOBAL, **pins: Pin
) -> ServerListComparison:
    declared = Declaration(
        client="claude-code",
        kind=Kind.MCP_SERVER,
        scope=scope,
        name="mcp__notes__*",
        server="notes",
        source="/home/ada/.claude.json",
        digest=entry,
    )
    named = {f"mcp__notes__{name}": pin for name, pin in pins.items()}
    return ServerListComparison(ServerPins(named, listed), declared, {1: BEFORE}.get)


def listed(id: int | None, pin: str, definition: Definition = FIND) -> ListedDefinition:
    return ListedDefinition(definition, id, pin)


@pytest.mark.parametrize(
    ("compared", "item", "expected"),
    [
        (comparison(listed=None), listed(None, "p1"), Sighting(Sight.FIRST, FIND)),
        (comparison(listed=None), listed(None, "p1", WORDS), Sighting(Sight.FIRST, WORDS)),
        (comparison(), listed(None, "p1"), Sighting(Sight.ADDED, FIND)),  # it had no tools
        (comparison(list=ACCEPTED), listed(None, "p1"), Sighting(Sight.ADDED, FIND)),
        (comparison(list=ACCEPTED), listed(None, "p1", WORDS), Sighting(Sight.ADDED, WORDS)),
        (comparison(list=ACCEPTED), listed(None, "p1", SILENCE), Sighting(Sight.FIRST, SILENCE)),
        (comparison(list=ACCEPTED, entry="2:b"), listed(None, "p1"), Sighting(Sight.FIRST, FIND)),
        (comparison(find=ACCEPTED, entry="2:b"), listed(2, "p2"), Sighting(Sight.FIRST, FIND)),
        (comparison(find=ACCEPTED, entry="2:b"), listed(1, "p1"), Known.ACCEPTED),
        (comparison(find=REJECTED, entry="2:b"), listed(2, "p2"), Known.HELD),
        (comparison(find=HELD), listed(1, "p1"), Known.ACCEPTED),
        (comparison(find=HELD), listed(2, "p2"), Known.HELD),
        (comparison(find=HELD), listed(3, "p2"), Sighting(Sight.CHANGED, FIND, BEFORE)),
        (comparison(find=REJECTED), listed(3, "p2"), Known.HELD),
        (comparison(find=ACCEPTED), listed(None, "p1"), Sighting(Sight.SAME_PIN, FIND, BEFORE)),
        (comparison(find=ACCEPTED), listed(None, "p2"), Sighting(Sight.CHANGED, FIND, BEFORE)),
        (comparison(find=NEVER_ACCEPTED), listed(None, "p3"), Sighting(Sight.ADDED, FIND)),
        (
            comparison(find=UNKNOWN_ENTRY),
            listed(2, "p2"),
            Sighting(Sight.CHANGED, FIND, BEFORE),
        ),
    ],
)
def test_a_definition_is_compared_with_what_was_accepted(
    compared: ServerListComparison, item: ListedDefinition, expected: Sighting | Known
) -> None:
    assert compared.sight(item) == expected


def test_an_update_of_a_plugin_keeps_what_was_accepted() -> None:
    updated = comparison(entry="2:b", scope=Scope.PLUGIN, find=ACCEPTED)
    assert updated.sight(listed(1, "p1")) is Known.ACCEPTED
    assert updated.sight(listed(2, "p2")) == Sighting(Sight.CHANGED, FIND, BEFORE)
    added = Definition(name="mcp__notes__add")
    assert updated.sight(listed(None, "p3", added)) == Sighting(Sight.ADDED, added)


@pytest.mark.parametrize(
    ("compared", "id", "is_settled"),
    [
        (comparison(find=ACCEPTED), 1, True),
        (comparison(find=ACCEPTED), 2, False),
        (comparison(find=ACCEPTED), None, False),
        (comparison(find=HELD), 1, False),
        (comparison(find=ACCEPTED, entry="2:b"), 1, False),
        (comparison(), 1, False),
    ],
)
def test_only_what_is_as_accepted_under_the_same_entry_is_settled(
    compared: ServerListComparison, id: int | None, is_settled: bool
) -> None:
    assert compared.is_settled(FIND.name, id) is is_settled


def test_what_is_known_needs_no_judgement() -> None:
    compared = comparison(find=HELD, list=ACCEPTED)
    added = Definition(name="mcp__notes__add")
    found = compared.sightings([listed(2, "p2"), listed(None, "p3", added)])
    assert list(found) == [Sighting(Sight.ADDED, added)]
