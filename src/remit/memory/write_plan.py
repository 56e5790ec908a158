"""Plans: what a call wants to have written, read and checked before anything is touched."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from remit.errors import ArtifactError
from remit.memory.argument_checks import (
    MAX_BATCH,
    MAX_RELATED,
    Fields,
    read_context,
    read_decision,
    read_entity,
    read_pattern,
    read_related,
    read_session,
)
from remit.memory.artifacts import Artifact, Related
from remit.memory.scope_gate import MAX_ID, MemoryScope

Arguments = Mapping[str, object]
_PLACE = ("project_id", "focus", "governance_token")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One artifact to be written."""

    artifact: Artifact
    supersedes: Sequence[str] | None = None  # None: nobody has judged
    related: Sequence[Related] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a call wants to have written, all of it or nothing."""

    tool: str
    project_id: str | None
    focus: str | None
    parts: Sequence[Part]
    token: str | None = None  # names the approval that counts
    sizes: tuple[int, int] | None = field(default=None)  # of a batch: how many decisions, how many patterns

    @property
    def is_global(self) -> bool:
        """Whether anything of it would be seen in every project."""
        return any(part.artifact.scope is MemoryScope.GLOBAL for part in self.parts)


def plan(tool: str, arguments: Arguments) -> Plan:
    """Read the arguments of a tool that writes.

    Raises:
        ArtifactError: they break a rule.
    """
    made = _READERS[tool](arguments)
    for part in made.parts:
        if part.artifact.scope is MemoryScope.FOCUS and made.focus is None:
            raise ArtifactError("focus", "given, for the scope is focus", "missing")
    return made


def _session(arguments: Arguments) -> Plan:
    fields = Fields(arguments, "", ("session", *_PLACE))
    return _plan("save_session", fields, [Part(artifact=read_session(fields.raw("session")))])


def _decision(arguments: Arguments) -> Plan:
    fields = Fields(arguments, "", ("decision", *_PLACE, "supersedes"))
    given = fields.items("supersedes", MAX_RELATED)
    part = Part(
        artifact=read_decision(fields.raw("decision")),
        supersedes=None if given is None else fields.texts("supersedes"),
    )
    return _plan("save_decision", fields, [part])


def _pattern(arguments: Arguments) -> Plan:
    fields = Fields(arguments, "", ("pattern", *_PLACE))
    return _plan("save_pattern", fields, [Part(artifact=read_pattern(fields.raw("pattern")))])


def _context(arguments: Arguments) -> Plan:
    fields = Fields(arguments, "", ("context", *_PLACE))
    return _plan("save_context", fields, [Part(artifact=read_context(fields.raw("context")))])


def _entity(arguments: Arguments) -> Plan:
    fields = Fields(arguments, "", ("entity", *_PLACE, "related_entities"))
    part = Part(
        artifact=read_entity(fields.raw("entity")),
        related=read_related(fields.items("related_entities", MAX_RELATED) or ()),
    )
    return _plan("upsert_entity_with_deps", fields, [part])


def _batch(arguments: Arguments) -> Plan:
    fields = Fields(arguments, "", ("session", "decisions", "patterns", *_PLACE))
    decisions = fields.items("decisions", MAX_BATCH) or []
    patterns = fields.items("patterns", MAX_BATCH) or []
    parts = [
        Part(artifact=read_session(fields.raw("session"))),
        *(Part(artifact=read_decision(it, f"decisions[{at}]")) for at, it in enumerate(decisions)),
        *(Part(artifact=read_pattern(it, f"patterns[{at}]")) for at, it in enumerate(patterns)),
    ]
    return _plan("store_session_with_learnings", fields, parts, (len(decisions), len(patterns)))


def _plan(tool: str, fields: Fields, parts: Sequence[Part], sizes: tuple[int, int] | None = None) -> Plan:
    return Plan(
        tool=tool,
        project_id=fields.identifier("project_id"),
        focus=fields.identifier("focus"),
        token=fields.text("governance_token", MAX_ID, is_required=False),
        parts=parts,
        sizes=sizes,
    )


_READERS = {
    "save_session": _session,
    "save_decision": _decision,
    "save_pattern": _pattern,
    "save_context": _context,
    "upsert_entity_with_deps": _entity,
    "store_session_with_learnings": _batch,
}
WRITES = frozenset(_READERS)
