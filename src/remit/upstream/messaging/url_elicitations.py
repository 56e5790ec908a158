"""Remembers which caller was sent to which URL, so only that caller is notified of the completion.

A server names a URL in `elicitation/create`, or in an error that requires a visit first.
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, cast

from remit.protocol.json_rpc import ErrorCode
from remit.text.json_values import as_object
from remit.upstream.messaging.messages import Message
from remit.upstream.ports import RequestContext

MAX_ELICITATIONS = 256  # per connection; users may never come back to a page


class UrlElicitations:
    """The open URL elicitations of one connection."""

    def __init__(self) -> None:
        self._callers: OrderedDict[str, RequestContext] = OrderedDict()

    def note(self, params: Mapping[str, Any], caller: RequestContext) -> None:
        """Remember the caller of an elicitation, if it names a URL."""
        identity = params.get("elicitationId")
        if params.get("mode") == "url" and isinstance(identity, str):
            self._callers[identity] = caller
            self._callers.move_to_end(identity)
            if len(self._callers) > MAX_ELICITATIONS:
                self._callers.popitem(last=False)

    def note_required(self, answer: Message, caller: RequestContext) -> None:
        """Remember the caller of a request that fails until a URL is visited."""
        if "error" not in answer:
            return
        error = as_object(answer["error"])
        required = as_object(error.get("data")).get("elicitations")
        if error.get("code") == ErrorCode.URL_ELICITATION_REQUIRED and isinstance(required, list):
            for each in cast("list[object]", required):
                self.note(as_object(each), caller)

    def pop_completed(self, params: Mapping[str, Any]) -> RequestContext | None:
        """Remove and return the caller of a completed elicitation."""
        identity = params.get("elicitationId")
        return self._callers.pop(identity, None) if isinstance(identity, str) else None
