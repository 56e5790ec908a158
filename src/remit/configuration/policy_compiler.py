"""Compiles the policy from the lists, rules and modes of all files, within the rights of each file.

A project's restrictions apply immediately. Its permissions need the user's trust, and no project file can set
a mode.
"""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import NamedTuple

from remit.configuration.checks.project_limits import FORBIDDEN
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
from remit.decision.definitions.definition_changes import ChangePolicy, strictest
from remit.decision.definitions.project_lock import ProjectLock
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
    ConfigurationLayer.TEAM: RuleStrength.MACHINE,
    ConfigurationLayer.MANAGED: RuleStrength.MANAGED,
}
_ANY = glob("*")


class CompiledPolicy(NamedTuple):
    """A policy, the parts that need trust, and the rules that do not apply."""

    policy: Policy = NO_POLICY
    trust_requests: tuple[TrustRequest, ...] = ()
    violations: tuple[tuple[ConfigurationFile, ConfigurationMistake], ...] = ()


def compile_policy(loaded: Sequence[LoadedFile], trusted: Trusted) -> CompiledPolicy:
    """Compile the policy of all files, weakest first."""
    files = [each for each in loaded if each.file.layer is not ConfigurationLayer.LOCK]
    unread = [each.file for each in files if each.is_unread]
    if not unread and not any(map(_says_anything, loaded)):
        return CompiledPolicy()
    trust_requests = [request for each in loaded for request in _trust_requests(each, loaded, trusted)]
    granted = {(each.file.path, each.subject) for each in trust_requests if each.is_trusted}
    asked = [_setting(each, "ask_from") for each in loaded if each.content.ask_from]
    policy = Policy(
        lists=[item for each in loaded for item in _lists(each)],
        safety_rules=[item for each in loaded for item in _safety_rules(each, granted)],
        annotation_trust=[item for each in loaded for item in _annotation_trust(each)],
        ask_from=min(((LEVELS[word], origin) for word, origin in asked), default=None),
        mode=_mode(loaded, ConfigurationLayer.MACHINE, ConfigurationLayer.TEAM),
        fixed_mode=_mode(loaded, ConfigurationLayer.MANAGED),
        changes=_changes(loaded),
        unread=ConfigLocation(unread[-1].path, "") if unread else None,
        lock=_lock(loaded),
    )
    return CompiledPolicy(policy, tuple(trust_requests), tuple(_violations(loaded, granted)))


def _says_anything(loaded: LoadedFile) -> bool:
    content = loaded.content
    if loaded.file.layer is ConfigurationLayer.LOCK:
        return loaded.is_unread or content.lock is not None
    has_safety_rule = any(_is_safety_rule(entry) for entry in content.tools)
    lists = (content.everyone, *content.servers, *content.agents)
    has_list = any(each.allow is not None or each.block or each.trusted is not None for each in lists)
    if has_safety_rule or has_list or content.mode is not None or content.ask_from is not None:
        return True
    if content.memory == OFF or content.changes is not None:
        return True
    is_run = any(
        each.options is not None or each.sandbox is not None or each.projects for each in content.servers
    )
    is_own = content.notifications is not None or bool(content.filters)
    is_not_its = is_run or is_own or any(True for _ in _unpresentable(content))
    return loaded.file.layer in OF_A_PROJECT and is_not_its


def _is_safety_rule(entry: ToolEntry) -> bool:
    return not (entry.danger is None and entry.approval is None and entry.ai_enabled is None)


def _origin(loaded: LoadedFile, path: KeyPath) -> ConfigLocation:
    place = loaded.places.get(KEY_SEPARATOR.join(path))
    return ConfigLocation(loaded.file.path, key_path(path), place[0] if place else 0)


def _setting(loaded: LoadedFile, key: str) -> tuple[str, ConfigLocation]:
    return getattr(loaded.content, key), _origin(loaded, (key,))


def _mode(loaded: Sequence[LoadedFile], *layers: ConfigurationLayer) -> ModeSetting | None:
    found = [_setting(each, "mode") for each in loaded if each.file.layer in layers and each.content.mode]
    return ModeSetting(Mode(found[-1][0]), found[-1][1]) if found else None


def _changes(loaded: Sequence[LoadedFile]) -> ChangePolicy:
    """Return which changed definitions are accepted, as the user and the administrator say."""
    own = [each.content.changes for each in loaded if each.file.layer not in OF_A_PROJECT]
    return strictest([ChangePolicy(each) for each in own if each is not None])


def _lock(loaded: Sequence[LoadedFile]) -> ProjectLock | None:
    """Return the project's lock; an invalid one holds all servers of the project."""
    for each in loaded:
        if each.file.layer is ConfigurationLayer.LOCK:
            if each.is_unread:
                return ProjectLock(problem="it is invalid")
            if each.content.lock is not None:
                return each.content.lock._replace(root=each.file.dir or "")
    return None


def _lists(loaded: LoadedFile) -> Iterator[ToolList]:
    content = loaded.content
    if content.memory == OFF:  # like a block list, no other file can undo it
        everything = ((OFF, own_globs("*")),)
        whose = glob(MEMORY_SERVER)
        yield ToolList(ListTarget.SERVER, whose, everything, False, _origin(loaded, ("memory", "tools")))
    yield from _list(loaded, content.everyone, ListTarget.ALL, ())
    for each in content.servers:
        yield from _list(loaded, each, ListTarget.SERVER, ("servers", each.name))
    for each in content.agents:
        yield from _list(loaded, each, ListTarget.AGENT, ("agents", each.name))


def _list(loaded: LoadedFile, lists: AccessLists, target: ListTarget, path: KeyPath) -> Iterator[ToolList]:
    read = own_globs if target is ListTarget.SERVER else tool_globs
    whose = glob(lists.name) if lists.name else _ANY
    for key, patterns in (("block", lists.block or None), ("allow", lists.allow)):
        if patterns is not None:
            meant = tuple((pattern, read(pattern)) for pattern in patterns)
            yield ToolList(target, whose, meant, key == "allow", _origin(loaded, (*path, key)))


def own_globs(pattern: str) -> tuple[Glob, ...]:
    """Parse a pattern of a server's own tool names, which may also be canonical."""
    if pattern.startswith(MCP):
        return tool_globs(pattern)
    return (Glob(tuple(map(normalise, pattern.split("*")))),)


def _safety_rules(loaded: LoadedFile, granted: Iterable[tuple[str, str]]) -> Iterator[SafetyRule]:
    for entry in filter(_is_safety_rule, loaded.content.tools):
        strength = rule_strength(loaded.file)
        if (loaded.file.path, _subject(entry)) in granted:
            strength = RuleStrength.TRUSTED
        path = ("tools", entry.pattern)
        danger, approval, ai_enabled = entry.danger, entry.approval, entry.ai_enabled
        yield SafetyRule(
            tool_globs(entry.pattern),
            strength,
            None if danger is None else (LEVELS[danger], _origin(loaded, (*path, "danger"))),
            None if approval is None else (approval, _origin(loaded, (*path, "approval"))),
            None if ai_enabled is None else (ai_enabled, _origin(loaded, (*path, "ai_enabled"))),
        )


def _annotation_trust(loaded: LoadedFile) -> Iterator[AnnotationTrust]:
    strength = rule_strength(loaded.file)
    for each in loaded.content.servers:
        if each.trusted is False or (each.trusted and strength is not RuleStrength.NARROWING):
            yield AnnotationTrust(glob(each.name), each.trusted, strength, bool(each.projects))


def _trust_requests(
    loaded: LoadedFile, all_loaded: Sequence[LoadedFile], trusted: Trusted
) -> Iterator[TrustRequest]:
    """List a project's rules that would permit something."""
    if loaded.file.layer not in OF_A_PROJECT:
        return
    for entry in loaded.content.tools:
        undoing = _undoing(entry, loaded, all_loaded)
        reasons = tuple(mistake.message for mistake, is_for_trust in undoing if is_for_trust)
        if entry.danger is not None and LEVELS[entry.danger] < Danger.DESTRUCTIVE:
            reasons = (*reasons, f"it can lower the danger of tools to `{entry.danger}`")
        if reasons:
            subject = _subject(entry)
            known = trusted.get((loaded.file.path, subject))
            yield TrustRequest(entry, loaded.file, reasons, _digest(entry), known, subject)


def _subject(entry: ToolEntry) -> str:
    return f"tools.{entry.pattern}"


def _digest(entry: ToolEntry) -> str:
    content = [entry.pattern, entry.danger, entry.approval, entry.ai_enabled]
    return sha256(json.dumps(content).encode()).hexdigest()


def _violations(
    all_loaded: Sequence[LoadedFile], granted: Iterable[tuple[str, str]]
) -> Iterator[tuple[ConfigurationFile, ConfigurationMistake]]:
    for loaded in all_loaded:
        file, content = loaded.file, loaded.content
        if file.layer in OF_A_PROJECT:
            yield from ((file, each) for each in forbidden_settings(loaded, all_loaded))
        for entry in content.tools:
            is_granted = (file.path, _subject(entry)) in granted
            for mistake, is_for_trust in _undoing(entry, loaded, all_loaded):
                if not (is_granted and is_for_trust):
                    yield file, mistake


def forbidden_settings(
    loaded: LoadedFile, all_loaded: Sequence[LoadedFile]
) -> Iterator[ConfigurationMistake]:
    """List the settings that a project may not set, even if trusted."""
    machine = next(
        (each.file.path for each in all_loaded if each.file.layer is ConfigurationLayer.MACHINE), ""
    )
    hint = f"set it in {machine}" if machine else None
    content = loaded.content
    given: dict[KeyPath, bool] = {
        ("mode",): content.mode is not None,
        ("notifications",): content.notifications is not None,
        ("filters", "files"): bool(content.filters),
        ("trust", "changes"): content.changes is not None,
    }
    yield from (
        ConfigurationMistake(key, FORBIDDEN[key], hint) for key, is_given in given.items() if is_given
    )
    for each in loaded.content.servers:
        if each.trusted:
            message = "a project cannot make its own servers trusted to rate their tools"
            yield ConfigurationMistake(("servers", each.name, "trusted"), message, hint)
        if each.projects:
            message = "a project cannot say which projects a rule is for"
            yield ConfigurationMistake(("servers", each.name, "projects"), message, hint)
        for key in each.options._fields if each.options is not None else ():
            if getattr(each.options, key) is not None:
                message = "a project cannot set how servers run"
                yield ConfigurationMistake(("servers", each.name, key), message, hint)
        yield from _outside(each, hint)
    for path in _unpresentable(loaded.content):
        yield ConfigurationMistake(
            path, f"a project cannot choose `{Strategy.FLAT}`, which ignores required states", hint
        )


def _outside(each: AccessLists, hint: str | None) -> Iterator[ConfigurationMistake]:
    """List what a project may not say about a sandbox: it can add one for its own files, or narrow one."""
    where = ("servers", each.name, "sandbox")
    if each.sandbox is False:
        yield ConfigurationMistake(where, "a project cannot remove a sandbox", hint)
    for key in ("read", "write") if each.sandbox else ():
        for path in getattr(each.sandbox, key):
            if not is_inside(path):
                message = "a project's sandbox can only contain its own files"
                yield ConfigurationMistake((*where, key), message, "use a path inside the project")


def is_inside(path: str) -> bool:
    """Return whether a path of a sandbox is relative, and stays inside the project."""
    is_relative = not (os.path.isabs(path) or path.startswith("~"))
    return is_relative and os.path.normpath(path).split(os.sep)[0] != os.pardir


def _unpresentable(content: ConfigurationContent) -> Iterator[KeyPath]:
    """List the places where a file chooses a strategy that skips gates."""
    if content.strategy == Strategy.FLAT:
        yield ("strategy",)
    for section, entries in (("agents", content.agents), ("rooms", content.rooms)):
        yield from (
            (section, each.name, "strategy")
            for each in entries
            if each.presentation.strategy == Strategy.FLAT
        )


def _undoing(
    entry: ToolEntry, loaded: LoadedFile, all_loaded: Sequence[LoadedFile]
) -> Iterator[tuple[ConfigurationMistake, bool]]:
    """List the stronger rules that a rule would undo, and whether trust allows it.

    Tools that the user switched off stay off, and an administrator's rules stay in place.
    """
    for other in all_loaded:
        if rule_strength(other.file) <= rule_strength(loaded.file):
            continue
        for theirs in other.content.tools:
            for key in _weaker_keys(entry, theirs):
                place = f"`{key_path(('tools', theirs.pattern, key))}` in {owner(other.file)}"
                mistake = ConfigurationMistake(("tools", entry.pattern, key), f"it would undo {place}")
                yield mistake, other.file.layer is ConfigurationLayer.MACHINE and key != "ai_enabled"


def rule_strength(file: ConfigurationFile) -> RuleStrength:
    """Return the strength of a file's rules."""
    return _STRENGTHS.get(file.layer, RuleStrength.NARROWING)


def _weaker_keys(entry: ToolEntry, theirs: ToolEntry) -> Iterator[str]:
    is_lower = entry.danger and theirs.danger and LEVELS[entry.danger] < LEVELS[theirs.danger]
    weaker = {
        "danger": is_lower,
        "approval": entry.approval is False and theirs.approval,
        "ai_enabled": entry.ai_enabled and theirs.ai_enabled is False,
    }
    # Patterns last, because the number of pairs is quadratic.
    if any(weaker.values()) and covers(theirs.pattern, entry.pattern):
        yield from (key for key, is_so in weaker.items() if is_so)


def disabling_rules(loaded: Iterable[LoadedFile], pattern: str) -> list[tuple[ConfigurationFile, str]]:
    """List the rules that hide all tools of a pattern from AI: their files and their own patterns."""
    return [
        (each.file, entry.pattern)
        for each in loaded
        for entry in each.content.tools
        if entry.ai_enabled is False and covers(entry.pattern, pattern)
    ]


def covers(wider: str, pattern: str) -> bool:
    """Return whether a pattern covers everything that another one covers."""
    return all(
        any(form.matches("*".join(each.parts)) for form in tool_globs(wider)) for each in tool_globs(pattern)
    )
