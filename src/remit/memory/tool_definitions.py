"""How the tools of memory are described to models: names, what they do and take, and how to begin."""

from collections.abc import Mapping
from typing import Any

from remit.decision.projects import Project
from remit.memory.argument_checks import (
    MAX_BATCH,
    MAX_ITEMS,
    MAX_LINE,
    MAX_NAME,
    MAX_QUERY,
    MAX_RELATED,
    MAX_TEXT,
)
from remit.memory.artifacts import Kind, Relation
from remit.memory.scope_gate import MAX_ID, TOOLS, MemoryScope, memory_id

Schema = dict[str, Any]


def _text(most: int, description: str = "") -> Schema:
    about = {"description": description} if description else {}
    return {"type": "string", "minLength": 1, "maxLength": most, **about}


def _lines(description: str = "") -> Schema:
    about = {"description": description} if description else {}
    return {"type": "array", "items": _text(MAX_LINE), "maxItems": MAX_ITEMS, **about}


def _object(properties: Mapping[str, Schema], required: tuple[str, ...], description: str = "") -> Schema:
    about = {"description": description} if description else {}
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
        **about,
    }


_SCOPE = {"type": "string", "enum": [scope.value for scope in MemoryScope]}
_SHARE = {"type": "number", "minimum": 0, "maximum": 1, "default": 1.0}
_PROJECT = _text(MAX_ID, "The project's id, as the session context states it.")
_FOCUS = _text(
    MAX_ID, "A focus area of the project, such as `auth-refactor`; a new one is created by saving."
)
_TOKEN = _text(MAX_ID, "The id of a person's approval of this very call; only for the scope `global`.")
_SESSION = _object(
    {
        "objective": _text(MAX_LINE, "What the session was for."),
        "actions_taken": _lines(),
        "decisions_made": _lines(),
        "open_items": _lines(),
        "next_actions": _lines(),
        "save_scope": _SCOPE,
    },
    ("objective", "actions_taken", "decisions_made", "open_items", "next_actions", "save_scope"),
)
_DECISION = _object(
    {
        "title": _text(MAX_NAME, "What was decided, such as `Use SQLite for storage`."),
        "rationale": _text(MAX_TEXT, "Why."),
        "owner": _text(MAX_NAME, "Who decided."),
        "date": {"type": "string", "format": "date", "description": "YYYY-MM-DD"},
        "scope": _SCOPE,
        "confidence": _SHARE,
    },
    ("title", "rationale", "owner", "date", "scope"),
)
_PATTERN = _object(
    {
        "trigger": _text(MAX_LINE, "When it applies."),
        "repeatable_steps": _lines("What to do."),
        "exclusions": _lines("When not to."),
        "scope": _SCOPE,
        "last_validated_at": {
            "type": ["string", "null"],
            "format": "date-time",
            "description": "When it last worked; null: never tried.",
        },
    },
    ("trigger", "repeatable_steps", "scope", "last_validated_at"),
)
_CONTEXT = _object(
    {
        "content": _text(MAX_TEXT),
        "topic": _text(MAX_NAME),
        "scope": _SCOPE,
        "relevance_score": _SHARE,
    },
    ("content", "topic", "scope"),
)
_ENTITY = _object(
    {"entity_name": _text(MAX_NAME), "fact": _text(MAX_TEXT), "scope": _SCOPE},
    ("entity_name", "fact", "scope"),
)
_RELATED = _object(
    {
        "entity_id": _text(MAX_NAME, "The id of an artifact of this project, or the name of an entity."),
        "relationship_type": {
            "type": "string",
            "enum": [each.value for each in Relation if each is not Relation.SUPERSEDES],
        },
        "properties": {"type": "object"},
    },
    ("entity_id", "relationship_type"),
)


def _writes(name: str, schema: Schema, **others: Schema) -> Schema:
    # A call without a project is answered by the gate, which says what to do: so nothing here requires one.
    place = {"project_id": _PROJECT, "focus": _FOCUS, "governance_token": _TOKEN}
    return _object({name: schema, **place, **others}, (name,))


_ABOUT: dict[str, tuple[str, Schema]] = {
    "get_scope_state": (
        "Tell whether a project, and a focus area of it, have a memory: resolved, uncertain or unresolved.",
        _object({"project_id": _PROJECT, "focus": _FOCUS}, ()),
    ),
    "save_session": (
        "Keep what a session was about. Creates the project when it has no memory yet: call this first.",
        _writes("session", _SESSION),
    ),
    "save_decision": (
        "Keep a decision. One that is known is skipped, one that says the same anew replaces the old, one "
        "that is much like another is held for review, and one that contradicts another is reported.",
        _writes(
            "decision",
            _DECISION,
            supersedes={
                "type": "array",
                "items": _text(MAX_ID),
                "maxItems": MAX_RELATED,
                "description": "Ids of the decisions that this one replaces; [] keeps all that are like it.",
            },
        ),
    ),
    "save_pattern": ("Keep what to do when something comes up again.", _writes("pattern", _PATTERN)),
    "save_context": ("Keep something worth knowing.", _writes("context", _CONTEXT)),
    "upsert_entity_with_deps": (
        "Keep a fact about something that has a name, in place of the former one, and what it is related to.",
        _writes(
            "entity",
            _ENTITY,
            related_entities={"type": "array", "items": _RELATED, "maxItems": MAX_RELATED},
        ),
    ),
    "store_session_with_learnings": (
        "Keep a session with its decisions and patterns, all at once.",
        _writes(
            "session",
            _SESSION,
            decisions={"type": "array", "items": _DECISION, "maxItems": MAX_BATCH},
            patterns={"type": "array", "items": _PATTERN, "maxItems": MAX_BATCH},
        ),
    ),
    "retrieve_context": (
        "Recall what is kept, from a scope outward: focus, project, global. With a keyword, what answers it, "
        "by words and by meaning; else the newest.",
        _object(
            {
                "project_id": _PROJECT,
                "scope": _SCOPE,
                "focus": _FOCUS,
                "categories": {
                    "type": "array",
                    "items": {"type": "string", "enum": [kind.value for kind in Kind]},
                },
                "keyword": _text(MAX_QUERY, "What to look for, in your own words."),
                "topic": _text(MAX_QUERY, "The same as keyword."),
            },
            ("scope",),
        ),
    ),
    "memory_surface": (
        "Search all of a project's memory, its focus areas and what is global for what answers a query.",
        _object(
            {
                "query": _text(MAX_QUERY),
                "project_id": _PROJECT,
                "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 5},
            },
            ("query",),
        ),
    ),
    "run_hygiene": (
        "Look a project's memory through for what is stale, said twice, left hanging, held or never tried. "
        "Changes nothing.",
        _object(
            {
                "project_id": _PROJECT,
                "scope": _SCOPE,
                "check_pending_only": {"type": "boolean", "default": False},
            },
            (),
        ),
    ),
    "delete_project": (
        "Erase a project's memory for good, with its focus areas and all that belongs to them.",
        _object({"project_id": _PROJECT}, ("project_id",)),
    ),
}

_READ_ONLY = frozenset({"get_scope_state", "retrieve_context", "memory_surface", "run_hygiene"})


def _definition(name: str) -> Schema:
    description, schema = _ABOUT[name]
    return {
        "name": name,
        "description": description,
        "inputSchema": schema,
        "annotations": {
            "readOnlyHint": name in _READ_ONLY,
            "destructiveHint": name == "delete_project",
            "idempotentHint": name in _READ_ONLY or name == "delete_project",
            "openWorldHint": False,
        },
    }


DEFINITIONS: dict[str, Schema] = {name: _definition(name) for name in TOOLS}


def instructions(project: Project, prefix: str = "") -> str:
    """Tell a model how to begin and to end, with what stands before the tools' names where it calls them."""
    return (
        f"The memory of the project here has the project_id `{memory_id(project)}`. "
        f"Start with {prefix}retrieve_context; end with {prefix}save_session."
    )
