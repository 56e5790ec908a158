"""Calling: decides about each call on the facts of the moment, asks a person if needed, and passes it on."""

import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from remit.decision.decide import UNKNOWN, Decision, Verdict
from remit.decision.declarations import Key
from remit.decision.gates import Gate
from remit.decision.tool_names import storable
from remit.errors import ApprovalError, UpstreamError
from remit.gateway.approval_prompt import ask_person, can_elicit
from remit.gateway.attribution import request_attributed
from remit.gateway.call_recorder import CallRecorder, CompletedCall
from remit.gateway.endpoint_catalog import CallTarget, EndpointCatalog
from remit.gateway.inventory import Inventory, ResolvedCall
from remit.gateway.registry_worker import RegistryWorker
from remit.policy.approval_service import Permit, principal_of
from remit.policy.audit import AuditEntry, Outcome
from remit.presentation import refusals
from remit.protocol.json_rpc import Answer, ErrorCode, JsonRpcError, Params, as_object
from remit.upstream.ports import RequestContext, UpstreamPool

_LONGEST_NAME = 256
_CALL_ID = "claudecode/toolUseId"  # by which a hook of the client reports the same call


def unknown(name: str, meant: str | None = None) -> JsonRpcError:
    """Answer for a tool that there is none of; the same, where it is another project's."""
    return JsonRpcError(ErrorCode.INVALID_PARAMS, "; ".join(filter(None, (f"Unknown tool: {name}", meant))))


_Refused = tuple[Answer, Outcome]
OWN = Decision(verdict=Verdict.VISIBLE, gate=None, reason="Remit's own", unlock=None)


class CallOrigin(NamedTuple):
    """Whose calls are recorded."""

    endpoint: str
    client: str
    agent: str | None


class CallHandler:
    """Makes the calls of one endpoint."""

    def __init__(
        self,
        clerk: RegistryWorker[Inventory],
        links: UpstreamPool,
        recorder: CallRecorder,
        identity: CallOrigin,
        now: Callable[[], int],
        glance: Callable[[str], ResolvedCall | None],
        on_answer: Callable[[Key, Answer], Answer],
    ) -> None:
        self._on_answer = on_answer
        self._clerk = clerk
        self._glance = glance
        self._links = links
        self._recorder = recorder
        self._identity = identity
        self._now = now

    async def call(self, name: str, asked: Params, caller: RequestContext) -> Answer:
        """Call a tool of an upstream.

        Raises:
            JsonRpcError: there is no such tool, or its server answers with an error.
        """
        record = self._begun(asked, caller)
        catalog, target = self._glance(name) or await self._clerk.do(Inventory.target, name)
        if target is None or target.decision.gate is Gate.SCOPE:
            self._note(record, name, UNKNOWN, None, Outcome.UNKNOWN, None)
            raise unknown(name, await self._clerk.do(Inventory.meant_by, name))
        refused = await self._refused(target, asked, caller)
        if refused is not None:
            answer, outcome = refused
            self._note(record, target.tool.name, target.decision, target, outcome, answer)
            return answer
        return await self._pass_on(target, asked, caller, record, catalog)

    async def call_own(
        self, name: str, asked: Params, caller: RequestContext, do: Awaitable[Answer]
    ) -> Answer:
        """Have one of Remit's own tools answer, and record that."""
        record, outcome = self._begun(asked, caller), Outcome.CANCELLED
        answer: Answer = {}
        try:
            answer = await do
            outcome = Outcome.FAILED if answer.get("isError") else Outcome.DONE
        finally:
            self._note(record, name, OWN, None, outcome, answer)
        return answer

    def _begun(self, asked: Params, caller: RequestContext) -> "_Record":
        return _Record(self._now(), time.perf_counter(), asked, caller)

    async def _refused(self, target: CallTarget, asked: Params, caller: RequestContext) -> _Refused | None:
        """Tell why a call is not passed on; None where it is."""
        decision = target.decision
        if decision.verdict is Verdict.HIDDEN:
            return refusals.refusal(target.served, decision, beside=target.has_output_schema), Outcome.REFUSED
        if target.upstream is None:
            text = f"`{target.served}`: the entry of its server `{target.tool.server}` cannot be read now"
            return refusals.failure(text), Outcome.UNREACHABLE
        if decision.verdict is Verdict.ASK and not target.is_listed:  # nobody could see what is approved
            unlisted = replace(decision, unlock="list the tools, then call it again")
            return refusals.refusal(target.served, unlisted), Outcome.REFUSED
        if decision.verdict is Verdict.ASK:
            return await self._unapproved(target, asked, caller)
        return None

    async def _unapproved(self, target: CallTarget, asked: Params, caller: RequestContext) -> _Refused | None:
        permit = await self._clerk.do(_permit, target, asked, caller.principal)
        name, decision, beside = target.served, permit.decision, target.has_output_schema
        if permit.is_allowed:
            return None
        if permit.approval is None:  # it was decided otherwise since
            return refusals.refusal(name, decision, beside=beside), Outcome.REFUSED
        id, word = permit.approval.id, None
        if can_elicit(caller.capabilities):
            word = await ask_person(name, decision.reason, permit.approval.shown, caller)
        if word is None:
            return refusals.approval_required(name, decision, id, beside=beside), Outcome.WAITING
        if await self._clerk.do(_answer, target, asked, caller.principal, id, word):
            return None
        return refusals.denied(name, decision, beside=beside), Outcome.REFUSED

    async def _pass_on(
        self,
        target: CallTarget,
        asked: Params,
        caller: RequestContext,
        record: "_Record",
        catalog: EndpointCatalog,
    ) -> Answer:
        assert target.upstream is not None  # noqa: S101 - `_refused` has looked
        outcome, answer = Outcome.CANCELLED, Answer()
        try:
            own = {**asked, "name": target.own_name}
            answer = await request_attributed(self._links, target.upstream, "tools/call", own, caller)
            outcome = _outcome(answer)
            answer = self._on_answer(target.upstream.key, answer)
        except JsonRpcError:
            outcome = Outcome.ERROR
            raise
        except UpstreamError as error:
            outcome, answer = Outcome.UNREACHABLE, refusals.failure(str(error), error.hint)
        finally:
            self._note(record, target.tool.name, target.decision, target, outcome, answer)
        if outcome is Outcome.DONE and catalog.advances(target.tool):
            await self._recorder.flush()  # the next call is decided on the states that this one made
        return answer

    def _note(
        self,
        record: "_Record",
        name: str,
        decision: Decision,
        target: CallTarget | None,
        outcome: Outcome,
        answer: Answer | None,
    ) -> None:
        entry = AuditEntry(
            called_at=record.at,
            endpoint=self._identity.endpoint,
            client=self._identity.client,
            agent=self._identity.agent,
            principal=record.caller.principal,
            tool=storable(name)[:_LONGEST_NAME],
            verdict=decision.verdict,
            gate=decision.gate,
            outcome=outcome,
            duration_ms=round((time.perf_counter() - record.began) * 1000),
            bytes_in=0,
            bytes_out=0,
        )
        # A name that no server lists may be one that a model made up: it is known once it has worked.
        known = target if target is not None and (target.is_listed or outcome is Outcome.DONE) else None
        self._recorder.note(
            CompletedCall(
                entry=entry,
                server=None if known is None else known.tool.server,
                session=record.caller.session,
                call_id=_call_id(record.asked),
                outcome=outcome,
                asked=record.asked.get("arguments"),
                answer=answer,
            )
        )


class _Record(NamedTuple):
    """A call that is under way."""

    at: int
    began: float
    asked: Params
    caller: RequestContext


def _permit(inventory: Inventory, target: CallTarget, asked: Params, principal: str | None) -> Permit:
    arguments = as_object(asked.get("arguments"))
    whoever = principal_of(target.context)  # a token may be several agents'
    return inventory.registry.approvals.permit(
        target.tool.name,
        arguments,
        target.context,
        principal=whoever if principal is None else f"{whoever}, by the token `{principal}`",
    )


def _answer(
    inventory: Inventory, target: CallTarget, asked: Params, principal: str | None, id: str, word: bool
) -> bool:
    """Keep a person's word; a yes counts for the call as things are now, however long it took."""
    with suppress(ApprovalError):  # somebody was faster, or it took too long
        inventory.registry.approvals.answer(id, target.context, approve=word)
    _, now = inventory.target(target.served)
    return word and now is not None and _permit(inventory, now, asked, principal).is_allowed


def _outcome(answer: Answer) -> Outcome:
    if answer.get("resultType") == "input_required":
        return Outcome.ASKS_BACK
    return Outcome.FAILED if answer.get("isError") else Outcome.DONE


def _call_id(asked: Params) -> str | None:
    found = as_object(asked.get("_meta")).get(_CALL_ID)
    return found if isinstance(found, str) else None
