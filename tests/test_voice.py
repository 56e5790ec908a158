"""Help, messages and docs stay free of phrases that readers stumble over."""

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import remit
from support.source_trees import source_modules

ROOT = Path(__file__).parent.parent

# Each phrase, with what to write instead.
PHRASES = {
    r"(?<!there )(?:is|are) no(?! longer| more| one)": "is not",
    r"ha(?:s|ve) to be": "must be",
    r"to be rid of": "to remove",
    r"may not be what": "what differs",
    r"(?:is|are) told": "who reads or says it",
    r"your word": "your approval",
    r"mend(?:s|ed|ing)?": "fix",
    r"anew": "again",
    r"br(?:ings?|ought) along": "ships with",
    r"(?:says?|said) otherwise": "default: ...",
    r"go(?:es)? by": "follows",
    r"in force": "available, or used",
    r"says? (?:nothing|anything|something) of|is said of": "does not mention",
    r"nobody|somebody|anybody": "who",
    r"but for": "except",
    r"that which|those which": "what",
    r"with which it": "that it ... with",
    r"of which": "whose, or two sentences",
    r"(?:give|given|has|have) leave": "may",
    r"belongs? into": "belongs in",
    r"the most there (?:is|are|may be)": "the maximum",
    r"something else than": "not",
    r"(?:behavi|col|fav)our\w*|(?:initial|normal|organ|recogn)is(?:e|ed|es|ing|ation)": "American spelling",
}
_RULES = [(re.compile(rf"\b(?:{phrase})\b", re.IGNORECASE), instead) for phrase, instead in PHRASES.items()]


def stumbles(text: str) -> list[str]:
    """Return each phrase of a text to rewrite, with some words around it and what to write instead."""
    flat = " ".join(text.split())
    return [
        f"{flat[max(found.start() - 30, 0) : found.end() + 30]} (write: {instead})"
        for rule, instead in _RULES
        for found in rule.finditer(flat)
    ]


def pages() -> Iterator[tuple[str, str]]:
    for path in sorted([*ROOT.glob("docs/**/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]):
        yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    yield "CHANGELOG.md", re.split(r"^## ", changes, flags=re.MULTILINE)[1]


def messages() -> Iterator[tuple[str, str]]:
    """Yield the texts in the code that are neither docstrings nor patterns nor lists of words."""
    for path, module in source_modules().items():
        if not path.startswith("inspection/"):
            for line, text in module.texts:
                if not text.startswith("(?"):
                    yield f"{path}:{line}", text


def docstrings_of_the_api() -> Iterator[tuple[str, str]]:
    for name in remit.__all__:
        public: object = getattr(remit, name)
        yield name, inspect.getdoc(public) or ""
        if inspect.isclass(public):
            for member, value in vars(public).items():
                if not member.startswith("_"):
                    yield f"{name}.{member}", inspect.getdoc(value) or ""


@pytest.mark.long
@pytest.mark.parametrize("texts", [pages, messages, docstrings_of_the_api])
def test_what_people_and_models_read_is_plain_english(texts: Callable[[], Iterator[tuple[str, str]]]) -> None:
    read = list(texts())
    assert read
    assert [f"{place}: {words}" for place, text in read for words in stumbles(text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "`X` is no list",
        "No tools are in force here",
        "Answer calls that wait for your word",
        "Nothing to mend.",
        "call the tool again: that asks anew",
        "nobody knows what it forbids",
        "it has to be\nan object",
        "everything but for the hooks",
        "`auto` unless you say otherwise",
        "Terraform was initialised here",
    ],
)
def test_a_phrase_that_readers_stumble_over_is_found(text: str) -> None:
    assert len(stumbles(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "There is no such tool.",
        "the server is no longer listed",
        "No tools are available here.",
        "a recommended amendment",
    ],
)
def test_plain_english_passes(text: str) -> None:
    assert stumbles(text) == []
