"""Policy: which tools lists let through, how dangerous each is, and what the mode makes of that.

Blocking beats allowing, and asking beats not asking, whoever says it and in whatever order. A danger is a
description: the pattern with the most letters counts, and a weaker file can only raise it.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from remit.decision.danger import Danger, Rating, derive
from remit.decision.globs import Glob
from remit.decision.kinds import Kind
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
from remit.decision.tool_names import full_label, normalise, server_name
from remit.decision.tools import Tool


class Policy:
    """All that files say of who may use what; what it says of a tool is worked out once."""

    def __init__(
        self,
        *,
        lists: Iterable[ToolList] = (),
        labels: Iterable[SafetyRule] = (),
        annotation_trust: Iterable[AnnotationTrust] = (),
        ask_from: tuple[Danger, ConfigLocation] | None = None,
        mode: ModeSetting | None = None,  # where none is asked for
        fixed_mode: ModeSetting | None = None,  # an administrator's: it can only be narrowed
        unread: ConfigLocation
        | None = None,  # a file of the user's or an administrator's that nobody could ever use
    ) -> None:
        self._lists = sorted(lists, key=lambda each: each.allows)  # what blocks is named first
        self._labels = tuple(labels)
        self._annotation_trust = tuple(annotation_trust)
        self._refused: dict[tuple[str | None, ...], Refusal | None] = {}
        self._said: dict[str, _Said] = {}
        self.ask_from = ask_from
        self.mode = mode
        self.fixed_mode = fixed_mode
        self._unread = unread
        self.is_silent = not (unread or self._lists or any(each.ai_enabled for each in self._labels))
        usual = mode.mode if mode is not None else Mode.DEFAULT
        fixed = () if fixed_mode is None else (fixed_mode.mode,)
        self._modes = {each: tuple(dict.fromkeys((*fixed, each or usual))) for each in (None, *Mode)}
        self._answers: dict[tuple[Danger, bool, bool, Mode | None], ModeEffect] = {}

    def narrowed(self, more: ToolList) -> "Policy":
        """Make a policy that has one list more."""
        return self._with(lists=(*self._lists, more), labels=self._labels)

    def including(self, labels: Iterable[SafetyRule]) -> "Policy":
        """Add what others than files say of tools."""
        return self._with(lists=self._lists, labels=(*self._labels, *labels))

    def _with(self, *, lists: Sequence[ToolList], labels: Sequence[SafetyRule]) -> "Policy":
        return Policy(
            lists=lists,
            labels=labels,
            annotation_trust=self._annotation_trust,
            ask_from=self.ask_from,
            mode=self.mode,
            fixed_mode=self.fixed_mode,
            unread=self._unread,
        )

    def refusal(self, tool: Tool, agents: Sequence[str]) -> Refusal | None:
        """Tell why no list lets a tool through, for an agent and those above it."""
        if self._unread is not None and tool.kind is not Kind.BUILTIN:  # with which it can be mended
            return Refusal("nobody knows what a file that could never be used forbids", self._unread, "mend")
        key = (tool.name, tool.server, tool.plugin, tool.kind, *agents)
        if key not in self._refused:
            self._refused[key] = self._refusal(tool, agents)
        return self._refused[key]

    def rate(self, tool: Tool) -> ToolDanger:
        """Tell how dangerous a tool is."""
        if not (self._labels or self._annotation_trust):
            return ToolDanger(derive(tool, trusts_annotations=tool.is_trusted is not False))
        said = self._said.get(tool.name)
        if said is None:
            said = _said([each for each in self._labels if _covers(each.globs, tool.name)])
            self._said[tool.name] = said
        danger = said.danger or (derive(tool, trusts_annotations=self._believes(tool)), None)
        if said.raised is not None and said.raised[0].level > danger[0].level:
            danger = said.raised
        return ToolDanger(*danger, said.approval, said.is_managed)

    def mode_effect(self, rated: ToolDanger, mode: Mode | None) -> ModeEffect:
        """Tell what becomes of a tool in a mode; None stands for the usual one."""
        key = (rated.rating.level, rated.approval is not None, rated.is_managed, mode)
        found = self._answers.get(key)
        if found is None:
            found = self._answers[key] = self._mode_effect(*key)
        return found

    def _mode_effect(
        self, level: Danger, is_wanted: bool, is_managed: bool, asked: Mode | None
    ) -> ModeEffect:
        asks = is_wanted or level >= (Danger.CRITICAL if self.ask_from is None else self.ask_from[0])
        modes = self._modes[asked]
        hiding = (mode for mode in modes if _is_hidden(level, asks, mode))
        is_lifted = all(mode is Mode.BYPASS for mode in modes) and not is_managed
        return ModeEffect(next(hiding, None), asks and not is_lifted)

    def _refusal(self, tool: Tool, agents: Sequence[str]) -> Refusal | None:
        for each in self._lists:
            if _concerns(each, tool, agents) and (objection := _objection(each, tool)):
                return objection
        for label in self._labels:
            if label.ai_enabled is not None and not label.ai_enabled[0] and _covers(label.globs, tool.name):
                return Refusal("switched off for AI", label.ai_enabled[1], "set to true")
        return None

    def _believes(self, tool: Tool) -> bool:
        said = [each for each in self._annotation_trust if any(map(each.server.matches, _labels_of(tool)))]
        if any(not each.is_trusted for each in said):
            return False
        return bool(said) or tool.is_trusted is not False


NO_POLICY = Policy()


def _is_hidden(level: Danger, asks: bool, mode: Mode) -> bool:
    if mode is Mode.PLAN:
        return level > Danger.LOW
    return (mode is Mode.DONT_ASK and asks) or (mode is Mode.BYPASS and level is Danger.CRITICAL)


def _concerns(listed: ToolList, tool: Tool, agents: Sequence[str]) -> bool:
    if listed.target is ListTarget.ALL:
        return True
    owners = agents if listed.target is ListTarget.AGENT else _labels_of(tool)
    return any(map(listed.owner.matches, owners))


def _objection(listed: ToolList, tool: Tool) -> Refusal | None:
    name = _own_name(tool) if listed.target is ListTarget.SERVER else tool.name
    if listed.allows:
        is_server = tool.kind is Kind.MCP_SERVER
        if any(
            _admits(form, name, tool.name, is_server=is_server)
            for _, forms in listed.patterns
            for form in forms
        ):
            return None
        return Refusal("not among what is allowed", listed.origin, "add it to")
    for written, forms in listed.patterns:
        if any(form.matches(name) or form.matches(tool.name) for form in forms):
            return Refusal(f"blocked by `{written}`", listed.origin, f"take `{written}` out of")
    return None


def _admits(form: Glob, name: str, full_name: str, *, is_server: bool) -> bool:
    """Tell whether a pattern admits a tool; a server is there as soon as one of its tools may be."""
    if is_server:
        return form.may_match(name[:-1]) or form.may_match(full_name[:-1])
    return form.matches(name) or form.matches(full_name)


def _covers(globs: Iterable[Glob], name: str) -> bool:
    return any(form.matches(name) for form in globs)


def _labels_of(tool: Tool) -> tuple[str, ...]:
    if tool.server is None:
        return ()
    return tool.server, full_label(tool.server, tool.plugin), normalise(tool.server)


def _own_name(tool: Tool) -> str:
    prefix = _prefix(tool.server or "", tool.plugin)
    return tool.name.removeprefix(prefix) if tool.name.startswith(prefix) else tool.name.rpartition("__")[2]


@cache
def _prefix(server: str, plugin: str | None) -> str:
    return server_name(server, plugin)[:-1]


class _Said(NamedTuple):
    """What files say of one tool."""

    danger: "_Described | None"  # by those who may lower it, too
    raised: "_Described | None"  # by those who may not
    approval: ConfigLocation | None
    is_managed: bool


_Described = tuple[Rating, ConfigLocation]


def _said(covering: Sequence[SafetyRule]) -> _Said:
    # What a trusted part of a project says counts before what the machine's file says.
    user = _described(covering, RuleStrength.TRUSTED) or _described(covering, RuleStrength.MACHINE)
    approval, is_managed = _approval(covering)
    return _Said(
        _worst(filter(None, (_described(covering, RuleStrength.MANAGED), user))),
        _described(covering, RuleStrength.NARROWING),
        approval,
        is_managed,
    )


def _described(covering: Sequence[SafetyRule], strength: RuleStrength) -> _Described | None:
    found = [each for each in covering if each.strength is strength and each.danger is not None]
    heaviest = max((each.weight for each in found), default=0)
    said = [each.danger for each in found if each.danger is not None and each.weight == heaviest]
    return _worst((Rating(level, "as configured"), origin) for level, origin in said)


def _worst(said: Iterable[_Described]) -> _Described | None:
    return max(said, key=lambda each: each[0].level, default=None)


def _approval(covering: Sequence[SafetyRule]) -> tuple[ConfigLocation | None, bool]:
    """Find who wants a tool to be asked about; a trusted part of a project may drop the machine's wish."""
    said = [(each.strength, *each.approval) for each in covering if each.approval is not None]
    wanting = {strength: origin for strength, wants, origin in said if wants}
    if any(strength is RuleStrength.TRUSTED and not wants for strength, wants, _ in said):
        wanting.pop(RuleStrength.MACHINE, None)
    strongest = max(wanting, default=None)
    return (None, False) if strongest is None else (wanting[strongest], strongest is RuleStrength.MANAGED)
