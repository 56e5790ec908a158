"""Makes the policy of what files say: their lists, labels and modes, as far as each file may say them.

What a project's files say counts at once where it takes away. Where it would give, the user has to trust it
first; and no file of a project sets a mode.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import NamedTuple

from remit.configuration.config_model import (
    KEY_SEPARATOR,
    OF_A_PROJECT,
    AccessLists,
    ConfigurationContent,
    ConfigurationFile,
    ConfigurationLayer,
    ConfigurationMistake,
    KeyPath,
    LoadedFile,
    Strategy,
    ToolEntry,
    key_path,
)
from remit.configuration.file_parser import OFF
from remit.configuration.layers import Trusted, owner
from remit.configuration.merged_configuration import TrustRequest
from remit.decision.danger import LEVELS, Danger
from remit.decision.globs import Glob, glob, tool_globs
from remit.decision.policy import NO_POLICY, Policy
from remit.decision.policy_rules import (
    AnnotationTrust,
    ConfigLocation,
    ListTarget,
    Mode,
    ModeSetting,
    RuleStrength,
    SafetyRule,
    ToolList,
)
from remit.decision.tool_names import MCP, MEMORY_SERVER, normalise

_STRENGTHS = {
    ConfigurationLayer.MACHINE: RuleStrength.MACHINE,
    ConfigurationLayer.MANAGED: RuleStrength.MANAGED,
}
_ANY = glob("*")


class CompiledPolicy(NamedTuple):
    """A policy, what of it waits for the user's trust, and what does not count."""

    policy: Policy = NO_POLICY
    trust_requests: tuple[TrustRequest, ...] = ()
    violations: tuple[tuple[ConfigurationFile, ConfigurationMistake], ...] = ()


def compile_policy(said: Sequence[LoadedFile], trusted: Trusted) -> CompiledPolicy:
    """Put together what files say of who may use what, the weakest first."""
    unread = [each.file for each in said if each.is_unread and each.file.layer not in OF_A_PROJECT]
    if not unread and not any(map(_says_anything, said)):
        return CompiledPolicy()
    trust_requests = [request for each in said for request in _trust_requests(each, said, trusted)]
    granted = {(each.file.path, each.subject) for each in trust_requests if each.is_trusted}
    asked = [_setting(each, "ask_from") for each in said if each.content.ask_from]
    policy = Policy(
        lists=[item for each in said for item in _lists(each)],
        safety_rules=[item for each in said for item in _safety_rules(each, granted)],
        annotation_trust=[item for each in said for item in _annotation_trust(each)],
        ask_from=min(((LEVELS[word], origin) for word, origin in asked), default=None),
        mode=_mode(said, ConfigurationLayer.MACHINE),
        fixed_mode=_mode(said, ConfigurationLayer.MANAGED),
        unread=ConfigLocation(unread[-1].path, "") if unread else None,
    )
    return CompiledPolicy(policy, tuple(trust_requests), tuple(_violations(said, granted)))


def _says_anything(said: LoadedFile) -> bool:
    content = said.content
    has_safety_rule = any(_is_safety_rule(entry) for entry in content.tools)
    lists = (content.everyone, *content.servers, *content.agents)
    has_list = any(each.allow is not None or each.block or each.trusted is not None for each in lists)
    if has_safety_rule or has_list or content.mode is not None or content.ask_from is not None:
        return True
    if content.memory == OFF:
        return True
    is_run = any(each.options is not None for each in content.servers)
    return said.file.layer in OF_A_PROJECT and (is_run or any(True for _ in _unpresentable(content)))


def _is_safety_rule(entry: ToolEntry) -> bool:
    return not (entry.danger is None and entry.approval is None and entry.ai_enabled is None)


def _origin(said: LoadedFile, path: KeyPath) -> ConfigLocation:
    place = said.places.get(KEY_SEPARATOR.join(path))
    return ConfigLocation(said.file.path, key_path(path), place[0] if place else 0)


def _setting(said: LoadedFile, key: str) -> tuple[str, ConfigLocation]:
    return getattr(said.content, key), _origin(said, (key,))


def _mode(said: Sequence[LoadedFile], layer: ConfigurationLayer) -> ModeSetting | None:
    found = [_setting(each, "mode") for each in said if each.file.layer is layer and each.content.mode]
    return ModeSetting(Mode(found[-1][0]), found[-1][1]) if found else None


def _lists(said: LoadedFile) -> Iterator[ToolList]:
    content = said.content
    if content.memory == OFF:  # which no other file takes back, as no other takes a block list back
        everything = ((OFF, own_globs("*")),)
        whose = glob(MEMORY_SERVER)
        yield ToolList(ListTarget.SERVER, whose, everything, False, _origin(said, ("memory", "tools")))
    yield from _list(said, content.everyone, ListTarget.ALL, ())
    for each in content.servers:
        yield from _list(said, each, ListTarget.SERVER, ("servers", each.name))
    for each in content.agents:
        yield from _list(said, each, ListTarget.AGENT, ("agents", each.name))


def _list(said: LoadedFile, lists: AccessLists, target: ListTarget, path: KeyPath) -> Iterator[ToolList]:
    read = own_globs if target is ListTarget.SERVER else tool_globs
    whose = glob(lists.name) if lists.name else _ANY
    for key, patterns in (("block", lists.block or None), ("allow", lists.allow)):
        if patterns is not None:
            meant = tuple((pattern, read(pattern)) for pattern in patterns)
            yield ToolList(target, whose, meant, key == "allow", _origin(said, (*path, key)))


def own_globs(pattern: str) -> tuple[Glob, ...]:
    """Read a pattern of a server's own names for its tools, which may be written in full, too."""
    if pattern.startswith(MCP):
        return tool_globs(pattern)
    return (Glob(tuple(map(normalise, pattern.split("*")))),)


def _safety_rules(said: LoadedFile, granted: Iterable[tuple[str, str]]) -> Iterator[SafetyRule]:
    for entry in filter(_is_safety_rule, said.content.tools):
        strength = rule_strength(said.file)
        if (said.file.path, _subject(entry)) in granted:
            strength = RuleStrength.TRUSTED
        path = ("tools", entry.pattern)
        danger, approval, ai_enabled = entry.danger, entry.approval, entry.ai_enabled
        yield SafetyRule(
            tool_globs(entry.pattern),
            strength,
            None if danger is None else (LEVELS[danger], _origin(said, (*path, "danger"))),
            None if approval is None else (approval, _origin(said, (*path, "approval"))),
            None if ai_enabled is None else (ai_enabled, _origin(said, (*path, "ai_enabled"))),
        )


def _annotation_trust(said: LoadedFile) -> Iterator[AnnotationTrust]:
    strength = rule_strength(said.file)
    for each in said.content.servers:
        if each.trusted is False or (each.trusted and strength is not RuleStrength.NARROWING):
            yield AnnotationTrust(glob(each.name), each.trusted, strength)


def _trust_requests(
    said: LoadedFile, all_said: Sequence[LoadedFile], trusted: Trusted
) -> Iterator[TrustRequest]:
    """List what a project says of tools that would give, and not take away."""
    if said.file.layer not in OF_A_PROJECT:
        return
    for entry in said.content.tools:
        undoing = _undoing(entry, said, all_said)
        reasons = tuple(mistake.message for mistake, is_for_trust in undoing if is_for_trust)
        if entry.danger is not None and LEVELS[entry.danger] < Danger.DESTRUCTIVE:
            reasons = (*reasons, f"it may make tools count as no more than `{entry.danger}`")
        if reasons:
            subject = _subject(entry)
            known = trusted.get((said.file.path, subject))
            yield TrustRequest(entry, said.file, reasons, _digest(entry), known, subject)


def _subject(entry: ToolEntry) -> str:
    return f"tools.{entry.pattern}"


def _digest(entry: ToolEntry) -> str:
    content = [entry.pattern, entry.danger, entry.approval, entry.ai_enabled]
    return sha256(json.dumps(content).encode()).hexdigest()


def _violations(
    all_said: Sequence[LoadedFile], granted: Iterable[tuple[str, str]]
) -> Iterator[tuple[ConfigurationFile, ConfigurationMistake]]:
    for said in all_said:
        file, content = said.file, said.content
        if file.layer in OF_A_PROJECT:
            yield from ((file, each) for each in _given(said, all_said))
        for entry in content.tools:
            is_granted = (file.path, _subject(entry)) in granted
            for mistake, is_for_trust in _undoing(entry, said, all_said):
                if not (is_granted and is_for_trust):
                    yield file, mistake


def _given(said: LoadedFile, all_said: Sequence[LoadedFile]) -> Iterator[ConfigurationMistake]:
    """Name what no file of a project may say, whoever trusts it."""
    machine = next((each.file.path for each in all_said if each.file.layer is ConfigurationLayer.MACHINE), "")
    hint = f"that is the machine's to say, in {machine}" if machine else None
    if said.content.mode is not None:
        yield ConfigurationMistake(("mode",), "a project cannot set a mode", hint)
    for each in said.content.servers:
        if each.trusted:
            message = "a project cannot have its servers believed"
            yield ConfigurationMistake(("servers", each.name, "trusted"), message, hint)
        for key in each.options._fields if each.options is not None else ():
            if getattr(each.options, key) is not None:
                message = "a project cannot say how servers are run"
                yield ConfigurationMistake(("servers", each.name, key), message, hint)
    for path in _unpresentable(said.content):
        yield ConfigurationMistake(
            path, f"a project cannot choose `{Strategy.FLAT}`, which ignores what tools need of states", hint
        )


def _unpresentable(content: ConfigurationContent) -> Iterator[KeyPath]:
    """Name the places where a file chooses a strategy that switches gates off."""
    if content.strategy == Strategy.FLAT:
        yield ("strategy",)
    for section, entries in (("agents", content.agents), ("rooms", content.rooms)):
        yield from (
            (section, each.name, "strategy")
            for each in entries
            if each.presentation.strategy == Strategy.FLAT
        )


def _undoing(
    entry: ToolEntry, said: LoadedFile, all_said: Sequence[LoadedFile]
) -> Iterator[tuple[ConfigurationMistake, bool]]:
    """Name what a rule would undo of what a stronger file says of the same tools, and whether trust lets it.

    What the user switched off stays off, and what an administrator says holds.
    """
    for other in all_said:
        if rule_strength(other.file) <= rule_strength(said.file):
            continue
        for theirs in other.content.tools:
            for key in _weaker_keys(entry, theirs):
                place = f"`{key_path(('tools', theirs.pattern, key))}` in {owner(other.file)}"
                mistake = ConfigurationMistake(("tools", entry.pattern, key), f"it would undo {place}")
                yield mistake, other.file.layer is ConfigurationLayer.MACHINE and key != "ai_enabled"


def rule_strength(file: ConfigurationFile) -> RuleStrength:
    """Tell how much a file may say."""
    return _STRENGTHS.get(file.layer, RuleStrength.NARROWING)


def _weaker_keys(entry: ToolEntry, theirs: ToolEntry) -> Iterator[str]:
    is_lower = entry.danger and theirs.danger and LEVELS[entry.danger] < LEVELS[theirs.danger]
    weaker = {
        "danger": is_lower,
        "approval": entry.approval is False and theirs.approval,
        "ai_enabled": entry.ai_enabled and theirs.ai_enabled is False,
    }
    # Patterns last: there are as many pairs as rules squared.
    if any(weaker.values()) and covers(theirs.pattern, entry.pattern):
        yield from (key for key, is_so in weaker.items() if is_so)


def covers(wider: str, pattern: str) -> bool:
    """Tell whether a pattern covers all that another one does."""
    return all(
        any(form.matches("*".join(each.parts)) for form in tool_globs(wider)) for each in tool_globs(pattern)
    )
