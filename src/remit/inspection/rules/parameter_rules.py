"""Finds parameters outside a tool's purpose: about the model, the conversation, or secrets."""

import re
from collections.abc import Iterator
from functools import lru_cache

from remit.decision.tools import Definition
from remit.inspection.inspection_findings import InspectionFinding, Suspicion, finding
from remit.inspection.passages import ToolParameter, parameters
from remit.inspection.surroundings import own_name, plain_name

_ABOUT_MODEL = re.compile(
    r"(?x)(?:^|_)(?:llm|(?:ai|language|calling)_model)_|^(?:model|agent|assistant)_(?:name|version|id|identity|info)$"
    r"|^(?:available|your|other)_tools$|(?:^|_)system_(?:prompt|message|instructions?)$|(?:^|_)chain_of_thought$"
    r"|^(?:your_)?reasoning(?:_so_far)?$"
)
_ABOUT_CONVERSATION = re.compile(
    r"(?x)(?:^|_)(?:conversation|chat|dialog(?:ue)?|message)_(?:history|log|so_far|context)$"
    r"|^(?:full|entire|previous)_(?:conversation|context|chat|prompt)$"
)
_SECRET = re.compile(
    r"(?x)(?:^|_)(?:passwords?|passwd|passphrase|private_keys?|ssh_keys?|api_keys|all_secrets|seed_phrase"
    r"|credit_card|session_cookie|cookies)$"
)
_MODEL_WORDS = re.compile(  # of tools that have to do with models and conversations
    r"(?ix)\b(?:llms?|ai|models?|prompts?|agents?|assistants?|chat|completions?|gpt|claude|gemini|openai|ollama"
    r"|generat|embed|inference|conversation|message|think|reason|thought|plan|evaluat|predict|train|delegat|session"
    r"|transcript|memor|deploy|voice|call)"
)
_SECRET_WORDS = re.compile(  # of tools that sign in somewhere
    r"(?ix)connect|log.?in|sign|auth|account|user|register|password|secret|credential|ssh|ftp|smtp|imap|mail"
    r"|database|db\b|sql|key|cert|wallet|token|vault|crypt|session|server|host|remote|deploy|proxy|vpn|router|wifi"
    r"|network|pdf|zip|archive|protect|unlock|browser|cookie|scrap|fetch|http|request|api|download|site|page|url"
    r"|chain|transaction|transfer|swap|payment|instance|cluster|admin|security|hash|backup|config"
)
_ASKS = re.compile(
    r"(?ix)\b(?:your|the\s(?:model|assistant|agent)'s)\s(?:system\sprompt|instructions|reasoning\sso\sfar"
    r"|chain\sof\sthought|context\swindow)"
    r"|\b(?:which|what|name\sof\sthe)\s(?:llm|(?:language\s|ai\s)?model)\b.{0,30}\b(?:you\sare|calls?|us(?:es|ing)|invok)"
    r"|\b(?:complete|full|entire|whole)\s(?:conversation|chat|dialogue|message)\b.{0,60}"
    r"\b(?:prompt|verbatim|required|so\sfar|user|history)\b"
    r"|\b(?:all|any)\s(?:api\skeys|passwords|credentials|secrets|tokens)\b"
    r"|\bthe\suser's\s(?:login\s)?(?:password|api\skey|private\skey|session|full\sname|oauth)"
    r"|\b(?:know|learned|remember)\sabout\sthe\suser\b|\binsert\sthe\suser's\b"
    r"|\b(?:contents?|text)\sof\s(?:the\s)?(?:ssh|private)\s(?:private\s)?key\b"
    r"|\b(?:oauth|access|session)\stoken\sof\sthe\scurrent\b"
)
_FIRST = re.compile(r"[.!?\n]")


def out_of_scope_parameters(definition: Definition) -> Iterator[InspectionFinding]:
    """Report parameters that ask for something that the tool has no use for."""
    name = plain_name(own_name(definition)).replace("_", " ")
    purpose = f"{name} {_FIRST.split((definition.description or '').strip())[0]}"
    for each in parameters(definition):
        if reason := _reason(each, purpose):
            yield finding(
                "out-of-scope-parameter",
                Suspicion.MEDIUM,
                f"the parameter `{each.name}` {reason}",
                f"{each.name}: {each.description}" if each.description else each.name,
            )


def _reason(parameter: ToolParameter, purpose: str) -> str | None:
    reason, words = _named(parameter.name)
    if words is not None and not words.search(purpose):
        return reason
    return "asks for private data" if _asks(parameter.description) else None


@lru_cache(maxsize=1 << 12)  # the tools of a server repeat their parameters
def _named(name: str) -> tuple[str, re.Pattern[str] | None]:
    """Return what a parameter's name asks for, and the words of tools that have a use for it."""
    plain = plain_name(name)
    if _ABOUT_MODEL.search(plain):
        return "asks about the model", _MODEL_WORDS
    if _ABOUT_CONVERSATION.search(plain):
        return "asks for the conversation", _MODEL_WORDS
    return ("asks for a secret", _SECRET_WORDS) if _SECRET.search(plain) else ("", None)


@lru_cache(maxsize=1 << 12)
def _asks(description: str) -> bool:
    return _ASKS.search(description) is not None
