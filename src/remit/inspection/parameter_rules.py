"""Finds parameters outside a tool's purpose: about the model, the conversation, or secrets."""

import re
from collections.abc import Iterator

from remit.decision.tools import Definition
from remit.inspection.inspection_findings import InspectionFinding, Suspicion, finding
from remit.inspection.passages import Parameter, parameters
from remit.inspection.surroundings import own_name, plain_name

_ABOUT_MODEL = re.compile(
    r"(?:^|_)(?:llm|(?:ai|language|calling)_model)_|^(?:model|agent|assistant)_(?:name|version|id|identity|info)$|^(?:available|your|other)_tools$"
    r"|(?:^|_)system_(?:prompt|message|instructions?)$|(?:^|_)chain_of_thought$|^(?:your_)?reasoning(?:_so_far)?$"
)
_ABOUT_CONVERSATION = re.compile(
    r"(?:^|_)(?:conversation|chat|dialog(?:ue)?|message)_(?:history|log|so_far|context)$|^(?:full|entire|previous)_(?:conversation|context|chat|prompt)$"
)
_SECRET = re.compile(
    r"(?:^|_)(?:passwords?|passwd|passphrase|private_keys?|ssh_keys?|api_keys|all_secrets|seed_phrase|credit_card|session_cookie|cookies)$"
)
_MODEL_WORDS = re.compile(
    r"(?i)\b(?:llms?|ai|models?|prompts?|agents?|assistants?|chat|completions?|gpt|claude|gemini|openai|ollama|generat\w*|embed\w*|inference"
    r"|conversations?|messages?|think\w*|reason\w*|thought\w*|plan\w*|evaluat\w*|predict\w*|train\w*|delegat\w*|session|transcript|memor\w*|deploy\w*|voice|call)"
)
_SECRET_WORDS = re.compile(
    r"(?i)(?:connect|log.?in|sign|auth|account|user|register|password|secret|credential|ssh|sftp|ftp|smtp|imap|mail|database|db\b|sql|key|cert|wallet"
    r"|token|vault|encrypt|decrypt|crypt|session|server|host|remote|deploy|proxy|vpn|router|wifi|network|pdf|zip|archive|protect|unlock|browser|cookie"
    r"|scrap|fetch|http|request|api|download|site|page|url|chain|transaction|transfer|swap|payment|instance|cluster|admin|security|hash|backup|config|stealer)"
)
_ASKS = re.compile(
    r"(?ix)\b(?:your|the\smodel's|the\sassistant's|the\sagent's)\s(?:system\sprompt|instructions|reasoning\sso\sfar|chain\sof\sthought|context\swindow)"
    r"|\b(?:which|what|name\sof\sthe)\s(?:llm|language\smodel|ai\smodel|model)\b.{0,30}\b(?:you\sare|calls?|using|uses|invok)"
    r"|\b(?:complete|full|entire|whole)\s(?:conversation|chat|dialogue|message)\s?(?:history|log|so\sfar)?\b.{0,60}\b(?:prompt|verbatim|required|so\sfar|user|history)\b"
    r"|\b(?:all|any)\s(?:api\skeys|passwords|credentials|secrets|tokens)\b|\bthe\suser's\s(?:login\s)?(?:password|api\skey|private\skey|session|full\sname|oauth)"
    r"|\b(?:know|learned|remember)\sabout\sthe\suser\b|\b(?:contents?|text)\sof\s(?:the\s)?(?:ssh|private)\s(?:private\s)?key\b|\binsert\sthe\suser's\b"
    r"|\b(?:oauth|access|session)\stoken\sof\sthe\scurrent\b"
)
_FIRST = re.compile(r"[.!?\n]")


def out_of_scope_parameters(definition: Definition) -> Iterator[InspectionFinding]:
    """Report parameters that ask for something that the tool has no use for."""
    purpose = f"{plain_name(own_name(definition)).replace('_', ' ')} {_FIRST.split((definition.description or '').strip())[0]}"
    for each in parameters(definition):
        if reason := _reason(each, purpose):
            yield finding(
                "out-of-scope-parameter",
                Suspicion.MEDIUM,
                f"the parameter `{each.name}` {reason}",
                f"{each.name}: {each.description}" if each.description else each.name,
            )


def _reason(parameter: Parameter, purpose: str) -> str | None:
    name = plain_name(parameter.name)
    if not _MODEL_WORDS.search(purpose):
        if _ABOUT_MODEL.search(name):
            return "asks about the model"
        if _ABOUT_CONVERSATION.search(name):
            return "asks for the conversation"
    is_secret = _SECRET.search(name) is not None and not _SECRET_WORDS.search(
        f"{purpose} {parameter.description}".replace(parameter.name, "")
    )
    if is_secret and not _SECRET_WORDS.search(purpose):
        return "asks for a secret"
    return "asks for private data" if _ASKS.search(parameter.description) else None
