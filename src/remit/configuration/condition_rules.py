"""The conditions in configuration files: evaluated for decisions, and checked when a file changes."""

import shlex
from collections.abc import Collection, Iterator, Sequence

from remit.conditions.check import LOCATION, ConditionMistake, Flaw, Schema, Vocabulary, check
from remit.conditions.condition import Condition, Mentions, condition
from remit.conditions.failure_reasons import summarize
from remit.conditions.syntax import And, CelType, Node, Not, Or, State
from remit.configuration.config_model import (
    OF_A_PROJECT,
    ConfigurationContent,
    ConfigurationFile,
    ConfigurationMistake,
    ToolEntry,
)
from remit.configuration.merged_configuration import Configuration, ToolRule
from remit.decision.requirements import Dependencies
from remit.decision.state_snapshot import Implications, Snapshot, StateValue
from remit.errors import ConditionError, StateError
from remit.text.spelling import did_you_mean

GIT: Schema = {
    "repository": CelType.BOOL,
    "branch": CelType.STRING,
    "detached": CelType.BOOL,
    "merging": CelType.BOOL,
    "rebasing": CelType.BOOL,
}
ENTITIES = "entities"
VARIABLES: Schema = {
    "git": GIT,
    "location": LOCATION,
    "project": {"name": CelType.STRING, "path": CelType.STRING},
    "workspace": {"path": CelType.STRING},
    "client": CelType.STRING,
    "agent": {"name": CelType.STRING},
    "os": CelType.STRING,
}


_ANYWHERE = Vocabulary(
    variables={**VARIABLES, "env": CelType.MAP, ENTITIES: CelType.MAP}
)  # independent of other files


class RuleCondition:
    """The condition of one rule, parsed on first use."""

    def __init__(self, entry: ToolEntry, withheld: Collection[str] = ()) -> None:
        self._entry = entry
        self._withheld = withheld  # states of weaker files, which the condition must not depend on
        self._read: Condition | None = None
        self._mentions: Mentions | None = None
        self._wanted: tuple[str, ...] | None = None

    def judge(self, snapshot: Snapshot) -> StateValue:
        """Evaluate the condition; the result of an invalid one is unknown."""
        try:
            if relied := self._relied_on():
                return StateValue(None, f"needs state {relied}, which only the project's own files declare")
            return self._condition().judge(snapshot)
        except ConditionError as error:
            return StateValue(None, f"its condition is invalid: {error}")

    def summary(self, snapshot: Snapshot) -> str:
        """Name the states for which it does not hold, without what they depend on."""
        try:
            if relied := self._relied_on():
                return f"state `{relied}` is ignored here"
            return summarize(self._condition().root, snapshot)
        except ConditionError:
            return "its condition is invalid"

    def missing(self, snapshot: Snapshot) -> Sequence[str]:
        """List the required states that do not hold."""
        try:
            if self._wanted is None:
                self._wanted = tuple(dict.fromkeys(_wanted(self._condition().root)))
        except ConditionError:
            return ()
        return [name for name in self._wanted if not snapshot.known.get(name)]

    def dependencies(self) -> Dependencies:
        """Return the states and variables that the condition reads."""
        try:
            asked = self._mentioned()
        except ConditionError:
            return Dependencies()
        return Dependencies(asked.states, frozenset(path[0] for path in asked.variables))

    def _relied_on(self) -> str | None:
        if not self._withheld:
            return None
        asked = self._mentioned()
        counted = {path[1] for path in asked.variables if path[0] == ENTITIES and len(path) > 1}
        return next(iter(sorted((asked.states | counted).intersection(self._withheld))), None)

    def _mentioned(self) -> Mentions:
        if self._mentions is None:
            self._mentions = self._condition().mentions
        return self._mentions

    def _condition(self) -> Condition:
        if self._read is None:
            self._read = read_condition(self._entry)
        return self._read


def _wanted(node: Node, *, is_so: bool = True) -> Iterator[str]:
    match node:
        case State(name) if is_so:
            yield name
        case Not(operand):
            yield from _wanted(operand, is_so=not is_so)
        case And(parts) | Or(parts):
            for part in parts:
                yield from _wanted(part, is_so=is_so)
        case _:
            pass


def read_condition(entry: ToolEntry) -> Condition:
    """Read the condition of a tool.

    Raises:
        ConditionError: the condition is invalid.
    """
    return condition(states=entry.states, when=entry.when, location=entry.location)


def mistakes_in(content: ConfigurationContent) -> list[ConfigurationMistake]:
    """List the mistakes in one file's states and conditions that do not depend on other files."""
    return [*_circles(content), *(each for entry in content.tools for each in _unreadable(entry))]


def _circles(content: ConfigurationContent) -> Iterator[ConfigurationMistake]:
    try:
        Implications(
            [entry.name for entry in content.states], {entry.name: entry.implies for entry in content.states}
        )
    except StateError as error:
        yield ConfigurationMistake(("states",), str(error), error.hint)


def _unreadable(entry: ToolEntry) -> Iterator[ConfigurationMistake]:
    for key in ("states", "when", "location"):
        if getattr(entry, key) is None:
            continue
        alone = ToolEntry(entry.pattern)._replace(**{key: getattr(entry, key)})
        try:
            found = check(read_condition(alone), _ANYWHERE)
        except ConditionError as error:
            line, column = (error.line, error.column) if key == "when" else (0, 0)
            yield ConfigurationMistake(("tools", entry.pattern, key), str(error), error.hint, line, column)
        else:
            # Comparing different types is a mistake: `git.branch != 3` would always hold.
            yield from (_mistake(entry, key, each) for each in found if each.flaw is Flaw.TYPE)


def mistakes_of(configuration: Configuration) -> Iterator[tuple[ConfigurationFile, ConfigurationMistake]]:
    """List the mistakes that appear after merging: undeclared names, and conditions that can never hold."""
    for rule in configuration.rules:
        if rule.entry.has_condition:
            yield from ((rule.file, each) for each in _mistakes_of_rule(rule, configuration))
    yield from _idle(configuration)
    for conflict in configuration.conflicts:
        hint = (
            f"`remit trust {shlex.quote(conflict.name)}` shows it"
            if _may_be_trusted(conflict.reason)
            else None
        )
        yield conflict.file, ConfigurationMistake(("states", conflict.name), conflict.reason, hint)


def _mistakes_of_rule(rule: ToolRule, configuration: Configuration) -> Iterator[ConfigurationMistake]:
    entry = rule.entry
    try:
        found = check(read_condition(entry), vocabulary(configuration, rule.file))
    except ConditionError:
        return  # already reported for the single file
    for each in found:
        is_of_when = each.line is not None
        yield _mistake(entry, "when" if is_of_when or entry.states is None else "states", each)


def _mistake(entry: ToolEntry, key: str, flaw: ConditionMistake) -> ConfigurationMistake:
    return ConfigurationMistake(
        ("tools", entry.pattern, key), flaw.message, flaw.hint, flaw.line or 0, flaw.column or 0
    )


def _idle(configuration: Configuration) -> Iterator[tuple[ConfigurationFile, ConfigurationMistake]]:
    """List the states that can never become true."""
    implied = {
        other
        for state in configuration.states.values()
        for other in _others(state.entry.name, state.entry.implies)
    }
    for name, state in configuration.states.items():
        entry = state.entry
        if entry.detector is None and entry.kind != "workflow" and name not in implied:
            message = "it has no detector, and no state implies it: nothing makes it true"
            yield (
                state.file,
                ConfigurationMistake(("states", name), message, 'give it a detector, or `kind = "workflow"`'),
            )
        for other in entry.implies:
            if other not in configuration.states and other not in implied - {other}:
                hint = did_you_mean(other, configuration.states)
                if hint is not None:
                    yield (
                        state.file,
                        ConfigurationMistake(("states", name, "implies"), f"`{other}` is not declared", hint),
                    )


def _others(name: str, implies: Sequence[str]) -> Iterator[str]:
    parts = name.split(".")
    yield from (".".join(parts[:at]) for at in range(1, len(parts)))
    yield from implies


def _may_be_trusted(reason: str) -> bool:
    return reason.startswith("it ")


def vocabulary(configuration: Configuration, file: ConfigurationFile) -> Vocabulary:
    """Return the names that a file's conditions may use, without those of weaker files."""
    is_project = file.layer in OF_A_PROJECT
    known = configuration.implications.names
    states = {name for name in known if is_project or name in configuration.foreign}
    if is_project:
        states |= configuration.waiting
    counted = {
        name: CelType.INT
        for name, state in configuration.states.items()
        if name in states and state.entry.detector is not None and state.entry.detector.counts
    }
    return Vocabulary(
        states=states,
        variables={
            **VARIABLES,
            "env": dict.fromkeys(configuration.env, CelType.STRING),
            ENTITIES: counted,
        },
    )
