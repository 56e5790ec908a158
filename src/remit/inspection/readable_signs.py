"""Words for what the sentence model weighs, as far as a person can read it."""

from collections.abc import Iterable, Iterator, Sequence

_MOST = 4
_SHORTEST = 3  # letters of a word that says something by itself
_FILLERS = frozenset(["and", "are", "but", "for", "has", "its", "the", "was", "with"])
_KINDS = {
    "<self>": "this tool",
    "<own>": "a tool of the same server",
    "<tool>": "another tool",
    "<home>": "its own server",
    "<private>": "a private file",
    "<variable>": "a variable",
    "<url>": "a web address",
    "<domain>": "a domain",
    "<email>": "an e-mail address",
    "<path>": "a path",
    "<number>": "a number",
    "<digits>": "a long number",
    "<name>": "a name",
    "<parameter>": "a parameter",
    "<quoted>": "a quoted name",
}


def readable_signs(signs: Iterable[str], words: Sequence[str]) -> list[str]:
    """Return the first signs that a person can read: words of the sentence, and what stands for a name.

    Roles, moods and pairs with a gap are the model's own; a word that a shown pair contains is not repeated.
    """
    shown: list[str] = []
    for told in (told for sign in signs for told in _readable(sign.split(), words)):
        if not any(told.strip("“”") in each for each in shown):
            shown.append(told)
        if len(shown) == _MOST:
            break
    return shown


def _readable(sign: Sequence[str], words: Sequence[str]) -> Iterator[str]:
    if len(sign) == 1 and sign[0] in _KINDS:
        yield _KINDS[sign[0]]
    elif all(each.isalpha() for each in sign) and _is_said(sign, words) and not _is_filler(sign):
        yield f"“{' '.join(sign)}”"


def _is_said(sign: Sequence[str], words: Sequence[str]) -> bool:
    return any(list(words[at : at + len(sign)]) == list(sign) for at in range(len(words)))


def _is_filler(sign: Sequence[str]) -> bool:
    return all(len(each) < _SHORTEST or each in _FILLERS for each in sign)
