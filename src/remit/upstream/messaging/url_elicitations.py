"""Whom a server asked to go to a URL: only that client is told when the person is done there.

A server names what it asked for, in a question or in an error that says what it needs first.
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, cast

from remit.protocol.constants import URL_NEEDED
from remit.upstream.messaging.messages import Message, fields
from remit.upstream.ports import RequestContext

MOST = 256  # of one connection; people leave pages open and never come back


class UrlElicitations:
    """The callers of one connection that a page was named to."""

    def __init__(self) -> None:
        self._asked: OrderedDict[str, RequestContext] = OrderedDict()

    def note(self, params: Mapping[str, Any], caller: RequestContext) -> None:
        """Remember who was asked something."""
        name = params.get("elicitationId")
        if params.get("mode") == "url" and isinstance(name, str):
            self._asked[name] = caller
            self._asked.move_to_end(name)
            if len(self._asked) > MOST:
                self._asked.popitem(last=False)

    def note_needed(self, answer: Message, caller: RequestContext) -> None:
        """Remember who was answered that something has to be done first."""
        error = fields(answer.get("error"))
        needed = fields(error.get("data")).get("elicitations")
        if error.get("code") == URL_NEEDED and isinstance(needed, list):
            for each in cast("list[object]", needed):
                self.note(fields(each), caller)

    def completed(self, params: Mapping[str, Any]) -> RequestContext | None:
        """Find who is to be told that something is done; each only once."""
        name = params.get("elicitationId")
        return self._asked.pop(name, None) if isinstance(name, str) else None
