"""Finds the words in a description that may say that a tool does more than read.

Whatever may be a verb has to be a known one: verbs of reading, and verbs that change nothing. So an unknown
verb, participle or passive is found, as in `Get a tenant and evict them` and `The file is moved once read`.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from remit.decision.danger import READING_VERBS, STARTING_VERBS, word_danger

_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]*`]*\s+|\n|[;]")
_CLAUSE = re.compile(r"[,:()\[\]{}|\u2013\u2014]|\s-\s")
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
_STATIVE = """
    accept allow analyze appear are avoid be become begin belong browse calculate can check choose combine
    compare comprise compute concern consist contain correspond could cover default define depend detail
    determine differ discover do does end exist expect explain explore express extend extract filter
    follow give group had has have help hold identify ignore imply include indicate is know lack let limit
    look map match may mean measure might must need obtain occur offer omit paginate parse pass perform
    point prefer prevent preview provide query range rank refer relate represent require resemble respect
    respond say scan score see select should sort span specify stay summarize supply support take tell try
    use vary want was were will work would wrap
"""
_PLAIN_VERBS = READING_VERBS | frozenset(_STATIVE.split())
# Words in `-ed` and `-ing` that describe what is read, or how.
_DESCRIBING_WORDS = """
    accepted according addressed advanced advised aggregated anything applied archived ascending assigned
    associated attached attended authenticated authorized based bed being belonging billing bounded
    building cached calculated categorized changed closed combined combining completed computed configured
    connected contained containing corresponding created curated debugging declared defined depending
    deprecated derived descending described describing detailed detected determined discovering displaying
    documented downloaded during embed embedded enabled encoded enriched everything excluding existing
    expanded expected exposed extended extracting failed feed filtered filtering finding following
    formatted generated getting given grouped heading hidden hosted identified identifying ignored
    including indeed indexed indicating inherited installed issued joined known labeled leading limited
    limiting linked listed listing localized located logged looking made managed matched matching meeting
    merged missing modified named need needed nested normalized nothing numbered offered omitted opened
    ordered ordering owned paged paginated paging parsed pending permitted ping pinned preferred
    previewing pricing prioritized protected provided providing published ranked ranking rated reading
    received recommended recorded recurring red referenced regarding related rendered reported represented
    requested required resolved restricted retrieved retrieving returned returning running saved scheduled
    scoped searched searching selected setting settings shared showing sibling signed simplified something
    sorted sorting specified specifying speed starred started starting stored string structured suggested
    summarized supplying supported supporting tagged thing threaded tracked treated trending typed
    unassigned underlying undocumented unified unrelated unresolved updated used using validated viewing
    visited wanted
"""
_DESCRIBING = frozenset(_DESCRIBING_WORDS.split())
_IRREGULAR = """
    bought built burnt cut drawn drunk fed flung forgotten frozen gone kept laid lent lost overwritten
    paid put rewritten run sent shut sold spent spun stolen struck sunk swept taken thrown torn undone
    withdrawn worn written
"""
_PARTICIPLES = frozenset(_IRREGULAR.split())
# Words after which a verb comes.
_BEFORE_A_VERB_WORDS = """
    also always automatically can could it may might must optionally server should that then they this to
    tool which who will would you
"""
_BEFORE_A_VERB = frozenset(_BEFORE_A_VERB_WORDS.split())
_AFTER_A_NOUN_WORDS = """
    are can contain contains do does has have include includes is may must support supports was were
"""
_AFTER_A_NOUN = frozenset(_AFTER_A_NOUN_WORDS.split())
_JOINS = frozenset({"and", "but", "or"})
_NEGATIONS = frozenset({"cannot", "never", "not", "without"})
_PASSIVE_WORDS = "are be been being get gets is then was were"
_PASSIVE = frozenset(_PASSIVE_WORDS.split())
_OBJECTS_WORDS = "a all an any each every him her his it its one the their them these this those your"
_OBJECTS = frozenset(_OBJECTS_WORDS.split())
# Words at a verb's place that are none.
_FUNCTIONAL = """
    a about above across after agent all already also always an and another any anyone api are as at
    automatically batch be because before below best between both but by can data default do each either
    empty every everything exactly example examples false fast first for free from full he her here his
    how however id ids if in input into it its json just large last less like many max maximum me method
    min minimum more most much multiple my name names new no not note now null of on once one only
    operation optional optionally or other otherwise our out output over pagination per plus possible
    present rate recent result result's results returns same server several she simple since single so
    some specific stable standard such than that the their them then there these they this those tip to
    tool tools true two up url useful user users via we what when whenever where whether which while who
    whose with within without yes you your zero
"""
_FUNCTION_WORDS = frozenset(_FUNCTIONAL.split())


def may_act(text: str) -> str | None:
    """Return the first word that may say that a tool changes something; None if there is none."""
    for at, sentence in enumerate(_SENTENCE.split(text.lower().replace("\u2019", "'"))):
        clauses = [words for clause in _CLAUSE.split(sentence) if (words := _WORD.findall(clause))]
        opener = [clauses[0][0]] if at and clauses and not _opens(*clauses[0][:2]) else []
        found = next((word for words in clauses for word in _unknown(words)), None)
        if opener or found is not None:
            return opener[0] if opener else found
    return None


def _opens(word: str, after: str = "") -> bool:
    """Return whether a word at the start of a sentence is no unknown verb; `Notes are sorted` has a noun."""
    return _is_plain(word, ".") or after in _AFTER_A_NOUN


def _unknown(words: list[str]) -> Iterator[str]:
    """List the words of a clause that may be verbs, and are no known ones."""
    around = zip([".", *words], words, [*words[1:], "."], strict=False)
    for before, word, after in around:
        is_object = after in _OBJECTS
        has_object = is_object or not (after == "." or after in _FUNCTION_WORDS)
        is_joined = has_object and (before in _JOINS or (before == "." and word.endswith("s")))
        is_verb = before in _BEFORE_A_VERB or is_joined or (is_object and before in {".", *_JOINS})
        is_third = is_object and word.endswith("s")
        acts = _acts(word) and (is_object or before in _PASSIVE or before == "." or before in _JOINS)
        is_unknown = acts or _is_participle(word) or ((is_verb or is_third) and not _is_plain(word, before))
        if is_unknown and before not in _NEGATIONS:
            yield word


def _is_participle(word: str) -> bool:
    return word in _PARTICIPLES or (word.endswith(("ed", "ing")) and word not in _DESCRIBING)


def _is_plain(word: str, before: str) -> bool:
    """Return whether a word at the place of a verb changes nothing; after `to` comes a noun, too."""
    if before == "to" and word.endswith("s") and not word.endswith("ss"):
        return True
    is_known = word in _FUNCTION_WORDS or word in _DESCRIBING or word.endswith("ly")
    return is_known or not stem(word).isdisjoint(_PLAIN_VERBS)


def _acts(word: str) -> bool:
    """Return whether a word is a form of a verb that changes something, and not of a plain one as well."""
    forms = stem(word)
    found = (each for each in forms - STARTING_VERBS if word_danger(each) is not None)
    return any(found) and forms.isdisjoint(_PLAIN_VERBS)


@lru_cache(maxsize=4_096)
def stem(word: str) -> frozenset[str]:
    """Return the verbs of which a word may be the third person or a participle, and the word itself."""
    found = {word, word.removesuffix("s"), word.removesuffix("es"), f"{word.removesuffix('ies')}y"}
    for ending in ("ing", "ed"):
        if word.endswith(ending):
            bare = word.removesuffix(ending)
            found |= {bare, f"{bare}e", bare[:-1], f"{bare[:-1]}y"}  # `moving`, `dropping`, `applied`
    return frozenset(found)
