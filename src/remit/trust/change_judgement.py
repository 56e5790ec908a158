"""Judges definitions that nobody has accepted: changed ones, new ones, and those of a new server.

A change is harmless only if it is one of a few kinds: the same texts in another typography, fewer choices for
a tool that only reads, hints that are more careful, another picture. All other changes matter. A long list
takes seconds, so whoever stores lists judges them first, in a thread in which nobody waits.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import cast

from remit.decision.danger import Danger, by_annotations, derive, is_reading
from remit.decision.definitions.definition_changes import ChangeVerdict, DefinitionChange
from remit.decision.definitions.described_danger import by_definition
from remit.decision.kinds import Authority, Kind
from remit.decision.scopes import Scope
from remit.decision.tools import Definition, Tool
from remit.inspection.inspection_findings import InspectionFinding, Suspicion, worst
from remit.inspection.inspector import LEARNED, TEXT_RULES, is_prose
from remit.inspection.passages import passages
from remit.inspection.rules.combined_signs import COMBINED
from remit.inspection.surroundings import Surroundings
from remit.inspection.tool_mentions import InspectedDefinition
from remit.text.json_values import as_list, as_object
from remit.text.untrusted_text import one_line
from remit.trust.definition_pin import canonical, dateless_text
from remit.trust.inspections import MAX_LIST, Inspections, text_size
from remit.trust.schema_change import SchemaChange, is_same
from remit.trust.server_list_comparison import Sight, Sighting
from remit.trust.text_change import ChangePoint, text_point

_TEXTS = ("title", "description")
_SCHEMAS = {"inputSchema": "parameter", "outputSchema": "output schema"}
# Hints that make a client more careful if they are true, or less.
_CAREFUL, _CARELESS = ("destructiveHint", "openWorldHint"), ("readOnlyHint", "idempotentHint")
_PICTURE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]*={0,2}")
_NOTHING = ChangePoint("definition", False, "an empty field came or went")
_CHANGED = "its definition changed after it was accepted"
_NEW = "its server added it after the others were accepted"
_FLAGGED = "its definition looks like an attack on the model, and no one has accepted it"
_TOO_LARGE = "its definition is too large to inspect, and no one has accepted it"
_LONGEST = 100  # characters of a field's name
_MOST = 3  # points to tell
_MOST_FINDINGS = 2  # to tell
_TEXT_RULES = frozenset((LEARNED, *(rule.name for rule in TEXT_RULES)))  # their reasons: what the text does
# Fields that a model may be told of: a server can write anything as the name of another one.
_FIELDS = frozenset({"name", "icons", "execution", "_meta", *_TEXTS, *_SCHEMAS, "annotations"})


def judge_first_sight(definition: Definition, inspections: Inspections) -> DefinitionChange | None:
    """Judge a definition of a server that is new; None if it can be accepted."""
    if (omission := inspections.omission(definition)) is not None:
        return _not_inspected(omission)
    found = inspections.of(definition)
    return _flagged(found) if worst(found) is Suspicion.HIGH else None


def judge_new(definition: Definition, inspections: Inspections) -> DefinitionChange:
    """Judge a tool that an accepted server adds."""
    if (omission := inspections.omission(definition)) is not None:
        return _not_inspected(omission)
    found = inspections.of(definition)
    if worst(found) is Suspicion.HIGH:
        return _flagged(found)
    rated = f"its danger is `{danger_of(definition).word}`"
    return DefinitionChange(
        ChangeVerdict.MATTERS, _NEW, f"{_NEW}: {told_findings(found) if found else rated}"
    )


def judge_change(accepted: Definition, current: Definition, inspections: Inspections) -> DefinitionChange:
    """Judge a definition that differs from the accepted one."""
    if (omission := inspections.omission(current)) is not None:
        return _not_inspected(omission)
    points = list(points_of(accepted, current, inspections.others))
    found = _new_findings(accepted, current, inspections)
    if worst(found) is Suspicion.HIGH:
        return _flagged(found)
    told = [point for point in points if point.matters] or points or [_NOTHING]
    reason = f"{_CHANGED} ({', '.join(dict.fromkeys(point.place for point in told))})"
    whats = [*dict.fromkeys(point.what for point in told)]
    if worst(found) is Suspicion.MEDIUM:
        whats.insert(0, told_findings(found))
    more = f" and {len(whats) - _MOST} more" if len(whats) > _MOST else ""
    detail = f"{_CHANGED}: {'; '.join(whats[:_MOST])}{more}"
    is_harmless = not any(point.matters for point in points) and worst(found) is not Suspicion.MEDIUM
    verdict = ChangeVerdict.HARMLESS if is_harmless else ChangeVerdict.MATTERS
    return DefinitionChange(verdict, reason, detail)


def judge_same_pin(
    accepted: Definition, current: Definition, inspections: Inspections
) -> DefinitionChange | None:
    """Judge a definition that differs only in what its pin leaves out; None if that is no change."""
    if (omission := inspections.omission(current)) is not None:
        return _not_inspected(omission)
    found = _new_findings(accepted, current, inspections)
    return _flagged(found) if worst(found) is Suspicion.HIGH else None


def points_of(accepted: Definition, current: Definition, others: Surroundings) -> Iterator[ChangePoint]:
    """List the differences between two definitions of a tool."""
    old, new = canonical(accepted), canonical(current)
    values = frozenset(passage.text for passage in passages(current) if not is_prose(passage))
    subject = InspectedDefinition(definition=current, others=others, values=values)
    only_reads = _reads(accepted) and _reads(current)
    for key in (*old, *(key for key in new if key not in old)):
        before, after = old.get(key), new.get(key)
        if is_same(before, after):
            continue
        if key in _TEXTS and isinstance(before or "", str) and isinstance(after or "", str):
            texts = str(before or ""), str(after or "")
            yield text_point(key, f"the {key}", *texts, subject, may_vary=only_reads)
        elif key in _SCHEMAS:
            may_narrow = key == "inputSchema" and only_reads
            change = SchemaChange(_SCHEMAS[key], subject, may_narrow, may_vary=only_reads)
            yield from change.points({} if before is None else before, {} if after is None else after)
        elif key == "annotations" and isinstance(before or {}, dict) and isinstance(after or {}, dict):
            yield from _annotations(before, after, subject, only_reads=only_reads)
        else:
            matters = key != "icons" or not _are_pictures(after)
            field = key.partition(".")[0]
            place = field if field in _FIELDS else "another field"
            yield ChangePoint(place, matters, f"`{one_line(key, _LONGEST)}` changed")
    yield from _danger(accepted, current)


def _annotations(
    before: object, after: object, subject: InspectedDefinition, *, only_reads: bool
) -> Iterator[ChangePoint]:
    old, new = as_object(before), as_object(after)
    for key in sorted({*old, *new}):
        said, says = old.get(key), new.get(key)
        if is_same(said, says) and key in old and key in new:
            continue
        if key == "title" and isinstance(said or "", str) and isinstance(says or "", str):
            label = "the title among its annotations"
            yield text_point("annotations", label, said or "", says or "", subject, may_vary=only_reads)
        elif key in (*_CAREFUL, *_CARELESS):
            told = json.dumps(says) if key in new else "gone"
            # Many servers add annotations later; for a tool that clearly reads, that is harmless.
            is_late = not old and says is (key not in _CAREFUL) and only_reads
            matters = not (is_late or _is_more_careful(key, said, says))
            yield ChangePoint("annotations", matters, f"`{key}` is {told}")
        else:
            yield ChangePoint("annotations", True, "an unknown annotation changed")


def _is_more_careful(hint: str, said: object, says: object) -> bool:
    """Return whether a hint makes a client more careful than before; only `true`, `false` or none count."""
    if not all(each is None or isinstance(each, bool) for each in (said, says)):
        return False
    return says is True if hint in _CAREFUL else said is True or says is False


def _are_pictures(value: object) -> bool:
    """Return whether icons hold their pictures: addresses would be fetched, and SVG can hold a text."""
    return isinstance(value, list | None) and all(map(_is_picture, as_list(cast("object", value))))


def _is_picture(icon: object) -> bool:
    fields = as_object(icon)
    return fields.keys() == {"src"} and _PICTURE.fullmatch(str(fields["src"])) is not None


def _danger(accepted: Definition, current: Definition) -> Iterator[ChangePoint]:
    before, after = danger_of(accepted), danger_of(current)
    if before != after:
        word = "falls" if after < before else "rises"
        matters = after < before or after >= Danger.DESTRUCTIVE
        yield ChangePoint("danger", matters, f"its danger {word} from `{before.word}` to `{after.word}`")


def _reads(definition: Definition) -> bool:
    """Return whether a tool only reads, by its name and by everything that it says."""
    return is_reading(definition.tool or definition.name) and danger_of(definition) <= Danger.LOW


def danger_of(definition: Definition) -> Danger:
    """Rate a definition by itself, without history and rules."""
    tool = Tool(
        definition.name, Kind.MCP_TOOL, "", Scope.GLOBAL, "", Authority.CONFIG, server=definition.server or ""
    )
    rated = tool._replace(
        danger=by_annotations(definition.annotations), described_danger=by_definition(definition)
    )
    return derive(rated, trusts_annotations=None).level


def _new_findings(
    accepted: Definition, current: Definition, inspections: Inspections
) -> list[InspectionFinding]:
    """List what inspection finds in a definition and not in the accepted one; dates make no difference."""
    found = inspections.of(current)
    before = {
        (each.rule, dateless_text(each.excerpt)) for each in (inspections.of(accepted) if found else ())
    }
    return [each for each in found if (each.rule, dateless_text(each.excerpt)) not in before]


def _flagged(found: list[InspectionFinding]) -> DefinitionChange:
    return DefinitionChange(ChangeVerdict.FLAGGED, _FLAGGED, f"inspection flags it: {told_findings(found)}")


def _not_inspected(omission: str) -> DefinitionChange:
    return DefinitionChange(ChangeVerdict.UNINSPECTED, _TOO_LARGE, f"{_TOO_LARGE}: {omission}")


def told_findings(found: Sequence[InspectionFinding]) -> str:
    """Tell what the worst findings say, and quote the first one; those of rules are the clearest."""
    of_rules = [each for each in found if each.rule not in (COMBINED, LEARNED)][:_MOST_FINDINGS]
    told = of_rules or sorted(found, key=lambda each: each.rule == LEARNED)[:1]
    acts = [_act(each) for each in told if each.rule in _TEXT_RULES]
    facts = [each.reason for each in told if each.rule not in _TEXT_RULES]
    said = [*([f"it {' and '.join(dict.fromkeys(acts))}"] if acts else []), *facts]
    return f"{' and '.join(said)}: “{told[0].excerpt}”"


def _act(finding: InspectionFinding) -> str:
    """Return what a text does; the words that a model learned are for `remit inspect`."""
    return finding.reason.partition(":")[0] if finding.rule == LEARNED else finding.reason


class ServerListReview:
    """The judgements about one list, each made once."""

    def __init__(self, around: Sequence[Definition], budget: int = MAX_LIST) -> None:
        self._around = around  # the tools of all servers
        self._budget = budget  # characters
        self._judged: dict[Sighting, DefinitionChange | None] = {}

    @cached_property
    def _inspections(self) -> Inspections:
        return Inspections(Surroundings.of(self._around), self._budget)

    def judge_all(self, sightings: Iterable[Sighting]) -> None:
        """Judge definitions, small ones first, so that the budget suffices for most of them."""
        for sighting in sorted(sightings, key=lambda each: text_size(each.current)):
            self.judge(sighting)

    def judge(self, sighting: Sighting) -> DefinitionChange | None:
        """Return why a definition cannot be accepted, or None."""
        if sighting not in self._judged:
            self._judged[sighting] = self._judgement(*sighting)
        return self._judged[sighting]

    def _judgement(
        self, sight: Sight, current: Definition, accepted: Definition | None
    ) -> DefinitionChange | None:
        if sight is Sight.FIRST:
            return judge_first_sight(current, self._inspections)
        if accepted is None:
            return judge_new(current, self._inspections)
        if sight is Sight.SAME_PIN:
            return judge_same_pin(accepted, current, self._inspections)
        return judge_change(accepted, current, self._inspections)
