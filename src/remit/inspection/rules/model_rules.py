"""Signs that a sentence gives orders to the model: about its rules, its user, and data."""

import re

from remit.inspection.inspection_findings import Suspicion
from remit.inspection.rules.text_rule import TextRule
from remit.inspection.tool_mentions import ToolMentions
from remit.inspection.vocabulary.concepts import Concept as C
from remit.inspection.vocabulary.sentences import Sentence

_IGNORE = re.compile(r"(?i)\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget|overrule|override)\b")
_FORGET = re.compile(
    r"(?ix)\b(?:ignore|forget|disregard)\s+(?:what(?:ever)?|everything|anything|all)\b.{0,40}"
    r"\b(?:told|said|came|instructed|learned|above)\b"
)
_SYSTEM = re.compile(
    r"(?ix)^\W*(?:system|developer|admin|root)\s*"
    r"(?:override|message|note|notice|prompt|instructions?|directive|update|policy|only)?\s*(?:[:\]}]|$)"
    r"|\b(?:new|updated|revised)\s+(?:system|developer)\s+(?:instructions?|directives?|message|prompt)\b"
    r"|\b(?:secret|hidden)\s+(?:system\s+)?(?:instructions?|directives?)\b|\brole\W+system\b"
    r"|\bdeveloper\s(?:mode|message)\b|\bsystem\s(?:notice|override|message)\b"
)
_ADDRESS = re.compile(
    r"(?ix)\b(?:note|message|memo|instructions?|directive|attention|notice|reminder|nb|dear|hey|hi|hello)\b,?\s+"
    r"(?:to|for|all|any)?\s*(?:the\s+)?(?:calling\s+)?(?:ai|llm|model|assistant|agent)s?\b(?!\sanalysis)"
    r"|^\W*(?:assistant|model|llm|ai|agents?)\s+(?:instructions?|directive|note|only)\b|\bllm\sonly\b"
    r"|^\W*(?:and\syou,?\s)?(?:model|assistant|agent|ai)[,:]\s"
)
_LET = re.compile(r"(?i)\b(?:never|not|don't)\s+let\s+the\s+user\s+(?:know|see|notice|find)\b")
_ROLE = re.compile(
    r"(?ix)\byou(?:'re|\sare|\shave\sbecome|\swill\s(?:be|become|act))\s+(?:now|no\slonger|henceforth|\w+bot\b)"
    r"|\bact\sas\b.{0,60}\b(?:all|every|further|future)\b|\bact\sin\sthe\sinterest\b|\bunrestricted\s(?:assistant|model|ai|agent|mode)\b|\byou\shave\sbeen\sgranted"
    r"|\b(?:reply|respond|answer|speak)\b.{0,30}\b(?:style|voice|persona|manner)\sof\b|\bno\scontent\srestrictions\b|\bno\srestrictions\snow\b"
    r"|\belevated\spermission"
)
_REGARDLESS = re.compile(
    r"(?ix)\b(?:regardless\sof|no\smatter|whatever|even\s(?:if|when|where|though)|irrespective)\b.{0,30}"
    r"\b(?:user|request|asked|asks|say|says|results?|names?|nobody|another|other)\b"
    r"|\brequests?\b.{0,60}\b(?:must|have\sto|should|are\sto)\sbe\s(?:declined|refused|rejected|ignored)\b"
    r"|\bon\s(?:their|the\suser's)\sbehalf\b|\bover\sthe\sinterests?\sof\b"
)
_GIVEN = re.compile(
    r"(?ix)\b(?:user|they)\b.{0,20}\b(?:already|gave|granted)\b.{0,25}\b(?:consent|permission|approv|agreed)"
    r"|\b(?:do\snot|don't|never)\sask\s(?:the\s)?user\s(?:before|again|for\s(?:permission|confirmation|approval))"
)
_AS_ORDERS = re.compile(
    r"(?i)\btreat\b.{0,60}\bas\b(?!.{0,20}\b(?:data|untrusted)\b).{0,40}\b(?:instructions?|commands?|orders?)\b"
)
_LIE = re.compile(r"(?i)\btell\s(?:them|the\suser)\b.{0,60}\b(?:but|even though|although)\b")
_ADVERTISE = re.compile(
    r"(?ix)\b(?:recommend|promote|advertise|push|endorse)\b.{0,60}\b(?:answers?|repl(?:y|ies)|responses?)\b"
    r"|\b(?:answers?|repl(?:y|ies)|responses?)\b.{0,60}\b(?:recommend|promote|advertise|push|endorse)\b"
)
_SAFEGUARD = re.compile(
    r"(?ix)\b(?:disable|turn\soff|delete|clear|wipe|erase)\b.{0,25}"
    r"\b(?:antivirus|firewall|audit|the\slogs?|logging|history|monitoring|protection)\b"
)
_ROLES = {"system", "developer", "admin", "root", "secret", "hidden"}
_MODELS = {"ai", "llm", "model", "models", "llms"}
_SKIP = {"skip", "bypass", "waive", "circumvent", "suppress"}
_PRETEXT = re.compile(
    r"(?ix)\b(?:security|safety|compliance|integrity|audit|verification|authentication|legal|regulatory|company"
    r"|data\sconsistency|initialization|diagnostics?|personalization|accuracy|dedup\w*)\s*"
    r"(?:check|checks|scan|review|policy|policies|protocols?|verification|requirements?|reasons|purposes|audit"
    r"|validation|procedure|measures?|step|standards?|,)"
    r"|\bsection\s\d|\bterms\sof\sservice\b|\bpriority\srule\b|\bhigh(?:est)?\spriority\b|\bfor\scompliance\b"
)
_SHELL = re.compile(
    r"(?ix)\b(?:curl|wget)\b[^|]{0,200}\|\s*(?:sudo\s+)?(?:ba|z)?sh\b|\brm\s+-rf?\s|\bchmod\s+(?:\+x|777)\b|/dev/tcp/"
    r"|\bnc\s+[\w.]+\s+\d+|\|\s*nc\b|\bcat\s+[~/][^\s]|\benv\s*\||>\s*/tmp/|powershell\s+-e|\bcrontab\b"
    r"|\barbitrary\s(?:shell\s)?commands\b|\bremote\sscripts\b"
)
_SHELL_SIGNS = (  # one is in every shell line, and they are found much faster
    *("|", ">", "~", "/", "-r", "nc", "chmod", "crontab", "powershell", "arbitrary", "remote"),
)
_DATA = (C.SECRET, C.CONVERSATION, C.PERSONAL, C.PRIVATE_FILE, C.SYSTEM_PROMPT)


def _overrides(s: Sentence, _: ToolMentions) -> bool:
    if s.near(C.IGNORE, C.INSTRUCTIONS) and s.near(C.IGNORE, C.EARLIER, 5):
        return s.is_directive or _IGNORE.search(s.text) is not None
    if _IGNORE.search(s.text) is None:
        return False
    if _FORGET.search(s.text):
        return True
    is_general = s.follows(C.IGNORE, C.INSTRUCTIONS) and s.any(C.YOU, C.ALL, C.MODEL)
    return s.follows(C.IGNORE, C.EARLIER, 4) or is_general


def _overrides_plainly(s: Sentence, m: ToolMentions) -> bool:
    return not s.has(C.MENTION) and _overrides(s, m)


def _voids(s: Sentence, _: ToolMentions) -> bool:
    if s.has(C.MENTION):
        return False
    return (s.near(C.IGNORE, C.INSTRUCTIONS) and s.any(C.YOU, C.MODEL)) or s.near(C.IGNORE, C.SYSTEM_PROMPT)


def _obeys_data(s: Sentence, _: ToolMentions) -> bool:
    return s.is_directive and s.near(C.OBEY, C.INSTRUCTIONS, 8) and not s.follows(C.NOT, C.OBEY, 3)


def _takes_data_for_orders(s: Sentence, _: ToolMentions) -> bool:
    return s.has(C.OBEY) and _AS_ORDERS.search(s.text) is not None


def _steers_answers(s: Sentence, _: ToolMentions) -> bool:
    return s.is_directive and _ADVERTISE.search(s.text) is not None


def _disables_safeguards(s: Sentence, _: ToolMentions) -> bool:
    return (s.is_directive or s.any(C.BEFORE, C.AFTER)) and _SAFEGUARD.search(s.text) is not None


def _poses_as_system(s: Sentence, _: ToolMentions) -> bool:
    return not _ROLES.isdisjoint(s.words) and _SYSTEM.search(s.text) is not None


def _addresses_model(s: Sentence, _: ToolMentions) -> bool:
    return (s.has(C.MODEL) or not _MODELS.isdisjoint(s.words)) and _ADDRESS.search(s.text) is not None


def _changes_role(s: Sentence, _: ToolMentions) -> bool:
    return _ROLE.search(s.text) is not None


def _conceals(s: Sentence, _: ToolMentions) -> bool:
    if s.is_unspaced:
        return s.has(C.NOT, C.TELL, C.USER)
    is_kept = s.follows(C.NOT, C.TELL, 3) and s.follows(C.TELL, C.USER, 4)
    return _LET.search(s.text) is not None or (is_kept and not s.follows(C.USER, C.NOT, 3))


def _keeps_unaware(s: Sentence, _: ToolMentions) -> bool:
    return s.follows(C.USER, C.NOT, 4) and s.follows(C.NOT, C.KNOW, 4) and not s.has(C.WHENEVER)


def _forbids_mention(s: Sentence, _: ToolMentions) -> bool:
    return s.is_directive and s.follows(C.NOT, C.TELL, 2) and not s.follows(C.USER, C.NOT, 3)


def _acts_secretly(s: Sentence, _: ToolMentions) -> bool:
    return s.has(C.SECRETLY) and (s.is_directive or s.any(C.ALSO, *_DATA))


def _takes_file(s: Sentence, _: ToolMentions) -> bool:
    if not s.has(C.PRIVATE_FILE):
        return False
    is_taken = s.has(C.LEAK) or s.wants(C.READ, C.PRIVATE_FILE, 10) or s.wants(C.SEND, C.PRIVATE_FILE, 12)
    return is_taken and not s.has(C.MENTION)


def _takes_secret(s: Sentence, _: ToolMentions) -> bool:
    return s.is_directive and (s.wants(C.SEND, C.SECRET, 8) or s.wants(C.READ, C.SECRET))


def _takes_conversation(s: Sentence, _: ToolMentions) -> bool:
    return s.is_directive and (s.wants(C.SEND, C.CONVERSATION, 10) or s.wants(C.READ, C.CONVERSATION))


def _takes_system_prompt(s: Sentence, _: ToolMentions) -> bool:
    is_order = s.is_directive or s.has(C.YOU)
    return is_order and (s.wants(C.SEND, C.SYSTEM_PROMPT, 8) or s.wants(C.TELL, C.SYSTEM_PROMPT, 8))


def _takes_personal_data(s: Sentence, _: ToolMentions) -> bool:
    return s.is_directive and (s.wants(C.SEND, C.PERSONAL, 8) or s.wants(C.READ, C.PERSONAL))


def _sends_outside(s: Sentence, _: ToolMentions) -> bool:
    has_place = bool(s.places) and s.any(C.SEND, C.TAMPER, C.MUST)
    return s.is_directive and (s.wants(C.SEND, C.OUTSIDE, 14) or has_place) and not s.starts(C.NOT)


def _sends_data_outside(s: Sentence, _: ToolMentions) -> bool:
    has_place = bool(s.places) or s.has(C.OUTSIDE)
    return has_place and s.any(C.SEND, C.LEAK) and s.any(*_DATA) and not s.starts(C.NOT)


def _leaks(s: Sentence, _: ToolMentions) -> bool:
    return s.has(C.LEAK) and s.any(C.OUTSIDE, C.ALL, *_DATA) and not s.starts(C.NOT)


def _obliges_model(s: Sentence, _: ToolMentions) -> bool:
    return s.follows(C.MODEL, C.MUST, 5)


def _directs_model(s: Sentence, _: ToolMentions) -> bool:
    is_steered = bool(s.places) or s.any(C.OUTSIDE, C.SECRETLY, C.LASTING, *_DATA)
    return s.has(C.MODEL) and is_steered and s.any(C.SEND, C.READ, C.TELL, C.CALL)


def _lasts(s: Sentence, _: ToolMentions) -> bool:
    return s.has(C.LASTING) and (s.is_directive or s.any(C.YOU, C.MODEL))


def _skips_approval(s: Sentence, _: ToolMentions) -> bool:
    if _GIVEN.search(s.text):
        return True
    if not s.follows(C.SKIP, C.CONSENT, 3) or s.starts(C.WHENEVER):
        return False
    is_double = s.follows(C.NOT, C.SKIP, 12) and "without" in s.words  # `never ... without approval`
    return not is_double and (s.is_directive or not _SKIP.isdisjoint(s.words))


def _deceives(s: Sentence, _: ToolMentions) -> bool:
    return s.is_directive and (s.has(C.PRETEND) or _LIE.search(s.text) is not None)


def _overrules_user(s: Sentence, _: ToolMentions) -> bool:
    return (s.is_directive or s.any(C.MODEL, C.YOU)) and _REGARDLESS.search(s.text) is not None


def _holds_shell_line(s: Sentence, _: ToolMentions) -> bool:
    may_hold = not s.text.isascii() or any(sign in s.text.lower() for sign in _SHELL_SIGNS)
    return may_hold and not s.has(C.MENTION) and _SHELL.search(s.text) is not None


def _pleads(s: Sentence, _: ToolMentions) -> bool:
    return s.is_directive and _PRETEXT.search(s.text) is not None


def _orders(s: Sentence, _: ToolMentions) -> bool:
    return s.is_directive


def _reacts(s: Sentence, _: ToolMentions) -> bool:
    is_when = s.starts(C.WHENEVER, C.BEFORE, C.AFTER, within=3)
    return is_when and s.is_directive and s.any(C.SEND, C.TAMPER, C.READ)


MODEL_RULES = (
    TextRule(
        name="override-instructions",
        severity=Suspicion.HIGH,
        reason="tells the model to ignore its instructions",
        test=_overrides_plainly,
    ),
    TextRule(
        name="quoted-override",
        severity=Suspicion.LOW,
        reason="quotes an instruction to ignore instructions",
        test=lambda s, m: s.has(C.MENTION) and _overrides(s, m),
    ),
    TextRule(
        name="void-rules",
        severity=Suspicion.MEDIUM,
        reason="declares the model's rules void",
        test=_voids,
    ),
    TextRule(name="obey-data", reason="has the model follow instructions in data", test=_obeys_data),
    TextRule(
        name="data-as-orders",
        severity=Suspicion.MEDIUM,
        reason="has the model take data for orders",
        test=_takes_data_for_orders,
    ),
    TextRule(
        name="steer-answers",
        severity=Suspicion.MEDIUM,
        reason="says what the model's answers should advertise",
        test=_steers_answers,
    ),
    TextRule(
        name="disable-safeguards",
        severity=Suspicion.MEDIUM,
        reason="has logs or safeguards removed",
        test=_disables_safeguards,
    ),
    TextRule(
        name="system-impersonation",
        severity=Suspicion.MEDIUM,
        reason="poses as the system or the developer",
        test=_poses_as_system,
    ),
    TextRule(name="model-address", reason="addresses the model", test=_addresses_model),
    TextRule(
        name="role-change",
        severity=Suspicion.MEDIUM,
        reason="gives the model another role",
        test=_changes_role,
    ),
    TextRule(
        name="conceal-from-user",
        severity=Suspicion.MEDIUM,
        reason="tells the model to keep something from the user",
        test=_conceals,
    ),
    TextRule(
        name="unaware-user",
        severity=Suspicion.MEDIUM,
        reason="says that the user does not know about something",
        test=_keeps_unaware,
    ),
    TextRule(
        name="forbid-mention",
        severity=Suspicion.MEDIUM,
        reason="forbids mentioning something",
        test=_forbids_mention,
    ),
    TextRule(
        name="act-secretly",
        severity=Suspicion.MEDIUM,
        reason="asks for something to be done silently",
        test=_acts_secretly,
    ),
    TextRule(
        name="private-file",
        severity=Suspicion.MEDIUM,
        reason="asks for a file that holds secrets",
        test=_takes_file,
    ),
    TextRule(name="secrets", severity=Suspicion.MEDIUM, reason="asks for secrets", test=_takes_secret),
    TextRule(
        name="conversation",
        severity=Suspicion.MEDIUM,
        reason="asks for the conversation",
        test=_takes_conversation,
    ),
    TextRule(
        name="system-prompt",
        severity=Suspicion.MEDIUM,
        reason="asks for the system prompt",
        test=_takes_system_prompt,
    ),
    TextRule(
        name="personal-data",
        severity=Suspicion.MEDIUM,
        reason="asks for personal data",
        test=_takes_personal_data,
    ),
    TextRule(
        name="send-outside",
        severity=Suspicion.MEDIUM,
        reason="has something sent to an outside address",
        test=_sends_outside,
    ),
    TextRule(
        name="send-data-outside",
        severity=Suspicion.MEDIUM,
        reason="has data sent to an outside address",
        test=_sends_data_outside,
    ),
    TextRule(name="leak", severity=Suspicion.MEDIUM, reason="speaks of leaking data", test=_leaks),
    TextRule(name="model-obligation", reason="obliges the model by name", test=_obliges_model),
    TextRule(
        name="model-conduct",
        severity=Suspicion.MEDIUM,
        reason="says what the model does with data",
        test=_directs_model,
    ),
    TextRule(
        name="lasting-order",
        severity=Suspicion.MEDIUM,
        reason="gives an order that outlives the call",
        test=_lasts,
    ),
    TextRule(
        name="skip-approval",
        severity=Suspicion.MEDIUM,
        reason="has a confirmation skipped",
        test=_skips_approval,
    ),
    TextRule(
        name="deceive-user",
        severity=Suspicion.MEDIUM,
        reason="has the model deceive the user",
        test=_deceives,
    ),
    TextRule(
        name="overrule-user",
        severity=Suspicion.MEDIUM,
        reason="overrules what the user says",
        test=_overrules_user,
    ),
    TextRule(
        name="shell-command",
        severity=Suspicion.MEDIUM,
        reason="contains a shell command",
        test=_holds_shell_line,
    ),
    TextRule(name="pretext", severity=Suspicion.MEDIUM, reason="pleads security or compliance", test=_pleads),
    TextRule(name="order", reason="gives an order", test=_orders),
    TextRule(name="conditional-order", reason="gives an order for when something else happens", test=_reacts),
)
