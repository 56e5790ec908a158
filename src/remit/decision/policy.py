"""The policy: which tools are allowed, how dangerous each tool is, and what the mode does with it.

Blocking beats allowing, and requiring approval beats not requiring it, whichever file does so. A danger level
comes from the most specific pattern, which has the most letters; a weaker file can only raise it.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from remit.decision.danger import Danger, Rating, derive
from remit.decision.definitions.definition_changes import ChangePolicy
from remit.decision.definitions.project_lock import ProjectLock
from remit.decision.globs import Glob, GlobIndex
from remit.decision.kinds import Authority, Kind
from remit.decision.policy_rules import (
    AnnotationTrust,
    ConfigLocation,
    ListTarget,
    Mode,
    ModeEffect,
    ModeSetting,
    Refusal,
    RuleStrength,
    SafetyRule,
    ToolDanger,
    ToolList,
)
from remit.decision.tool_names import MCP, full_label, normalise, tool_prefix
from remit.decision.tools import Tool


class Policy:
    """The combined rules of all files; results are cached per tool."""

    def __init__(
        self,
        *,
        lists: Iterable[ToolList] = (),
        safety_rules: Iterable[SafetyRule] = (),
        annotation_trust: Iterable[AnnotationTrust] = (),
        ask_from: tuple[Danger, ConfigLocation] | None = None,
        mode: ModeSetting | None = None,  # the default mode
        fixed_mode: ModeSetting | None = None,  # set by an administrator; it can only be narrowed
        changes: ChangePolicy = ChangePolicy.HARMLESS,  # which changed definitions are accepted
        unread: ConfigLocation | None = None,  # a file that was never valid
        lock: ProjectLock | None = None,  # of the project
    ) -> None:
        self._lists = sorted(lists, key=lambda each: each.allows)  # block lists first
        self._safety_rules = tuple(safety_rules)
        self._by_name = GlobIndex((each.globs, each) for each in self._safety_rules)
        self._annotation_trust = tuple(annotation_trust)
        self._refused: dict[tuple[str | None, ...], Refusal | None] = {}
        self._combined: dict[str, _CombinedRules] = {}
        self.ask_from = ask_from
        self.mode = mode
        self.fixed_mode = fixed_mode
        self.changes = changes
        self.lock = lock
        self._unread = unread
        self.is_silent = not (unread or self._lists or any(each.ai_enabled for each in self._safety_rules))
        usual = mode.mode if mode is not None else Mode.DEFAULT
        fixed = () if fixed_mode is None else (fixed_mode.mode,)
        self._modes = {each: tuple(dict.fromkeys((*fixed, each or usual))) for each in (None, *Mode)}
        self._mode_effects: dict[tuple[Danger, bool, bool, Mode | None], ModeEffect] = {}

    def narrowed(self, more: ToolList) -> "Policy":
        """Return this policy with one more list."""
        return self._with(lists=(*self._lists, more), safety_rules=self._safety_rules)

    def including(self, safety_rules: Iterable[SafetyRule]) -> "Policy":
        """Return this policy with more safety rules, which do not come from files."""
        return self._with(lists=self._lists, safety_rules=(*self._safety_rules, *safety_rules))

    def _with(self, *, lists: Sequence[ToolList], safety_rules: Sequence[SafetyRule]) -> "Policy":
        return Policy(
            lists=lists,
            safety_rules=safety_rules,
            annotation_trust=self._annotation_trust,
            ask_from=self.ask_from,
            mode=self.mode,
            fixed_mode=self.fixed_mode,
            changes=self.changes,
            unread=self._unread,
            lock=self.lock,
        )

    def refusal(self, tool: Tool, agents: Sequence[str]) -> Refusal | None:
        """Return why a tool is refused to an agent and its parents; None if it is not."""
        if self._unread is not None and not _is_clients_own(tool):  # which is needed to fix the file
            return Refusal(
                "a configuration file is invalid, so all tools are hidden until it is fixed",
                self._unread,
                "fix",
            )
        key = (tool.name, tool.server, tool.plugin, tool.kind, *agents)
        if key not in self._refused:
            self._refused[key] = self._refusal(tool, agents)
        return self._refused[key]

    @property
    def agents(self) -> tuple[str, ...]:
        """For each list that is for some agents only, a name that it applies to."""
        listed = (each.owner for each in self._lists if each.target is ListTarget.AGENT)
        return tuple(dict.fromkeys("".join(owner.parts) for owner in listed))

    def rate(self, tool: Tool) -> ToolDanger:
        """Rate the danger of a tool."""
        if not (self._safety_rules or self._annotation_trust):
            return ToolDanger(derive(tool, trusts_annotations=self._trusts_annotations(tool)))
        combined = self._combined.get(tool.name)
        if combined is None:
            combined = _combine(self._by_name.matching(tool.name))
            self._combined[tool.name] = combined
        danger = combined.danger
        if danger is None or (tool.is_projects and not combined.is_for_projects):
            derived = derive(tool, trusts_annotations=self._trusts_annotations(tool))
            if danger is None or derived.level > danger[0].level:
                danger = (derived, None)
        if combined.raised is not None and combined.raised[0].level > danger[0].level:
            danger = combined.raised
        return ToolDanger(*danger, combined.approval, combined.is_managed)

    def is_in(self, mode: Mode, asked: Mode | None) -> bool:
        """Return whether a mode applies; None means the default mode."""
        return mode in self._modes[asked]

    def mode_effect(self, rated: ToolDanger, mode: Mode | None) -> ModeEffect:
        """Return the effect of a mode on a tool; None means the default mode."""
        key = (rated.rating.level, rated.approval is not None, rated.is_managed, mode)
        found = self._mode_effects.get(key)
        if found is None:
            found = self._mode_effects[key] = self._mode_effect(*key)
        return found

    def _mode_effect(
        self, level: Danger, needs_approval: bool, is_managed: bool, asked: Mode | None
    ) -> ModeEffect:
        asks = needs_approval or level >= (Danger.CRITICAL if self.ask_from is None else self.ask_from[0])
        modes = self._modes[asked]
        hiding = (mode for mode in modes if _is_hidden(level, asks, mode))
        is_lifted = all(mode is Mode.BYPASS for mode in modes) and not is_managed
        return ModeEffect(next(hiding, None), asks and not is_lifted)

    def _refusal(self, tool: Tool, agents: Sequence[str]) -> Refusal | None:
        for each in self._lists:
            if _concerns(each, tool, agents) and (refusal := _list_refusal(each, tool)):
                return refusal
        for rule in self._by_name.matching(tool.name):
            if rule.ai_enabled is not None and not rule.ai_enabled[0]:
                return Refusal("switched off for AI", rule.ai_enabled[1], "set to true")
        return None

    def _trusts_annotations(self, tool: Tool) -> bool | None:
        """Return whether the configuration trusts a server's annotations; None if it says nothing.

        A project can call its server like one of the user's, so the user's trust by name is not for it.
        """
        matching = [
            each
            for each in self._annotation_trust
            if any(map(each.server.matches, _server_names(tool)))
            and (not each.is_trusted or each.is_for_projects or not tool.is_projects)
        ]
        if any(not each.is_trusted for each in matching):
            return False
        return True if matching else None if tool.is_trusted is not False else False


NO_POLICY = Policy()


def _is_hidden(level: Danger, asks: bool, mode: Mode) -> bool:
    if mode is Mode.PLAN:
        return level > Danger.LOW
    return (mode is Mode.DONT_ASK and asks) or (mode is Mode.BYPASS and level is Danger.CRITICAL)


def _concerns(listed: ToolList, tool: Tool, agents: Sequence[str]) -> bool:
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
    """The safety rules of all files for one tool."""

    danger: "_SourcedRating | None"  # from files that may also lower it
    raised: "_SourcedRating | None"  # from files that may only raise it
    approval: ConfigLocation | None
    is_managed: bool
    is_for_projects: bool  # the danger is of a project's file that the user trusts, so for its tools too


_SourcedRating = tuple[Rating, ConfigLocation]


def _combine(covering: Sequence[SafetyRule]) -> _CombinedRules:
    # A trusted part of a project's file beats the machine's file.
    trusted = _rating_of(covering, RuleStrength.TRUSTED)
    user = trusted or _rating_of(covering, RuleStrength.MACHINE)
    approval, is_managed = _approval(covering)
    return _CombinedRules(
        _worst(filter(None, (_rating_of(covering, RuleStrength.MANAGED), user))),
        _rating_of(covering, RuleStrength.NARROWING),
        approval,
        is_managed,
        trusted is not None,
    )


def _is_clients_own(tool: Tool) -> bool:
    """Tell whether a client brings a tool along, unlike a tool that an application declares."""
    return tool.kind is Kind.BUILTIN and tool.authority is not Authority.CONFIG


def _rating_of(covering: Sequence[SafetyRule], strength: RuleStrength) -> _SourcedRating | None:
    found = [each for each in covering if each.strength is strength and each.danger is not None]
    heaviest = max((each.weight for each in found), default=0)
    settings = [each.danger for each in found if each.danger is not None and each.weight == heaviest]
    return _worst((Rating(level, "as configured"), origin) for level, origin in settings)


def _worst(ratings: Iterable[_SourcedRating]) -> _SourcedRating | None:
    return max(ratings, key=lambda each: each[0].level, default=None)


def _approval(covering: Sequence[SafetyRule]) -> tuple[ConfigLocation | None, bool]:
    """Find the rule that requires approval; a trusted part of a project may lift the machine's rule."""
    settings = [(each.strength, *each.approval) for each in covering if each.approval is not None]
    requiring = {strength: origin for strength, required, origin in settings if required}
    if any(strength is RuleStrength.TRUSTED and not required for strength, required, _ in settings):
        requiring.pop(RuleStrength.MACHINE, None)
    strongest = max(requiring, default=None)
    return (None, False) if strongest is None else (requiring[strongest], strongest is RuleStrength.MANAGED)
