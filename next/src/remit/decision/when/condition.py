"""Conditions on the use of a tool, built from its states, its `when` and its location."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple, TypeAlias, TypeVar

from remit.decision.snapshot import Snapshot, StateValue
from remit.decision.when.evaluate import ARGUMENTS, FailedError, path_text, truth
from remit.decision.when.explain import explain, required_states, summarize
from remit.decision.when.paths import name_pattern, path_pattern
from remit.decision.when.syntax import (
    Junction,
    MatchAny,
    MatchPath,
    Node,
    Not,
    State,
    Variable,
    parse,
    walk,
)
from remit.errors import ConditionError, StateError

_ENTITIES = "entities"  # the variable that holds the counts of states

Parts: TypeAlias = tuple[tuple[str, Node | ConditionError], ...]  # each with its key: `when`
_Scope = TypeVar("_Scope")


class StateScope(NamedTuple):
    """The states that a tool requires; a plain list means `all`."""

    all: tuple[str, ...] = ()
    any: tuple[str, ...] | None = None
    none: tuple[str, ...] = ()


class LocationScope(NamedTuple):
    """The location that a tool requires; None means any."""

    pages: tuple[str, ...] | None = None  # any of these
    routes: tuple[str, ...] | None = None  # any of these
    components: tuple[str, ...] | None = None  # all of these are shown
    elements: tuple[str, ...] | None = None  # all of these are shown


class Mentions(NamedTuple):
    """The states and variables that a condition reads; only a change in one of them can change its result."""

    states: frozenset[str]
    variables: frozenset[tuple[str, ...]]  # as paths: `("git", "branch")`


class Condition:
    """What a rule asks of states, variables, arguments and location; parsed on first use.

    A condition that cannot be parsed never holds; `mistakes_in` says why.
    """

    def __init__(
        self,
        states: StateScope | None = None,
        when: str | None = None,
        location: LocationScope | None = None,
        withheld: Collection[str] = (),
    ) -> None:
        self.states = states
        self.when = when
        self.location = location
        self._withheld = frozenset(withheld)  # states of weaker files, which it must not depend on
        self._judged: tuple[Snapshot | None, StateValue] = (None, StateValue(None, ""))

    @cached_property
    def parts(self) -> Parts:
        """What was written under each key, or the reason why it cannot be parsed."""
        return (
            *_read("states", self.states, _of_states),
            *_read("when", self.when, lambda text: [parse(text)]),
            *_read("location", self.location, _of_location),
        )

    @cached_property
    def mentions(self) -> Mentions:
        """The states and variables that it reads, as far as it can be parsed."""
        nodes = [node for part in self._nodes for node in walk(part)]
        return Mentions(
            states=frozenset(node.name for node in nodes if isinstance(node, State)),
            variables=frozenset(node.path for node in nodes if isinstance(node, Variable)),
        )

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        """The arguments of a call that it reads: `args.branch`."""
        return tuple(sorted(path_text(path) for path in self.mentions.variables if path[0] == ARGUMENTS))

    def split(self) -> "tuple[Condition | None, Condition | None]":
        """Divide it into what can be decided before a call, and what depends on the arguments of one."""
        if ARGUMENTS not in (self.when or "") or self._obstacle or not self.arguments:
            return self, None
        conjuncts = [(key, node) for key, part in self.parts for node in _conjuncts(part)]
        before = tuple(part for part in conjuncts if not _reads_arguments(part[1]))
        return self._only(before), self._only(tuple(part for part in conjuncts if part not in before))

    def _only(self, parts: Parts) -> "Condition | None":
        if not parts:
            return None
        condition = Condition(withheld=self._withheld)
        condition.parts = parts
        return condition

    def truth(self, snapshot: Snapshot) -> bool | None:
        """Return whether it holds; None if unknown."""
        try:
            return None if self._obstacle else truth(self._root, snapshot)
        except FailedError:
            return None

    def judge(self, snapshot: Snapshot, args: Mapping[str, object] | None = None) -> StateValue:
        """Return whether it holds; if not, the reason says what it needs, for people."""
        if self._obstacle:
            return StateValue(None, self._obstacle[1])
        if args is not None and self.arguments:
            try:
                return self._judge(self._with_arguments(snapshot, args))
            except StateError as error:
                return StateValue(None, str(error))
        if self._judged[0] is not snapshot:  # a catalog asks for each tool of a rule
            self._judged = snapshot, self._judge(snapshot)
        return self._judged[1]

    def summary(self, snapshot: Snapshot) -> str:
        """Say what is missing, for a model: names of states, never how they are detected."""
        return self._obstacle[0] if self._obstacle else summarize(self._root, snapshot)

    def missing(self, snapshot: Snapshot) -> list[str]:
        """List the states that would have to hold."""
        required = () if self._obstacle else dict.fromkeys(required_states(self._root))
        return [name for name in required if not snapshot.known.get(name)]

    def _judge(self, snapshot: Snapshot) -> StateValue:
        is_true = self.truth(snapshot)
        return StateValue(is_true, "" if is_true else explain(self._root, snapshot))

    def _with_arguments(self, snapshot: Snapshot, args: Mapping[str, object]) -> Snapshot:
        """Add the arguments that it reads; others may have values that conditions cannot compare."""
        paths = [path for path in self.mentions.variables if path[0] == ARGUMENTS]
        names = args if (ARGUMENTS,) in paths else {path[1] for path in paths}
        given = {name: args[name] for name in names if name in args}
        return Snapshot(snapshot.states, {**snapshot.values, ARGUMENTS: given})

    @property
    def _nodes(self) -> tuple[Node, ...]:
        return tuple(part for _, part in self.parts if not isinstance(part, ConditionError))

    @cached_property
    def _root(self) -> Node:
        nodes = self._nodes
        return nodes[0] if len(nodes) == 1 else Junction(False, nodes)

    @cached_property
    def _obstacle(self) -> tuple[str, str] | None:
        """Why it never holds, for models and for people; None if it can."""
        for _, part in self.parts:
            if isinstance(part, ConditionError):
                return "its condition is invalid", f"its condition is invalid: {part}"
        counted = {path[1] for path in self.mentions.variables if path[0] == _ENTITIES and len(path) > 1}
        for name in sorted(self._withheld & (self.mentions.states | counted)):
            reason = f"needs state {name}, which only the project's own files declare"
            return f"state `{name}` is ignored here", reason
        return None


def _reads_arguments(root: Node | ConditionError) -> bool:
    return not isinstance(root, ConditionError) and any(
        isinstance(node, Variable) and node.path[0] == ARGUMENTS for node in walk(root)
    )


def _conjuncts(node: Node | ConditionError) -> "Iterator[Node | ConditionError]":
    if isinstance(node, Junction) and not node.decisive:
        for part in node.parts:
            yield from _conjuncts(part)
    else:
        yield node


def _read(key: str, scope: _Scope | None, nodes: Callable[[_Scope], Iterable[Node]]) -> Parts:
    if scope is None:
        return ()
    try:
        return tuple((key, node) for node in nodes(scope))
    except ConditionError as error:
        return ((key, error),)


def _of_states(scope: StateScope) -> Iterator[Node]:
    yield from map(State, scope.all)
    yield from _any_of("any", scope.any, State)
    yield from (Not(State(name)) for name in scope.none)


def _of_location(scope: LocationScope) -> Iterator[Node]:
    page, route, components, elements = (
        Variable(("location", name), f"location.{name}")
        for name in ("page", "route", "components", "elements")
    )
    yield from _any_of("pages", scope.pages, lambda text: MatchPath(page, path_pattern(text)))
    yield from _any_of("routes", scope.routes, lambda text: MatchPath(route, path_pattern(text)))
    for name, variable, patterns in (
        ("components", components, scope.components),
        ("elements", elements, scope.elements),
    ):
        yield from (MatchAny(variable, name_pattern(text)) for text in _some(name, patterns))


def _any_of(key: str, texts: tuple[str, ...] | None, part: Callable[[str], Node]) -> Iterator[Node]:
    parts = tuple(map(part, _some(key, texts)))
    if parts:
        yield parts[0] if len(parts) == 1 else Junction(True, parts)


def _some(key: str, texts: tuple[str, ...] | None) -> tuple[str, ...]:
    if texts == ():
        hint = f"name something, or drop `{key}`"
        raise ConditionError(f"`{key}` is empty, so the condition can never hold", hint=hint)
    return texts or ()
