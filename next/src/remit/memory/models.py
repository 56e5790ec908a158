"""The tools as pydantic models: one model is a tool's schema, its documentation and its check."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from remit.errors import ArtifactError
from remit.secrets import is_secret
from remit.text import did_you_mean

Schema = dict[str, Any]


def _check_id(text: str) -> str:
    if not text.isprintable() or text != text.strip():
        raise PydanticCustomError("id", "Id should have printable characters, without outer spaces")
    return text


def _check_day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise PydanticCustomError("day", "Date should be written as YYYY-MM-DD") from None


def _check_time(text: str) -> str:
    try:
        milliseconds(text)
    except (ValueError, OverflowError):
        raise PydanticCustomError("time", "Time should be written in ISO 8601") from None
    return text


def milliseconds(text: str) -> int:
    """Parse an ISO 8601 time into Unix milliseconds; a time without a zone is UTC.

    Raises:
        ValueError: the text is not a time.
    """
    time = datetime.fromisoformat(text)
    return int((time if time.tzinfo is not None else time.replace(tzinfo=UTC)).timestamp() * 1000)


def _text(most: int) -> StringConstraints:
    return StringConstraints(strip_whitespace=True, max_length=most)


Name = Annotated[str, _text(300)]
Line = Annotated[str, _text(2_000)]
Text = Annotated[str, _text(20_000)]
Lines = Annotated[list[Line], Field(max_length=100)]
Identifier = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(_check_id)]
Day = Annotated[str, AfterValidator(_check_day), Field(json_schema_extra={"format": "date"})]
Time = Annotated[str, AfterValidator(_check_time), Field(json_schema_extra={"format": "date-time"})]
Share = Annotated[float, Field(ge=0, le=1)]
Scope = Literal["focus", "project"]
Kind = Literal["session", "decision", "pattern", "context", "entity"]
KINDS: tuple[Kind, ...] = ("session", "decision", "pattern", "context", "entity")

_SAVED_IN = "Where it belongs: the project, or the focus area that the call names."


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Content(_Model):
    """The content of an artifact."""

    kind: ClassVar[Kind]
    name_field: ClassVar[str]
    body_fields: ClassVar[tuple[str, ...]]
    is_unique: ClassVar[bool] = True  # the same text again is skipped

    @property
    def belongs_to(self) -> Scope:
        """Whether it belongs to the project or to the focus area."""
        return getattr(self, "save_scope", None) or cast("Scope", getattr(self, "scope", "project"))

    def given(self) -> dict[str, Any]:
        """Return the fields that the caller gave, without the scope."""
        return self.model_dump(exclude_unset=True, exclude={"scope", "save_scope"})


class Session(Content):
    """What a session was about."""

    kind, name_field, is_unique = "session", "objective", False
    body_fields = ("actions_taken", "decisions_made", "open_items", "next_actions")
    objective: Line = Field("", description="What the session is for.")
    actions_taken: Lines = Field([], description="What was done.")
    decisions_made: Lines = Field([], description="What was decided.")
    open_items: Lines = Field([], description="What is left.")
    next_actions: Lines = Field([], description="What to do next.")
    save_scope: Scope = Field("project", description=_SAVED_IN)


class Decision(Content):
    """A decision."""

    kind, name_field, body_fields = "decision", "title", ("rationale",)
    title: Name = Field(min_length=1, description="What was decided, such as `Use SQLite for storage`.")
    rationale: Text = Field("", description="Why.")
    owner: Name = Field("", description="Who decided.")
    date: Day = Field("", description="YYYY-MM-DD")
    confidence: Share = Field(1.0, description="How sure it is.")
    scope: Scope = Field("project", description=_SAVED_IN)


class Pattern(Content):
    """What to do when something comes up again."""

    kind, name_field, body_fields = "pattern", "trigger", ("repeatable_steps", "exclusions")
    trigger: Line = Field(min_length=1, description="When it applies.")
    repeatable_steps: Lines = Field([], description="What to do.")
    exclusions: Lines = Field([], description="When not to.")
    last_validated_at: Time | None = Field(None, description="When it last worked; without it: never tried.")
    scope: Scope = Field("project", description=_SAVED_IN)


class Context(Content):
    """Something worth knowing."""

    kind, name_field, body_fields = "context", "topic", ("content",)
    content: Text = Field(min_length=1, description="What to remember.")
    topic: Name = Field("", description="What it is about, such as `auth`; `reference` for a link or a file.")
    relevance_score: Share = Field(1.0, description="How much it matters.")
    scope: Scope = Field("project", description=_SAVED_IN)


class Entity(Content):
    """A named thing, with a fact about it."""

    kind, name_field, body_fields, is_unique = "entity", "entity_name", ("fact",), False
    entity_name: Name = Field(min_length=1, description="Its name, such as `login`.")
    fact: Text = Field("", description="What is true of it.")
    scope: Scope = Field("project", description=_SAVED_IN)


class RelatedEntity(_Model):
    """A relation to another artifact."""

    entity_id: Name = Field(description="The name of an entity, or the id of an artifact of this project.")
    relationship_type: Name = Field("DEPENDS_ON", description="How it is related, such as `READS`.")
    properties: dict[str, Line] = Field({}, description="Details.")


class ToolCall(_Model):
    """The arguments of a tool; the docstring of a tool's model is its description."""

    example: ClassVar[Mapping[str, object]] = {}
    # Optional for every tool: the gate answers a call without a project, and says what to do.
    project_id: Identifier | None = Field(None, description="The project's id, such as `my-project`.")


class Reading(ToolCall):
    """A call that changes nothing."""


class Saving(ToolCall):
    """A call that saves an artifact."""

    focus: Identifier | None = Field(
        None, description="A focus area, such as `auth-refactor`; a new one is created by saving."
    )

    @property
    def saved(self) -> Content:
        """What the call saves."""
        return next(value for _, value in self if isinstance(value, Content))


class GetScopeState(Reading):
    """Tell whether a project, and a focus area of it, exist in memory: resolved, uncertain or unresolved."""

    focus: Identifier | None = Field(None, description="A focus area of the project.")


class SaveSession(Saving):
    """Save what a session was about. Creates the project if it does not exist: call this first."""

    example = {"session": {"objective": "Move the login to OAuth", "next_actions": ["move the mobile app"]}}
    session: Session = Field(description="The session.")


class SaveDecision(Saving):
    """Save a decision. The same one is saved once; `supersedes` hides those that it replaces."""

    example = {"decision": {"title": "Use SQLite for storage", "rationale": "one file, no server"}}
    decision: Decision = Field(description="The decision.")
    supersedes: Annotated[list[Name], Field(max_length=50)] = Field(
        [], description="Ids of the decisions that this one replaces."
    )


class SavePattern(Saving):
    """Save what to do when something comes up again."""

    example = {"pattern": {"trigger": "a migration fails", "repeatable_steps": ["restore the backup"]}}
    pattern: Pattern = Field(description="The pattern.")


class SaveContext(Saving):
    """Save something worth knowing."""

    example = {"context": {"content": "Tokens live for 15 minutes.", "topic": "auth"}}
    context: Context = Field(description="The context.")


class UpsertEntity(Saving):
    """Save a fact about a named thing, in place of its earlier fact, and what it depends on."""

    example = {"entity": {"entity_name": "login", "fact": "is served by auth.py"}}
    entity: Entity = Field(description="The entity.")
    related_entities: Annotated[list[RelatedEntity], Field(max_length=50)] = Field(
        [], description="What it is related to."
    )


class RetrieveContext(Reading):
    """Recall what is saved, first of the focus area, then of the project: what answers a keyword, by words
    and by meaning, or the newest.
    """

    example = {"keyword": "storage"}
    scope: Scope | None = Field(None, description="Where to begin; default: the focus area if one is named.")
    focus: Identifier | None = Field(None, description="A focus area of the project.")
    categories: list[Kind] = Field([], description="Only these kinds.")
    keyword: Line | None = Field(None, description="What to look for, in your own words.")
    topic: Line | None = Field(None, description="The same as `keyword`.")


class MemorySurface(Reading):
    """Search all that is saved of a project and its focus areas for what answers a query."""

    example = {"query": "where do tokens live"}
    query: Line = Field(min_length=1, description="What to look for, in your own words.")
    limit: int = Field(5, ge=1, le=50, description="The most artifacts to return.")


_MODELS: Mapping[str, type[ToolCall]] = {
    "get_scope_state": GetScopeState,
    "retrieve_context": RetrieveContext,
    "memory_surface": MemorySurface,
    "save_session": SaveSession,
    "save_decision": SaveDecision,
    "save_pattern": SavePattern,
    "save_context": SaveContext,
    "upsert_entity_with_deps": UpsertEntity,
}


def read_call(tool: str, arguments: Mapping[str, object]) -> ToolCall:
    """Check the arguments of a tool.

    Raises:
        ArtifactError: an argument breaks a rule.
    """
    try:
        call = _MODELS[tool].model_validate(arguments)
    except ValidationError as error:
        errors = sorted(error.errors(include_url=False), key=lambda item: item["type"] != "extra_forbidden")
        raise _refusal(tool, arguments, errors[0]) from None  # an unknown name explains a missing one
    for path, text in _texts(arguments):
        if is_secret(text):
            raise ArtifactError(
                f"{path}: Contains a secret", hint="Say where the secret is kept, not what it is."
            )
    return call


@cache
def definitions() -> tuple[Schema, ...]:
    """Return the definitions of the tools, always in the same order."""
    return tuple(_definition(name, model) for name, model in _MODELS.items())


def _definition(name: str, model: type[ToolCall]) -> Schema:
    schema = model.model_json_schema()
    models = schema.pop("$defs", {})
    is_reading = issubclass(model, Reading)
    return {
        "name": name,
        "description": " ".join(schema.pop("description").split()),
        "inputSchema": _plain(schema, models),
        "annotations": {
            "readOnlyHint": is_reading,
            "destructiveHint": False,
            "idempotentHint": is_reading,
            "openWorldHint": False,
        },
    }


def _plain(schema: Schema, models: Mapping[str, Schema]) -> Schema:
    """Simplify a schema: no references, titles, nulls, and defaults that mean nothing."""
    plain: Schema = {}
    for key, value in schema.items():
        if key == "$ref":
            plain = {**_plain(models[value.rpartition("/")[2]], models), **plain}
        elif key == "anyOf":  # an optional value
            plain |= _plain(next(choice for choice in value if choice.get("type") != "null"), models)
        elif key == "properties":
            plain[key] = {name: _plain(about, models) for name, about in value.items()}
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            plain[key] = _plain(cast("Schema", value), models)
        elif key != "title" and not (key == "default" and value in (None, "", [], {})):
            plain[key] = value
    return plain


def _refusal(tool: str, arguments: Mapping[str, object], error: ErrorDetails) -> ArtifactError:
    path = ".".join(map(str, error["loc"])) or "arguments"
    question = None
    if error["type"] == "extra_forbidden":
        schema = next(item["inputSchema"] for item in definitions() if item["name"] == tool)
        for step in error["loc"][:-1]:
            schema = schema["items"] if isinstance(step, int) else schema["properties"][step]
        question = did_you_mean(str(error["loc"][-1]), schema["properties"])
    given = {**_MODELS[tool].example, "project_id": arguments.get("project_id") or "my-project"}
    example = f"A call that works: {tool}({json.dumps(given, ensure_ascii=False)})"
    return ArtifactError(f"{path}: {error['msg']}", hint=" ".join(filter(None, (question, example))))


def _texts(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, item in cast("Mapping[str, object]", value).items():
            yield from _texts(item, f"{path}.{key}".removeprefix("."))
    elif isinstance(value, list):
        for at, item in enumerate(cast("list[object]", value)):
            yield from _texts(item, f"{path}.{at}")
