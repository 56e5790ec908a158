"""Asks the user of an MCP client to approve a call, in the session or by an answer that repeats the call."""

from typing import Protocol

import mcp_types as types
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError

from remit.approvals.answering_client import may_answer_for_person
from remit.approvals.approvals import Approval
from remit.presentation.approval_question import can_elicit, question, read_answer
from remit.protocol.era import Era
from remit.python_tools.tool_registry import Ask

_QUESTION = "approval"


class InputRequiredError(Exception):
    """A client without a session must be asked: it repeats its call with the answer."""

    def __init__(self, name: str, approval: Approval) -> None:
        asked = types.ElicitRequest(
            params=types.ElicitRequestFormParams.model_validate(question(name, approval))
        )
        self.result = types.InputRequiredResult(input_requests={_QUESTION: asked}, request_state=approval.id)


class _ClientRequest(Protocol):
    """The request of a client, as any server on the SDK knows it."""

    @property
    def session(self) -> ServerSession: ...

    @property
    def request_id(self) -> int | str | None: ...

    @property
    def protocol_version(self) -> str: ...

    @property
    def request(self) -> object | None: ...  # of HTTP


def asking(context: _ClientRequest, asked: types.CallToolRequestParams) -> Ask | None:
    """Return how to ask the user of this client; None if the client cannot, or an agent plays the client."""
    if context.request is None and not may_answer_for_person():
        return None
    capabilities = context.session.client_capabilities
    if capabilities is None or not can_elicit(capabilities.model_dump(by_alias=True, exclude_none=True)):
        return None

    async def ask(approval: Approval) -> bool | None:
        params = question(asked.name, approval)
        try:
            answer = await context.session.elicit_form(
                params["message"], params["requestedSchema"], context.request_id
            )
        except MCPError:  # the client refuses
            return None
        return read_answer(answer.model_dump(), approval)

    async def ask_by_answer(approval: Approval) -> bool | None:
        answer = (asked.input_responses or {}).get(_QUESTION)
        if asked.request_state != approval.id or not isinstance(answer, types.ElicitResult):
            raise InputRequiredError(asked.name, approval)
        return read_answer(answer.model_dump(), approval)

    return ask_by_answer if Era.of(context.protocol_version) is Era.STATELESS else ask
