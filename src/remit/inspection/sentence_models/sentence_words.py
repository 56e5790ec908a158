"""Splits a sentence into words, and finds the owner of each name."""

import re
from dataclasses import dataclass
from functools import lru_cache

from remit.inspection.sentence_models.word_roles import ACTS, THINGS, is_plain, roles_in
from remit.inspection.surroundings import Surroundings, own_name, plain_name
from remit.inspection.tool_mentions import InspectedDefinition, may_be_tool
from remit.text.words import split

MOST_WORDS = 60  # of a sentence
_TOKEN = re.compile(
    r"""(?x)
    (?P<url>\b(?:https?|s3|ftp|wss?|ssh)://[^\s)\]`"'<>]+ | \bwww\.[^\s)]+ | \b\d{1,3}(?:\.\d{1,3}){3}\b)
    | (?P<email>(?<![\w.+-])[\w.+-]++@[\w-]+\.[\w.-]+)
    | (?P<domain>(?<![\w.-])(?:[A-Za-z0-9-]++\.)++(?:com|net|org|io|dev|app|example|ai|cc|co|me|sh|xyz|site
        |info|cloud|tech|link|eu|uk|de)\b(?:/[^\s)\]`"'<>]*+)?)
    | (?P<path>(?<![\w/])(?:~ | \.{1,2} | \$HOME | [A-Z]:)?(?:[/\\][\w.@$*-]+)+/? | (?<!\w)\.[a-z][\w.-]+
        | \b[\w-]++(?:/[\w.-]+)+
        | \b[\w-]++\.(?:json|ya?ml|txt|md|py|js|ts|env|pem|key|toml|csv|sh|dat|db|log|conf|cfg|ini)\b)
    | (?P<name>\b[A-Za-z][A-Za-z0-9]*+(?:[_.][A-Za-z0-9]++)+(?:\(\))? | \b[a-z]+(?:[A-Z][a-z0-9]+)+\b
        | `[^`\s]+` | \b[a-z]+-[a-z]+(?:-[a-z]+)+\b)
    | (?P<word>[^\W\d_]+(?:['’][a-z]+)?)
    | (?P<digits>\d{5,})
    | (?P<number>\d+)
    | (?P<mark>[!:?"“\[<>|=] | (?<=\w)\((?!e?s\)))
    """
)
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_PRIVATE = re.compile(
    r"(?ix)id_(?:rsa|ed25519|dsa|ecdsa)\b|(?<!\w)\.(?:ssh|aws|gnupg|kube|netrc|npmrc|pypirc|git-credentials"
    r"|docker/config|bash_history|zsh_history|bashrc|zshrc|profile|pgpass|config/gh|cursor|claude|vscode|azure|boto"
    r"|htpasswd|env)\b(?!\.(?:example|sample|template))|/etc/\w|/proc/|/root/|/var/log|authorized_keys|known_hosts"
    r"|kubeconfig|credentials?\b|secrets?\b|passw|keychain|wallet|private|\.pem|\.key|mcp\.json|history"
    r"|desktop_config|token"
)
_PARTS = re.compile(r"[^a-z0-9]+")
_SHORTEST = 4  # letters of a word that stands for a server
_ORDINARY = frozenset(
    [
        "server",
        "servers",
        "tool",
        "tools",
        "official",
        "client",
        "data",
        "search",
        "file",
        "files",
        "http",
        "agent",
        "agents",
        "assistant",
        "core",
    ]
)
_FIRST = re.compile(r"[.!?\n]")
_MOST_OF_NAME = 4  # words of a name
_KINDS = {
    "<self>": "myself",
    "<own>": "sibling",
    "<tool>": "foreign",
    "<home>": "ours",
    "<private>": "confidential",
    "<variable>": "credentials",
    "<url>": "website",
    "<domain>": "domain",
    "<email>": "email",
    "<path>": "path",
    "<number>": "number",
    "<digits>": "account",
    "<name>": "name",
    "<parameter>": "argument",
    "<quoted>": "quote",
}  # as words that a network knows


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolHome:
    """What belongs to a tool: its names, its server's tools and words, and what it is for."""

    name: str
    server: str | None
    others: Surroundings
    values: frozenset[str]
    words: frozenset[str]
    purpose: frozenset[str]  # roles in its name and in its first sentence


def home_of(subject: InspectedDefinition) -> ToolHome:
    """Collect what belongs to an inspected tool."""
    definition = subject.definition
    name = plain_name(own_name(definition))
    parts = _PARTS.split((definition.server or "").lower())
    home = ToolHome(
        name=name,
        server=definition.server,
        others=subject.others,
        values=frozenset(map(plain_name, subject.values)),
        words=frozenset(part for part in parts if len(part) >= _SHORTEST and part not in _ORDINARY),
        purpose=frozenset(),
    )
    first = _FIRST.split((definition.description or "").strip(), maxsplit=1)[0]
    said = [*filter(None, name.split("_")), *words_of(first, home)]
    roles = {role for found in roles_in(said) for role in found}
    return ToolHome(
        name=name,
        server=home.server,
        others=home.others,
        values=home.values,
        words=home.words,
        purpose=frozenset(roles & (ACTS | THINGS)),
    )


def words_of(text: str, home: ToolHome) -> list[str]:
    """Return the words of a sentence in lower case; names, paths and addresses become their kind."""
    words, names, stems = _split(text)
    if not names and home.words.isdisjoint(stems):
        return list(words)
    found = ["<home>" if stem in home.words else word for word, stem in zip(words, stems, strict=True)]
    for at, name in names:
        found[at] = _kind_of_name(name, home)
    return found


def plain_text(text: str, home: ToolHome) -> str:
    """Return a sentence in words that a network knows.

    Names, paths and addresses become their kind; the words of another tool's name follow its kind.
    """
    names = dict(_split(text)[1])
    said: list[str] = []
    for at, word in enumerate(words_of(text, home)):
        said.append(_KINDS.get(word, word))
        if at in names and word != "<self>":
            inside = split(names[at].strip("`").removesuffix("()")).lower().split()
            said += [each for each in inside if each.isalnum()][:_MOST_OF_NAME]
    return " ".join(said)


def has_plain_words(text: str) -> bool:
    """Return whether a sentence names nothing, and no word may be part of an order to the model."""
    words, names, _ = _split(text)
    return not names and is_plain(words)


@lru_cache(maxsize=1 << 12)  # the tools of a server repeat their schemas' texts
def _split(text: str) -> tuple[tuple[str, ...], tuple[tuple[int, str], ...], tuple[str, ...]]:
    """Split a sentence into words, names with their positions, and words without a possessive `'s`."""
    tokens = [token for chunk in text.split()[:MOST_WORDS] for token in _tokens(chunk)][:MOST_WORDS]
    words = tuple([word for word, _ in tokens])
    names = tuple([(at, name) for at, (_, name) in enumerate(tokens) if name])
    has_possessive = "'" in text or "’" in text
    return words, names, tuple([word.removesuffix("'s") for word in words]) if has_possessive else words


@lru_cache(maxsize=1 << 14)
def _tokens(chunk: str) -> tuple[tuple[str, str], ...]:
    """Split a text without spaces into words, or names that only the tool can tell."""
    core = chunk.strip(".,;()")
    if core.isalpha() and (core[1:].islower() or core.isupper()):  # nearly all, and much faster
        return ((core.lower(), ""),)
    return tuple(_token(match) for match in _TOKEN.finditer(chunk))


def _token(match: re.Match[str]) -> tuple[str, str]:
    kind, token = match.lastgroup, match[0]
    if kind == "word":
        return token.lower().replace("’", "'"), ""
    if kind == "name":
        return "", token
    if kind == "path":
        return "<private>" if _PRIVATE.search(token) else "<path>", ""
    return token.replace("“", '"') if kind == "mark" else f"<{kind}>", ""


def _kind_of_name(token: str, home: ToolHome) -> str:
    name = plain_name(token.strip("`").removesuffix("()"))
    if _VARIABLE.fullmatch(token):
        return "<variable>"
    if name == home.name:
        return "<self>"
    if name in home.values:
        return "<parameter>"
    if home.others.is_own(name, home.server):
        return "<own>"
    if may_be_tool(name):
        return "<tool>"
    return "<quoted>" if token[0] == "`" and name.isalpha() else "<name>"
