"""Claude Code's `permissions` settings: the tools it denies, asks about and allows without asking.

As in the client, a list of a wrong type or an unknown mode invalidates the whole file, and items of a wrong
type are skipped. Administrators' files fail closed: a list of rules that deny or ask, of which the client
accepts none, takes the file's allow rules with it.
"""

from bisect import bisect
from collections.abc import Iterator, Mapping

from remit.clients.parsing.client_reader import ClientReader, ParsedFile
from remit.clients.parsing.entry_fields import EntryError, EntryFields
from remit.decision.permissions.client_permissions import parse_subject
from remit.decision.settings_rules import Effect, SettingsLevel, SettingsRule
from remit.decision.tool_names import MCP, storable
from remit.files.formats import parse_json
from remit.files.git_index import index_path, is_tracked
from remit.files.json_positions import JsonText
from remit.install.install_record import EditedFile

MAX_RULES = 10_000  # per list
_KEY = "permissions"
_LISTS = {"deny": Effect.DENIES_TOOL, "ask": Effect.ASKS_ABOUT_TOOL, "allow": Effect.ALLOWS_TOOL}
_MODES = ("acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "manual", "plan")


class SettingsText:
    """The text of a settings file, kept to find the lines of its rules."""

    def __init__(self) -> None:
        self._text = ""

    def parse(self, text: str) -> object:
        """Parse the text of a file, and keep it."""
        self._text = text
        return parse_json(text)

    def lines(self, name: str) -> Mapping[int, int]:
        """Return the lines of the items of a permission list, by index."""
        if f'"{name}"' not in self._text:
            return {}
        found = JsonText(self._text)
        place = found.find((_KEY, name))
        if place is None:
            return {}
        ends = [at for at, sign in enumerate(self._text) if sign == "\n"]
        items = found.container(place.value_start).items
        return {at: bisect(ends, item.start) + 1 for at, item in enumerate(items)}


def read_permissions(
    settings: EntryFields,
    into: ParsedFile,
    *,
    level: SettingsLevel,
    own: EditedFile | None,
    text: SettingsText,
) -> list[SettingsRule]:
    """Read the permission rules of a settings file, except those that Remit wrote itself.

    Raises:
        EntryError: a field has a wrong type.
    """
    permissions = settings.fields(_KEY)
    mode = permissions.item_or_items("defaultMode")
    if mode and mode[0] not in _MODES:
        raise EntryError(f"{_KEY}.defaultMode: expected one of {', '.join(_MODES)}")
    is_managed = level is SettingsLevel.MANAGED
    rules = [
        SettingsRule(
            source=into.source, level=level, effect=effect, subject=rule, key=f"{_KEY}.{name}", line=line
        )
        for name, effect in _LISTS.items()
        if not (is_managed and effect is Effect.ALLOWS_TOOL and _has_void_list(permissions, into))
        for rule, line in _items(permissions, name, into, own, text)
    ]
    if is_managed and settings.flag("allowManagedPermissionRulesOnly"):
        rules.append(SettingsRule(source=into.source, level=level, effect=Effect.PERMITS_MANAGED_ONLY))
    return rules


def _has_void_list(permissions: EntryFields, into: ParsedFile) -> bool:
    """Tell whether the client accepts no rule of a list that denies or asks."""
    void = [
        name
        for name in ("deny", "ask")
        if (items := permissions.items_of(name)) and not any(map(_is_accepted, items))
    ]
    for name in void:
        into.note(
            f"{_KEY}.{name}", "the client accepts none of these rules, so it ignores the allow rules, too"
        )
    return bool(void)


def _is_accepted(rule: object) -> bool:
    """Tell whether the client accepts a rule: the tool's name, and what it says about arguments."""
    subject = parse_subject(rule) if isinstance(rule, str) else None
    if not isinstance(rule, str) or subject is None or subject.name[0].islower():
        return subject is not None and subject.name.startswith(MCP)
    limit = rule.partition("(")[2].removesuffix(")")
    match subject.name:
        case "Bash":
            return limit != ":*"
        case "WebSearch":
            return not set("*?") & set(limit)
        case "WebFetch":
            return not limit or limit.startswith("domain:")
        case "Read" | "Edit" | "Write" | "Glob" | "NotebookRead" | "NotebookEdit" | "MultiEdit":
            return ":*" not in limit
        case _:
            return True


def _items(
    permissions: EntryFields, name: str, into: ParsedFile, own: EditedFile | None, text: SettingsText
) -> Iterator[tuple[str, int]]:
    items = permissions.items_of(name)
    lines = text.lines(name)
    written = _own_rules(own, name)
    for at, item in enumerate(items[:MAX_RULES]):
        if not isinstance(item, str):
            into.note(f"{_KEY}.{name}[{at}]", "expected text")
        elif item not in written:
            yield storable(item), lines.get(at, 0)
    if len(items) > MAX_RULES:
        into.note(f"{_KEY}.{name}", f"more than {MAX_RULES:,} rules{_CONSEQUENCES[name]}")
        if name != "allow":
            yield "*", 0


_CONSEQUENCES = {
    "deny": "; all tools are denied",
    "ask": "; every call needs approval",
    "allow": "; the rest is ignored",
}


def _own_rules(own: EditedFile | None, name: str) -> set[object]:
    keys = () if own is None else own.keys
    return {key.value for key in keys if key.is_item and key.path == (_KEY, name)}


def read_tracking(reader: ClientReader) -> None:
    """Mark personal settings that git tracks: in an untrusted repository, their allow rules do not count."""
    rules = reader.rules
    if any(rule.effect is Effect.TRUSTS for rule in rules):
        return
    allowing = [rule for rule in rules if rule.effect is Effect.ALLOWS_TOOL]
    for source in dict.fromkeys(rule.source for rule in allowing if rule.level is SettingsLevel.LOCAL):
        index = index_path(source)
        if index is not None and reader.look_at(index) and is_tracked(source):
            with reader.part(source) as parsed:
                parsed.rules.append(
                    SettingsRule(source=source, level=SettingsLevel.LOCAL, effect=Effect.IS_TRACKED)
                )
