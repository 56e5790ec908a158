"""Checks conditions when they are loaded: unknown names, type errors, and conditions that can never hold."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from remit.conditions.condition import Condition
from remit.conditions.printer import write
from remit.conditions.satisfiability import contradiction
from remit.conditions.syntax import NOWHERE, CelType, Node
from remit.conditions.type_check import Schema, type_complaints
from remit.errors import ConditionError
from remit.files.json_positions import position

LOCATION: Schema = {
    "page": CelType.STRING,
    "route": CelType.STRING,
    "modal": CelType.STRING,
    "selected": CelType.DYN,
    "depth": CelType.INT,
    "components": CelType.LIST,
    "elements": CelType.LIST,
}


class Flaw(StrEnum):
    """The kind of mistake."""

    NAME = "name"  # unknown state or variable
    TYPE = "type"  # the types cannot be compared
    NEVER = "never"  # can never hold


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionMistake:
    """A mistake in a condition; it has no position if the condition was not written as text."""

    flaw: Flaw
    message: str
    hint: str | None = None
    line: int | None = None
    column: int | None = None

    def as_error(self) -> ConditionError:
        """Return the mistake as an exception."""
        at = {"line": self.line, "column": self.column} if self.line and self.column else {}
        prefix = "it can never be available: " if self.flaw is Flaw.NEVER else ""
        return ConditionError(f"{prefix}{self.message}", hint=self.hint, **at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The states and typed variables that conditions may use."""

    states: Collection[str] = ()
    variables: Schema = field(default_factory=lambda: {"location": LOCATION})


def check(read: Condition, vocabulary: Vocabulary) -> list[ConditionMistake]:
    """List the mistakes in a parsed condition."""
    found = [
        _mistake(Flaw.NAME if each.is_name else Flaw.TYPE, each.message, each.hint, each.node, read.when)
        for each in type_complaints(read.root, vocabulary.states, vocabulary.variables)
    ]
    return found or [*_never(read)]


def _never(read: Condition) -> Iterator[ConditionMistake]:
    match contradiction(read.root):
        case (one, other):
            message = f"`{write(one)}` and `{write(other)}` can never both hold"
            yield _mistake(Flaw.NEVER, message, None, other if other.at != NOWHERE else one, read.when)
        case (node,):
            yield _mistake(Flaw.NEVER, f"`{write(node)}` can never hold", None, node, read.when)
        case _:
            pass


def _mistake(flaw: Flaw, message: str, hint: str | None, node: Node, text: str) -> ConditionMistake:
    if node.at == NOWHERE:
        return ConditionMistake(flaw=flaw, message=message, hint=hint)
    line, column = position(text, node.at)
    return ConditionMistake(flaw=flaw, message=message, hint=hint, line=line, column=column)
