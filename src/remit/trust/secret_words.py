"""Tells whether a text is about secrets."""

import re

from remit.inspection.vocabulary.concepts import Concept
from remit.inspection.vocabulary.sentences import sentences
from remit.text.words import split

_SECRET = re.compile(
    r"(?ix)(?<![^\W_])(?:secrets?|tokens?|(?:api|ssh|access|private)?keys?|passwords?|passwd|passphrases?"
    r"|credentials?|cookies?|dot[ ]?env|env|ssh|id[ ]rsa|gnupg|keychain|keyring)(?![^\W_])"
)
# Lengths of what a model reads and writes; an `access token limit` is still about a secret.
_MODEL_TOKENS = re.compile(
    r"(?ix)(?<![^\W_])(?:(?:max(?:imum)?|min(?:imum)?|many|input|output|prompt|completion)[ _-]?tokens"
    r"|(?:number|count|amount)[ ]of[ ](?:(?:input|output|prompt|completion|generated)[ ])?tokens"
    r"|(?<!\w[ _-])tokens[ ]to[ ](?:generate|produce|sample)"
    r"|(?<!\w[ _-])tokens?[ _-]?(?:counts?|limits?|budget))(?![^\W_])"
)


def mentions_secret(text: str) -> bool:
    """Return whether a text is about secrets, or names a file that holds some."""
    if any(_SECRET.search(_MODEL_TOKENS.sub(" ", each)) for each in (text, split(text))):
        return True
    return any(each.any(Concept.SECRET, Concept.PRIVATE_FILE) for each in sentences(text))
