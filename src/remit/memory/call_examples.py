"""A call of each tool of memory that works: what a model is shown when its own did not."""

import json
from collections.abc import Mapping

_SESSION = {
    "objective": "Move the login to OAuth",
    "actions_taken": ["replaced the password form"],
    "decisions_made": ["Use PKCE for every client"],
    "open_items": ["the mobile app still asks for passwords"],
    "next_actions": ["move the mobile app"],
    "save_scope": "project",
}
_DECISION = {
    "title": "Use SQLite for storage",
    "rationale": "one file, no server",
    "owner": "ada",
    "date": "2026-11-15",
    "scope": "project",
}
_PATTERN = {
    "trigger": "a migration fails halfway",
    "repeatable_steps": ["restore the backup", "run it again with --verbose"],
    "scope": "project",
    "last_validated_at": None,
}

EXAMPLES: Mapping[str, Mapping[str, object]] = {
    "get_scope_state": {},
    "save_session": {"session": _SESSION},
    "save_decision": {"decision": _DECISION},
    "save_pattern": {"pattern": _PATTERN},
    "save_context": {
        "context": {"content": "Tokens live for 15 minutes.", "topic": "auth", "scope": "project"}
    },
    "upsert_entity_with_deps": {
        "entity": {"entity_name": "login", "fact": "is served by auth.py", "scope": "project"}
    },
    "store_session_with_learnings": {"session": _SESSION, "decisions": [_DECISION], "patterns": [_PATTERN]},
    "retrieve_context": {"scope": "project", "keyword": "storage"},
    "memory_surface": {"query": "where do tokens live"},
    "run_hygiene": {},
    "delete_project": {},
}


def example_call(tool: str, project_id: str) -> str:
    """Write a call of a tool for a project."""
    given = {**EXAMPLES[tool], "project_id": project_id}
    return f"{tool}({json.dumps(given, ensure_ascii=False)})"
