"""Rates the danger of tools by their names, annotations and parameters.

A server may call `wipe_disk` read-only, so its annotations only raise what the name says, unless the name is
vague or the user's configuration trusts them. Only a configuration can rate a tool as `critical`.
"""

from collections.abc import Mapping
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple, cast

from remit.decision.names import MCP, REMIT
from remit.decision.scopes import Kind
from remit.decision.tools import Tool
from remit.text import split


class Danger(IntEnum):
    """The danger levels, lowest first."""

    SAFE = 0  # reads local data
    LOW = 1  # reads data that may be untrusted
    MODERATE = 2  # makes reversible changes
    DESTRUCTIVE = 3  # may destroy data
    CRITICAL = 4  # money, production, credentials

    @property
    def word(self) -> str:
        """The level as written in configurations and JSON."""
        return self.name.lower()


LEVELS = {level.word: level for level in Danger}


class Rating(NamedTuple):
    """A danger level and its origin."""

    level: Danger
    origin: str
    is_vague: bool = False  # annotations may lower it


_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_PROGRAMS = frozenset(
    {"code", "command", "script", "cmd", "bash", "shell", "expression", "javascript", "python"}
)
_NAMED = (Kind.MCP_TOOL, Kind.BUILTIN)  # other kinds act through tools, which have their own rating

_READS = "count describe fetch get has is list retrieve show view wait"  # followed by a noun
_TELLS = """
    cat check diff doctor find help info inspect log logs ls print read report routes search stat stats
    status tree version which whoami why
"""
_CHANGES = """
    accept activate add alter append apply approve archive assign attach ban blacklist build cancel change
    checkout cleanup clear click clone close comment commit configure connect convert copy cp create
    customize deactivate decline decrement demote deploy deregister detach disable dismiss downgrade drag
    edit enable encrypt evict expel expire fill fork format generate grant hset impersonate import
    increment init inject insert install invite invoke kick lock login logout lpop lpush mark merge
    migrate mkdir modify mount move mute mv notify open patch pause pin post press promote protect
    provision psubscribe publish push put reassign reauthorize rebase reboot rebuild reconfigure recreate
    recycle redeem redeploy register reject rename renew reopen reorder replace reply reschedule resize
    resolve restart restore resume revert rewrite rollback rotate rpop rpush run sadd save schedule send
    set share sign snooze squash start stop submit subscribe suspend switch sync tag toggle trigger tweet
    type unarchive unassign unban unblock uncomplete undelete undeploy unfollow unlike unlock unmerge
    unmount unmute unpin unprotect unregister unset unshare unstar unsubscribe untag update upgrade upload
    upsert write xadd zadd
"""
_DESTROYS = """
    bash buy charge cmd dd decommission del delete delist deprovision destroy disburse discard donate drop
    empty erase eval evaluate exec execute expunge flush force hdel kill liquidate lrem mkfs nuke
    obliterate overwrite pay powershell prune purchase purge refund remove reset revoke rm rmdir rmtree
    scrub sell sh shell shred shutdown srem teardown terminal terminate transfer trash truncate uninstall
    unlink unpublish wipe withdraw xdel zap zrem
"""
# Nouns that name what a tool does, and verbs that are nouns elsewhere: `order_pizza`, not `get_order`.
_DESTRUCTIONS = "deletes deletion deletions removal removes"
_STARTING = """
    block book boot burn clean complete duplicate email fire forward launch mint order pledge release reserve
    scale ship stake swap void wire
"""
_FETCHING = (["describe"], ["fetch"], ["get"], ["retrieve"])  # verbs also after a prefix: `jira_get_…`
# Words that often mean no change, as in `convert_time`: annotations may lower what they say.
_AMBIGUOUS = frozenset(
    [
        *("build", "checkout", "click", "clone", "comment", "connect", "convert", "format", "generate"),
        *("login", "open", "resolve", "type"),
    ]
)
# Verbs that are nouns after a reading verb: `get_update_status`, `list_merge_requests`.
_NOUNS_WORDS = """
    archive ban blacklist build cancel change checkout cleanup click clone comment commit convert copy
    create decline decrement deploy dismiss downgrade drag edit expire fill fork format grant import
    increment init install invite kick lock login logout mark merge mount move notify open patch pause pin
    post press provision publish push put register reply restore resume rollback run save schedule set
    share sign snooze squash start stop subscribe switch sync tag toggle trigger tweet type update upgrade
    upload
"""
_READING = frozenset(_READS.split())
_HARMLESS = _READING.union(_TELLS.split())
_TELLING = (
    (Danger.DESTRUCTIVE, frozenset(_DESTROYS.split())),
    (Danger.MODERATE, frozenset(_CHANGES.split())),
)
_NAMING = ((Danger.DESTRUCTIVE, _TELLING[0][1].union(_DESTRUCTIONS.split())), _TELLING[1])
_AFTER_READING = (_TELLING[0], (Danger.MODERATE, _TELLING[1][1].difference(_NOUNS_WORDS.split())))
_DESTROYING = ("delete", "destroy", "erase", "purge", "remove", "wipe")  # also in `deleteall`
_VERBS = frozenset(word for _, words in _TELLING for word in words)
_STARTING_VERBS = frozenset(_STARTING.split())  # vague: annotations may lower what they say
_JOINS = frozenset({"and", "n", "or", "then"})
_ENDINGS = frozenset({"d", "r", "rs", "s"})  # `deleted`, `removers`

_PLAIN = Rating(Danger.LOW, "default", is_vague=True)


def by_annotations(definition: Mapping[str, object]) -> Danger | None:
    """Rate a tool by its definition; None if that says nothing.

    If any hint is present, missing or malformed ones count as the worst case. Without hints, a tool that
    takes a program may destroy whatever the program reaches.
    """
    annotations = definition.get("annotations")
    hints = cast("dict[str, object]", annotations) if isinstance(annotations, dict) else {}
    if not any(hint in hints for hint in _HINTS):
        return Danger.DESTRUCTIVE if _takes_a_program(definition.get("inputSchema")) else None
    if hints.get("readOnlyHint") is True:
        return Danger.SAFE if hints.get("openWorldHint") is False else Danger.LOW
    return Danger.MODERATE if hints.get("destructiveHint") is False else Danger.DESTRUCTIVE


def _takes_a_program(schema: object) -> bool:
    properties = cast("dict[str, object]", schema).get("properties") if isinstance(schema, dict) else None
    return isinstance(properties, dict) and not _PROGRAMS.isdisjoint(cast("dict[str, object]", properties))


def derive(tool: Tool, *, trusts_annotations: bool | None) -> Rating:
    """Rate a tool that has no configured danger.

    With False, annotations can only raise the level; with None, they count where the name is vague.
    """
    stated = None if tool.danger is None else Danger(tool.danger)
    if stated is not None and (tool.server is None or tool.source == REMIT):
        return _BY_DEFINITION[stated]
    named = by_name(tool.name) if tool.kind in _NAMED else _PLAIN
    if stated is None:
        return named
    is_believed = trusts_annotations or (trusts_annotations is None and named.is_vague)
    return _BY_SERVER[stated] if is_believed or stated > named.level else named


@lru_cache(maxsize=65_536)
def by_name(name: str) -> Rating:
    """Rate a tool by the most dangerous word of its name; some words after a reading verb count as nouns.

    So `get_update_status` and `jira_get_create_fields` are reads; `get_and_update` and `list_delete_users`
    are not. A server's name may contain `__`, so whatever may be the tool's own name counts.
    """
    own = [name]
    if name.startswith(MCP) and name.count("__") > 1:
        parts = name.split("__")
        own = ["__".join(parts[at:]) for at in range(2, len(parts))]
    return max(map(_by_own_name, own), key=_strength)


def _strength(rating: Rating) -> tuple[Danger, bool]:
    return rating.level, not rating.is_vague


def _by_own_name(name: str) -> Rating:
    words = [_bare(word) for word in split(name).lower().split()]
    reads = words[:1] and (words[0] in _READING or (words[0] not in _VERBS and words[1:2] in _FETCHING))
    for level, telling in _AFTER_READING if reads and _JOINS.isdisjoint(words) else _NAMING:
        if acting := [word for word in words if word in telling]:
            return Rating(level, f"its name says `{acting[0]}`", _AMBIGUOUS.issuperset(acting))
    if not reads and words[1:] and words[0] in _STARTING_VERBS:
        return Rating(Danger.MODERATE, f"its name says `{words[0]}`", is_vague=True)
    return _PLAIN


def _bare(word: str) -> str:
    """Return the verb in a word: `delete` in `delete1`, `deleting` and `deleteall`."""
    word = word.rstrip("0123456789") or word
    for verb in _DESTROYING:
        rest = word.removeprefix(verb)
        if rest != word and rest not in _ENDINGS:
            return verb
        if word == f"{verb.removesuffix('e')}ing":
            return verb
    return word


def of_command(name: str) -> Danger:
    """Rate a command by the last part of its name; `safe` if a word implies reading."""
    own = name.rpartition(".")[2]
    level = by_name(own).level
    reads = not _HARMLESS.isdisjoint(split(own).lower().split())
    return Danger.SAFE if reads and level is Danger.LOW else level


_BY_SERVER = {level: Rating(level, "its server says so") for level in Danger}
_BY_DEFINITION = {level: Rating(level, "its definition says so") for level in Danger}
