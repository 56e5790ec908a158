"""The rules of all files: what they say of a tool is looked up once, for gates and lists alike.

Blocking beats allowing, and requiring approval beats not requiring it, whichever file does so. A danger level
comes from the most specific pattern, which has the most letters; a weaker file can only raise it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.danger import Danger, Rating, derive
from remit.decision.globs import Glob, GlobIndex
from remit.decision.names import MCP, full_label, normalise, tool_prefix
from remit.decision.scopes import Kind
from remit.decision.tools import Origin, Tool

if TYPE_CHECKING:
    from remit.decision.when import Condition  # costs 3.5 ms, and most processes compile no condition


class Mode(StrEnum):
    """How much an agent may do, named as in the clients."""

    PLAN = "plan"  # nothing above `low`
    DEFAULT = "default"
    ACCEPT_EDITS = "acceptEdits"
    DONT_ASK = "dontAsk"  # tools that would ask are hidden
    BYPASS = "bypass"  # everything except `critical`


class RuleStrength(IntEnum):
    """How strong the rules of a file are, weakest first."""

    NARROWING = 0  # a project's file, which may only restrict
    TRUSTED = 1  # a part of a project's file that the user trusts
    MACHINE = 2
    MANAGED = 3


class ListTarget(StrEnum):
    """What a list applies to."""

    ALL = "all"
    SERVER = "server"
    AGENT = "agent"


class NextStep(NamedTuple):
    """An unlock that is meant for a model: all others are for people."""

    text: str
    tools: tuple[str, ...] = ()  # patterns of the tools to call, of which one must be visible


class ToolList(NamedTuple):
    """An allow or block list, for all tools, or for the servers or agents that match `owner`."""

    target: ListTarget
    owner: Glob
    patterns: tuple[tuple[str, tuple[Glob, ...]], ...]  # each as written, with its parsed forms
    allows: bool
    origin: Origin


class ToolRule(NamedTuple):
    """What one file says of the tools that match a pattern."""

    pattern: str
    globs: tuple[Glob, ...]
    strength: RuleStrength
    origin: Origin
    lines: Mapping[str, int] = {}  # of its keys
    condition: "Condition | None" = None  # states, location and `when`
    call: "Condition | None" = None  # what `when` says of the arguments of a call
    danger: Danger | None = None
    approval: "bool | Condition | None" = None
    ai_enabled: bool | None = None
    namespace: str | None = None

    @property
    def weight(self) -> int:
        """The number of letters in the pattern, which measures how specific it is."""
        return max(sum(map(len, form.parts)) for form in self.globs)

    def at(self, key: str) -> Origin:
        """Return the place of one of its keys; of a rule for a whole file, the file."""
        if not self.origin.key:
            return self.origin
        return Origin(self.origin.path, f"{self.origin.key}.{key}", self.lines.get(key, self.origin.line))


class AnnotationTrust(NamedTuple):
    """Whether the annotations of a server's tools are trusted."""

    server: Glob
    is_trusted: bool
    is_for_projects: bool = False  # also for the project's own servers of this name


class ModeSetting(NamedTuple):
    """A mode that a file sets."""

    mode: Mode
    origin: Origin


class Refusal(NamedTuple):
    """Why a tool may not be used, and the rule that refuses it."""

    reason: str
    origin: Origin
    unlock: str  # how to change the rule


class ToolDanger(NamedTuple):
    """How dangerous a tool is, and whether its calls need approval."""

    rating: Rating
    origin: Origin | None = None  # the rule that sets the rating; None: derived
    approval: Origin | None = None  # the rule that requires approval
    asking: "tuple[tuple[Condition, Origin], ...]" = ()  # conditions, of which any asks if it holds or fails
    is_managed: bool = False  # an administrator requires approval, which no mode lifts


class ModeEffect(NamedTuple):
    """The effect of a mode on a tool."""

    hidden_by: Mode | None
    asks: bool


class ToolRules(tuple[ToolRule, ...]):
    """The rules of a tool; tools with the same ones share it, so its identity is its hash."""

    __slots__ = ()
    __hash__ = object.__hash__


_NOTHING = ToolRules()
_SourcedRating = tuple[Rating, Origin]


class Rules:
    """The combined rules of all files; results are kept per tool."""

    def __init__(
        self,
        tools: Iterable[ToolRule] = (),
        lists: Iterable[ToolList] = (),
        *,
        annotation_trust: Iterable[AnnotationTrust] = (),
        ask_from: tuple[Danger, Origin] | None = None,
        mode: ModeSetting | None = None,  # the default mode
        fixed_mode: ModeSetting | None = None,  # set by an administrator; it can only be narrowed
        unlocks: Mapping[str, str] | None = None,  # how a person makes each state true
        steps: Mapping[str, NextStep] | None = None,  # how a model does
    ) -> None:
        self.tools = tuple(tools)
        self.lists = sorted(lists, key=lambda listed: listed.allows)  # block lists first
        self.annotation_trust = tuple(annotation_trust)
        self.ask_from = ask_from
        self.mode = mode
        self.fixed_mode = fixed_mode
        self.unlocks = unlocks or {}
        self.steps = steps or {}
        # Patterns before names: of two unmet rules, the more general one is named.
        forms = [(form, at) for at, rule in enumerate(self.tools) for form in rule.globs]
        self._by_glob = GlobIndex(((form,), at) for form, at in forms if not form.is_name)
        self._by_name = GlobIndex(((form,), at) for form, at in forms if form.is_name)
        self._rules: dict[str, ToolRules] = {}
        self._shared: dict[tuple[int, ...], ToolRules] = {}
        self._refused: dict[tuple[str | None, ...], Refusal | None] = {}
        self._rated: dict[ToolRules, _CombinedRules] = {}
        usual = mode.mode if mode is not None else Mode.DEFAULT
        fixed = () if fixed_mode is None else (fixed_mode.mode,)
        self._modes = {asked: tuple(dict.fromkeys((*fixed, asked or usual))) for asked in (None, *Mode)}
        self.is_silent = not self.lists and all(rule.ai_enabled is None for rule in self.tools)

    def including(self, tools: Iterable[ToolRule] = (), lists: Iterable[ToolList] = ()) -> "Rules":
        """Return these rules with more of them, which only narrow."""
        return Rules(
            (*self.tools, *tools),
            (*self.lists, *lists),
            annotation_trust=self.annotation_trust,
            ask_from=self.ask_from,
            mode=self.mode,
            fixed_mode=self.fixed_mode,
            unlocks=self.unlocks,
            steps=self.steps,
        )

    def of(self, name: str) -> ToolRules:
        """List the rules of a tool by its canonical name."""
        if not self.tools:
            return _NOTHING
        rules = self._rules.get(name)
        if rules is None:
            at = tuple(dict.fromkeys((*self._by_glob.matching(name), *self._by_name.matching(name))))
            rules = self._shared.get(at)
            if rules is None:
                rules = self._shared[at] = ToolRules(self.tools[index] for index in at)
            self._rules[name] = rules
        return rules

    @property
    def agents(self) -> tuple[str, ...]:
        """For each list that is for some agents only, a name that it applies to."""
        owners = (listed.owner for listed in self.lists if listed.target is ListTarget.AGENT)
        return tuple(dict.fromkeys("".join(owner.parts) for owner in owners))

    def refusal(self, tool: Tool, agents: Collection[str]) -> Refusal | None:
        """Return why a tool is refused to an agent and its parents; None if it is not."""
        key = (tool.name, tool.server, tool.plugin, tool.kind, *agents)
        if key not in self._refused:
            self._refused[key] = self._refusal(tool, agents)
        return self._refused[key]

    def _refusal(self, tool: Tool, agents: Collection[str]) -> Refusal | None:
        for listed in self.lists:
            if _concerns(listed, tool, agents) and (refusal := _list_refusal(listed, tool)):
                return refusal
        for rule in self.of(tool.name):
            if rule.ai_enabled is False:
                return Refusal("switched off for AI", rule.at("ai_enabled"), "set to true")
        return None

    def rate(self, tool: Tool) -> ToolDanger:
        """Rate the danger of a tool."""
        rules = self.of(tool.name)
        if not rules:
            return ToolDanger(derive(tool, trusts_annotations=self._trusts_annotations(tool)))
        combined = self._rated.get(rules)
        if combined is None:
            combined = self._rated[rules] = _combine(rules)
        danger = combined.danger
        if danger is None or (tool.is_projects and not combined.is_for_projects):
            derived = derive(tool, trusts_annotations=self._trusts_annotations(tool))
            if danger is None or derived.level > danger[0].level:
                danger = (derived, None)
        if combined.raised is not None and combined.raised[0].level > danger[0].level:
            danger = combined.raised
        return ToolDanger(*danger, combined.approval, combined.asking, combined.is_managed)

    def is_in(self, mode: Mode, asked: Mode | None) -> bool:
        """Return whether a mode applies; None means the default mode."""
        return mode in self._modes[asked]

    def mode_effect(self, rated: ToolDanger, needs_approval: bool, asked: Mode | None) -> ModeEffect:
        """Return the effect of a mode on a tool; None means the default mode."""
        level = rated.rating.level
        asks = needs_approval or level >= (Danger.CRITICAL if self.ask_from is None else self.ask_from[0])
        modes = self._modes[asked]
        hiding = (mode for mode in modes if _is_hidden(level, asks, mode))
        is_lifted = all(mode is Mode.BYPASS for mode in modes) and not rated.is_managed
        return ModeEffect(next(hiding, None), asks and not is_lifted)

    def _trusts_annotations(self, tool: Tool) -> bool | None:
        """Return whether the configuration trusts a server's annotations; None if it says nothing.

        A project can call its server like one of the user's, so the user's trust by name is not for it.
        """
        matching = [
            trust
            for trust in self.annotation_trust
            if any(map(trust.server.matches, _server_names(tool)))
            and (not trust.is_trusted or trust.is_for_projects or not tool.is_projects)
        ]
        if any(not trust.is_trusted for trust in matching):
            return False
        return True if matching else None if tool.is_trusted is not False else False


NO_RULES = Rules()


def _is_hidden(level: Danger, asks: bool, mode: Mode) -> bool:
    if mode is Mode.PLAN:
        return level > Danger.LOW
    return (mode is Mode.DONT_ASK and asks) or (mode is Mode.BYPASS and level is Danger.CRITICAL)


def _concerns(listed: ToolList, tool: Tool, agents: Collection[str]) -> bool:
    if listed.target is ListTarget.ALL:
        return True
    owners = agents if listed.target is ListTarget.AGENT else _server_names(tool)
    return any(map(listed.owner.matches, owners))


def _list_refusal(listed: ToolList, tool: Tool) -> Refusal | None:
    name = _own_name(tool) if listed.target is ListTarget.SERVER else tool.name
    if listed.allows:
        if any(_admits(form, name, tool) for _, forms in listed.patterns for form in forms):
            return None
        return Refusal("not on the list of allowed tools", listed.origin, "add it to")
    for written, forms in listed.patterns:
        if any(form.matches(name) or form.matches(tool.name) for form in forms):
            return Refusal(f"blocked by `{written}`", listed.origin, f"remove `{written}` from")
    return None


def _admits(form: Glob, name: str, tool: Tool) -> bool:
    """Return whether a pattern allows a tool; a server is allowed if any of its tools may be."""
    if _names_another_server(form, tool):
        return False
    if tool.kind is Kind.MCP_SERVER:
        return form.may_match(name[:-1]) or form.may_match(tool.name[:-1])
    return form.matches(name) or form.matches(tool.name)


def _names_another_server(form: Glob, tool: Tool) -> bool:
    """Return whether a pattern names another server: `mcp__good__*` does not mean the server `good__x`."""
    start = form.parts[0]
    names_one = start.startswith(MCP) and "__" in start.removeprefix(MCP) and not form.is_name
    return (
        names_one and tool.server is not None and not start.startswith(tool_prefix(tool.server, tool.plugin))
    )


def _server_names(tool: Tool) -> tuple[str, ...]:
    if tool.server is None:
        return ()
    return tool.server, full_label(tool.server, tool.plugin), normalise(tool.server)


def _own_name(tool: Tool) -> str:
    prefix = tool_prefix(tool.server or "", tool.plugin)
    return tool.name.removeprefix(prefix) if tool.name.startswith(prefix) else tool.name.rpartition("__")[2]


class _CombinedRules(NamedTuple):
    """What the rules of all files say of a tool's danger and approval."""

    danger: _SourcedRating | None  # from files that may also lower it
    raised: _SourcedRating | None  # from files that may only raise it
    approval: Origin | None
    asking: "tuple[tuple[Condition, Origin], ...]"
    is_managed: bool
    is_for_projects: bool  # the danger is of a project's file that the user trusts, so for its tools too


def _combine(rules: Sequence[ToolRule]) -> _CombinedRules:
    # A trusted part of a project's file beats the machine's file.
    trusted = _rating_of(rules, RuleStrength.TRUSTED)
    user = trusted or _rating_of(rules, RuleStrength.MACHINE)
    requiring = {rule.strength: rule.at("approval") for rule in rules if rule.approval is True}
    if any(rule.approval is False and rule.strength is RuleStrength.TRUSTED for rule in rules):
        requiring.pop(RuleStrength.MACHINE, None)
    strongest = max(requiring, default=None)
    return _CombinedRules(
        _worst(filter(None, (_rating_of(rules, RuleStrength.MANAGED), user))),
        _rating_of(rules, RuleStrength.NARROWING),
        None if strongest is None else requiring[strongest],
        tuple(
            (rule.approval, rule.at("approval"))
            for rule in rules
            if not isinstance(rule.approval, bool | None)
        ),
        strongest is RuleStrength.MANAGED,
        trusted is not None,
    )


def _rating_of(rules: Sequence[ToolRule], strength: RuleStrength) -> _SourcedRating | None:
    rating = [rule for rule in rules if rule.strength is strength and rule.danger is not None]
    heaviest = max((rule.weight for rule in rating), default=0)
    return _worst(
        (Rating(rule.danger, "as configured"), rule.at("danger"))
        for rule in rating
        if rule.danger is not None and rule.weight == heaviest
    )


def _worst(ratings: Iterable[_SourcedRating]) -> _SourcedRating | None:
    return max(ratings, key=lambda rating: rating[0].level, default=None)
