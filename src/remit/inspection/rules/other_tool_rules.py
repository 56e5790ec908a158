"""Signs that a sentence makes demands about other tools, or advertises its own."""

import re

from remit.inspection.inspection_findings import Suspicion
from remit.inspection.rules.text_rule import TextRule
from remit.inspection.tool_mentions import ToolMentions
from remit.inspection.vocabulary.concepts import Concept as C
from remit.inspection.vocabulary.sentences import Sentence

_IS_CALLED = re.compile(
    r"(?ix)\b(?:is|are|was|were|be|being|been|gets?)\s+(?:\w+ly\s+|about\sto\sbe\s+|also\s+)?"
    r"(?:called|invoked|used|executed|run|triggered|available|connected)\b|\bexists\b"
)
_OWN_FAMILY = re.compile(  # `any other GitHub tool`
    r"\b(?:[Oo]ther|OTHER|[Aa]ny|[Ee]very|[Aa]ll|ALL)\s+(?:other\s+|of\sthe\s+|OTHER\s+)?([A-Z][\w-]+)\s+(?:\w+\s+){0,2}"
    r"(?:[Tt]ools?|TOOLS|functions?)"
)
_BEST = re.compile(
    r"(?ix)\b(?:is|the)\s+(?:very\s+|only\s+)?(?:best|greatest|finest|superior|number\sone|most\s(?:powerful|accurate|reliable"
    r"|advanced|trusted|secure))\b.{0,40}\b(?:tool|function|server)s?\b|\bbest\s\w+\s?(?:tool|function)s?\sthere\sis\b"
)


_EVERY_OTHER = re.compile(r"(?i)\b(?:every|all|any)\s+(?:the\s+)?other\s+tools?\b")


def _is_foreign(s: Sentence, m: ToolMentions) -> bool:
    return m.others or s.near(C.OTHER, C.TOOL, 3)


def _is_tied(s: Sentence, scope: C) -> bool:
    return any(s.follows(time, scope, 3) for time in (C.BEFORE, C.AFTER, C.WHENEVER)) or s.starts(scope)


def _precedes_all_tools(s: Sentence, _: ToolMentions) -> bool:
    if _OWN_FAMILY.search(s.text):
        return False
    if _EVERY_OTHER.search(s.text) and s.any(C.BEFORE, C.AFTER, C.MUST):
        return True
    if not s.is_directive:
        return False
    if s.is_unspaced:
        return s.has(C.TOOL, C.BEFORE) and s.any(C.ALL, C.OTHER) and s.any(C.MUST, C.SEND)
    is_all = s.follows(C.ALL, C.TOOL, 3) or s.follows(C.OTHER, C.TOOL, 2)
    return is_all and (_is_tied(s, C.ALL) or _is_tied(s, C.OTHER))


def _joins_all_activity(s: Sentence, _: ToolMentions) -> bool:
    is_all = s.is_directive and s.follows(C.ALL, C.ACTIVITY, 3) and _is_tied(s, C.ALL)
    is_demand = s.any(C.CALL, C.SEND, C.READ, C.TAMPER) or s.follows(C.BEFORE, C.ALL, 3)
    return is_all and is_demand and _OWN_FAMILY.search(s.text) is None


def _demands_before(s: Sentence, _: ToolMentions) -> bool:
    return s.has(C.BEFORE, C.MUST) and s.any(C.CALL, C.READ, C.SEND)


def _names_foreign_tool(_: Sentence, m: ToolMentions) -> bool:
    return bool(m.foreign)


def _orders_foreign_tool(s: Sentence, m: ToolMentions) -> bool:
    return bool(m.foreign) and (s.is_directive or s.any(C.BEFORE, C.AFTER, C.TAMPER))


def _orders_unknown_tool(s: Sentence, m: ToolMentions) -> bool:
    is_demand = s.is_directive and s.any(C.MUST, C.BEFORE, C.AFTER, C.WHENEVER)
    return bool(m.unknown) and is_demand and s.any(C.CALL, C.SEND, C.READ, C.TAMPER)


def _names_own_tool(_: Sentence, m: ToolMentions) -> bool:
    return bool(m.own)


def _tampers(s: Sentence, m: ToolMentions) -> bool:
    return (_is_foreign(s, m) or s.near(C.ALL, C.TOOL, 2)) and s.wants(C.TAMPER, C.ARGUMENT)


def _hooks_tool(s: Sentence, m: ToolMentions) -> bool:
    is_about = _is_foreign(s, m) or s.near(C.ALL, C.TOOL, 3)
    return is_about and s.any(C.WHENEVER, C.BEFORE, C.AFTER) and _IS_CALLED.search(s.text) is not None


def _changes_values(s: Sentence, _: ToolMentions) -> bool:
    is_change = s.is_directive and s.follows(C.TAMPER, C.ARGUMENT, 5) and not s.follows(C.NOT, C.TAMPER, 3)
    return is_change and s.any(C.USER, C.WHENEVER) and not s.follows(C.WHENEVER, C.YOU, 2)


def _orders_other_tools(s: Sentence, m: ToolMentions) -> bool:
    is_other = s.near(C.OTHER, C.TOOL, 2) or s.near(C.OTHER, C.SERVER, 2)
    return s.is_directive and is_other and not m.own and _OWN_FAMILY.search(s.text) is None


def _praises_itself(s: Sentence, _: ToolMentions) -> bool:
    return s.has(C.PRAISE) and _BEST.search(s.text) is not None


def _wants_preference(s: Sentence, m: ToolMentions) -> bool:
    is_over = _is_foreign(s, m) or s.near(C.ALL, C.TOOL, 3) or s.has(C.PRAISE, C.TOOL) or s.has(C.BLAME)
    return s.has(C.CHOOSE) and is_over and _OWN_FAMILY.search(s.text) is None


def _blames_others(s: Sentence, m: ToolMentions) -> bool:
    is_banned = s.is_directive and s.has(C.TOOL) and "this" not in s.words
    return s.has(C.BLAME) and (_is_foreign(s, m) or s.near(C.TOOL, C.SERVER, 4) or is_banned)


OTHER_TOOL_RULES = (
    TextRule(
        name="before-every-tool",
        severity=Suspicion.MEDIUM,
        reason="claims a place before or after every other tool",
        test=_precedes_all_tools,
    ),
    TextRule(name="part-of-every-call", reason="claims a part in every call", test=_joins_all_activity),
    TextRule(name="demand-first", reason="demands something beforehand", test=_demands_before),
    TextRule(
        name="cross-server-reference",
        severity=Suspicion.LOW,
        reason="names a tool of another server",
        test=_names_foreign_tool,
    ),
    TextRule(
        name="cross-server-demand",
        severity=Suspicion.MEDIUM,
        reason="makes a demand about another server's tool",
        test=_orders_foreign_tool,
    ),
    TextRule(
        name="unknown-tool",
        severity=Suspicion.MEDIUM,
        reason="makes a demand about a tool that its server does not have",
        test=_orders_unknown_tool,
    ),
    TextRule(name="own-tool", reason="names a tool of its own server", test=_names_own_tool),
    TextRule(
        name="tamper-with-calls",
        severity=Suspicion.MEDIUM,
        reason="changes what other tools are called with",
        test=_tampers,
    ),
    TextRule(
        name="hook-tool",
        severity=Suspicion.MEDIUM,
        reason="acts when another tool is called",
        test=_hooks_tool,
    ),
    TextRule(
        name="change-values",
        severity=Suspicion.MEDIUM,
        reason="changes what the user asked for",
        test=_changes_values,
    ),
    TextRule(
        name="orders-about-tools",
        severity=Suspicion.MEDIUM,
        reason="gives orders about other tools",
        test=_orders_other_tools,
    ),
    TextRule(
        name="self-praise",
        severity=Suspicion.MEDIUM,
        reason="praises itself as the best tool",
        test=_praises_itself,
    ),
    TextRule(
        name="preference",
        severity=Suspicion.MEDIUM,
        reason="wants to be chosen over other tools",
        test=_wants_preference,
    ),
    TextRule(
        name="disparage-tools",
        severity=Suspicion.MEDIUM,
        reason="runs other tools down",
        test=_blames_others,
    ),
)
