"""Pydantic models and field types whose errors name the field and the broken rule."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Self, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    ValidationError,
    model_validator,
)
from pydantic_core import CoreSchema, ErrorDetails, PydanticCustomError, core_schema

from remit.errors import ONE_OF_THE_FIELDS, ArtifactError
from remit.memory.artifacts import ArtifactKind, ObservationType, Relation
from remit.memory.memory_scopes import MAX_ID, MemoryScope
from remit.memory.value_checks import (
    DEFAULT_SURFACED,
    MAX_ITEMS,
    MAX_LINE,
    MAX_NAME,
    MAX_QUERY,
    MAX_SURFACED,
    MAX_TEXT,
    checked_choice,
    checked_day,
    checked_flag,
    checked_id,
    checked_list,
    checked_properties,
    checked_share,
    checked_text,
    checked_time,
    checked_whole,
    shown,
)
from remit.text.spelling import did_you_mean

Schema = dict[str, Any]
_RULE = "rule"


@dataclass(frozen=True, slots=True, eq=False)  # type hints must be hashable
class Checked:
    """Annotates a field with a check and a JSON schema."""

    check: Callable[[object], object]
    schema: Schema
    is_before: bool = False  # the field's own type checks the items afterwards

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        if self.is_before:
            return core_schema.no_info_before_validator_function(self._checked, handler(source))
        return core_schema.no_info_plain_validator_function(self._checked)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: Callable[[CoreSchema], Schema]
    ) -> Schema:
        return {**handler(schema), **self.schema} if self.is_before else dict(self.schema)

    def _checked(self, value: object) -> object:
        try:
            return self.check(value)
        except ArtifactError as error:
            raise _broken(error.rule, error.got, error.hint, member=error.field.removeprefix(".")) from None


def text(most: int) -> Checked:
    """Annotate a text."""
    return Checked(
        lambda value: checked_text(value, "", most), {"type": "string", "minLength": 1, "maxLength": most}
    )


def items(most: int) -> Checked:
    """Annotate a list."""
    return Checked(lambda value: checked_list(value, most), {"maxItems": most}, is_before=True)


def choice(choices: type[StrEnum]) -> Checked:
    """Annotate the value of an enumeration member."""
    return Checked(lambda value: checked_choice(value, choices), _words(*choices))


def _words(*words: str) -> Schema:
    return {"type": "string", "enum": list(words)}


def _relation(value: object) -> Relation:
    relation = checked_choice(value, Relation)
    if relation is Relation.SUPERSEDES:
        raise ArtifactError("", "another relation", "SUPERSEDES, which is for decisions")
    return relation


def _kinds(value: object) -> list[ArtifactKind]:
    given = checked_list(value, len(ArtifactKind))
    if any(each not in list(ArtifactKind) for each in given):
        raise ArtifactError("", f"a list of {', '.join(ArtifactKind)}", "another")
    return [ArtifactKind(str(each)) for each in dict.fromkeys(given)]


Identifier = Annotated[str, Checked(checked_id, {"type": "string", "minLength": 1, "maxLength": MAX_ID})]
Line = Annotated[str, text(MAX_LINE)]
Lines = Annotated[list[Line], items(MAX_ITEMS)]
Name = Annotated[str, text(MAX_NAME)]
LongText = Annotated[str, text(MAX_TEXT)]
Query = Annotated[str, text(MAX_QUERY)]
ArtifactId = Annotated[str, text(MAX_ID)]
Scope = Annotated[MemoryScope, choice(MemoryScope)]
Share = Annotated[float, Checked(checked_share, {"type": "number", "minimum": 0, "maximum": 1})]
Day = Annotated[str, Checked(checked_day, {"type": "string", "format": "date"})]
Time = Annotated[
    str | None,
    Checked(checked_time, {"type": ["string", "null"], "format": "date-time"}),
]
Properties = Annotated[dict[str, object], Checked(checked_properties, {"type": "object"})]
RelationType = Annotated[
    Relation, Checked(_relation, _words(*(each for each in Relation if each is not Relation.SUPERSEDES)))
]
ObservedType = Annotated[
    str, Checked(lambda value: checked_choice(value, ObservationType).value, _words(*ObservationType))
]
Kinds = Annotated[list[ArtifactKind], Checked(_kinds, {"type": "array", "items": _words(*ArtifactKind)})]
Limit = Annotated[
    int,
    Checked(
        lambda value: checked_whole(value, 1, MAX_SURFACED),
        {"type": "integer", "minimum": 1, "maximum": MAX_SURFACED, "default": DEFAULT_SURFACED},
    ),
]
Flag = Annotated[bool, Checked(checked_flag, {"type": "boolean", "default": False})]


class CheckedModel(BaseModel):
    """A model whose errors name the field and the broken rule."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def read(cls, given: object, path: str = "") -> Self:
        """Validate a caller's input.

        Raises:
            ArtifactError: the input breaks a rule.
        """
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            raise _artifact_error(error.errors()[0], path) from None

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, given: object) -> object:
        if not isinstance(given, Mapping):
            raise _broken("an object", shown(given))
        known = sorted(cls.model_fields, key=lambda name: not cls.model_fields[name].is_required())
        for key in cast("Mapping[object, object]", given):
            if key not in known:
                rule = f"{ONE_OF_THE_FIELDS}{', '.join(known)}"
                hint = did_you_mean(str(key), known)
                raise _broken(rule, "unknown", hint, member=shown(key, quoted=False))
        return cast("object", given)


def _broken(rule: str, got: str, hint: str | None = None, *, member: str = "") -> PydanticCustomError:
    return PydanticCustomError(_RULE, "{rule}", {"rule": rule, "got": got, "hint": hint, "member": member})


def _artifact_error(error: ErrorDetails, path: str) -> ArtifactError:
    steps = [path, *error["loc"]]
    broken = error.get("ctx", {})
    if error["type"] != _RULE:  # pydantic itself only reports missing fields
        return ArtifactError(_path(steps), "given", "missing")
    return ArtifactError(
        _path([*steps, broken["member"]]) or "arguments", broken["rule"], broken["got"], hint=broken["hint"]
    )


def _path(steps: Sequence[int | str]) -> str:
    written = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps if step != "")
    return "".join(written).removeprefix(".")
