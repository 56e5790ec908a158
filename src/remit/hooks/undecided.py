"""Doubts: what is said of a call that could not be decided about."""

import os

from remit.configuration.file_paths import configuration_paths
from remit.files.bounded_reader import this_machine
from remit.files.checkout import locate
from remit.hooks.answers import Answer, decision

_REASON = "Remit: it could not be decided whether this call is allowed here ({}); hooks.log says more."


def undecided(directory: str, error: BaseException) -> Answer:
    """Have a person asked about a call, where there are rules that might forbid it.

    Without any, a hook that fails costs nobody anything; with some, an error is no permission.
    """
    return decision("ask", _REASON.format(type(error).__name__)) if _has_rules(directory) else None


def _has_rules(directory: str) -> bool:
    place = os.path.abspath(directory)
    while not os.path.isdir(place):  # it may have been removed since
        place = os.path.dirname(place)
    return any(os.path.lexists(path) for _, path, _ in configuration_paths(locate(place), this_machine()))
