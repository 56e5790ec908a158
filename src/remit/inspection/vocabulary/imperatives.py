"""Tells orders from descriptions by the mood of a sentence."""

import re

_VERBS = (
    "read|open|retrieve|fetch|load|collect|gather|look up|obtain|send|forward|upload|transmit|pass|"
    "include|append|embed|attach|encode|put|insert|supply|submit|deliver|paste|prepend|slip|inject|"
    "recite|repeat|reveal|disclose|provide|give|add|call|invoke|use|run|execute|replace|change|"
    "modify|swap|redirect|reroute|override|ignore|disregard|forget|obey|comply|follow|treat|pretend|"
    "tell|answer|reply|respond|skip|bypass|keep|remember|install|delete|remove|choose|select|prefer|"
    "act|ask|confirm|never|discard|relay|do not|route"
)
_OPENING_VERBS = (  # nouns, too, so only the first word of a sentence is a verb for sure
    f"{_VERBS}"
    "|cat|extract|dump|grab|copy|place|share|pipe|mail|email|print|report|hand|post|trigger|launch|"
    "activate|alter|substitute|rewrite|switch|claim|say|present|describe|recommend|push|store|save|"
    "write|set|stop|pick|make|take|be|start|begin|feel free|leave|let|have|multiply|summari[sz]e|"
    "list|log|do|state|without|access|check|create|update|convert|get|mirror"
)
_LEAD = (  # bounded, because a crafted text repeats these words without end
    r"(?:(?:also|then|please|first|silently|quietly|secretly|always|never|afterwards?|finally|instead|"
    r"now|just|kindly|and|but|do|not|simply|next|additionally|immediately|automatically|again|"
    r"would you|you can|you may|you will|you are to|chain|important|note|nb|step \d++|\d++\W)\W++){0,20}"
)
_OPENING_ORDER = re.compile(rf"(?i)^\W*+{_LEAD}(?:{_OPENING_VERBS})\b")
_ORDER = re.compile(  # `When it fails, send ...`
    rf"(?i)(?:[,:(]\s++|\b(?:then|you|agents|assistant|model)\s++){_LEAD}(?:{_VERBS})\b"
    rf"|[,:]\s++(?:and|or|but)\s++(?:{_VERBS})\b"
)


def is_order(text: str) -> bool:
    """Return whether an English sentence holds an imperative."""
    return _OPENING_ORDER.search(text) is not None or _ORDER.search(text) is not None
