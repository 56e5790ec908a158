"""Handles tool calls: decides, asks for approval, forwards, records."""

import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import anyio

from remit.approvals.approval_service import Permit, caller_of
from remit.approvals.argument_check import argument_mistake
from remit.audit.audit_log import AuditOutcome
from remit.decision.decide import UNKNOWN, Decision, Verdict
from remit.decision.gates import Gate, NextStep
from remit.decision.tool_names import REMIT
from remit.errors import (
    NotSignedInError,
    OwnedElsewhereError,
    RestartedError,
    StoreUnavailableError,
    UpstreamError,
)
from remit.gateway.attribution import request_attributed
from remit.gateway.call_records.call_recorder import CallRecorder, CompletedCall, call_id_of
from remit.gateway.current_lists import CurrentLists
from remit.gateway.desktop_notification import ApprovalNotifier
from remit.gateway.endpoint_catalog import CallTarget, EndpointCatalog
from remit.gateway.inventory import CallAdvice, Inventory, ResolvedCall
from remit.gateway.inventory_refresh import InventoryRefresher
from remit.gateway.memory_upstream import MemoryUpstream
from remit.gateway.registry_worker import RegistryWorker
from remit.gateway.remit_tool_calls import OwnToolHandler
from remit.gateway.requests.call_metrics import CallMetrics
from remit.gateway.resource_routing import ResourceRouter
from remit.gateway.results.large_results import LargeResults
from remit.gateway.results.result_store import ResultStore
from remit.presentation import refusals
from remit.presentation.app_metadata import is_for_model
from remit.presentation.approval_question import ask_user, can_elicit
from remit.presentation.remit_tools import OwnTool
from remit.protocol.json_rpc import Answer, ElsewhereError, ErrorCode, JsonRpcError, Params
from remit.text.json_values import as_object
from remit.upstream.ports import RequestContext
from remit.upstream.upstream_model import Upstream
from remit.upstream.upstream_pool import UpstreamPool

_SEARCH = f"search for it with `{OwnTool.DISCOVER}`"
_NO_APPROVALS = (
    "`{}` needs approval, and approvals cannot be checked now because Remit's store is down.\n"
    "Next step: call it again in a minute."
)
_FOR_PAGES = "`{}` can only be called by the page of its server"
_SPOOL_FULL = (
    "Remit's store has been down for so long that no more calls can be recorded, so none are made.\n"
    "Next step: ask the user to check Remit's database."
)


class UnservedToolError(JsonRpcError):
    """The gateway does not serve a tool; unknown tools and those of other projects get the same answer."""

    def __init__(self, name: str, advice: CallAdvice) -> None:
        told = "; ".join(filter(None, (f"{advice.problem}: {name}", advice.text)))
        super().__init__(ErrorCode.INVALID_PARAMS, told)
        self._name = name
        self._advice = advice

    @property
    def answer(self) -> Answer:
        """The same as the result of a call, which a model can act on."""
        row, text, problem = self._advice
        if row is None:
            return refusals.failure(f"{problem}: {self._name}", text or _SEARCH)
        return refusals.refusal(self._name, row.decision) if text is None else refusals.failure(text)


_Refused = tuple[Answer, AuditOutcome]
READS_ONLY = Decision(
    verdict=Verdict.HIDDEN,
    gate=Gate.POLICY,
    reason="the role `reader` can list and search tools, but not call them",
    unlock="an administrator of the gateway can give the role `user`",
)
OWN = Decision(verdict=Verdict.VISIBLE, gate=None, reason="Remit's own", unlock=None)


class CallHandler:
    """Handles the calls of one endpoint."""

    def __init__(
        self,
        *,
        worker: RegistryWorker[Inventory],
        pool: UpstreamPool,
        memory: MemoryUpstream,
        own_tools: OwnToolHandler,
        lists: CurrentLists,
        refresher: InventoryRefresher,
        router: ResourceRouter,
        recorder: CallRecorder,
        results: ResultStore,
        now: Callable[[], int],
        metrics: CallMetrics,
    ) -> None:
        self._worker = worker
        self._pool = pool
        self._memory = memory
        self._own_tools = own_tools
        self._lists = lists
        self._refresher = refresher
        self._router = router
        self._recorder = recorder
        self._now = now
        self._metrics = metrics
        self._notifier = ApprovalNotifier()
        self._results = LargeResults(results, self._resolve, self._refusal)

    async def call(
        self, name: str, asked: Params, caller: RequestContext, *, is_models: bool = False
    ) -> Answer:
        """Call an upstream tool; a call is surely the model's if it came through `call_tool`.

        Raises:
            JsonRpcError: there is no such tool, or its server answers with an error.
        """
        if self._recorder.is_full:
            return refusals.failure(_SPOOL_FULL)
        record = self._begun(asked, caller)
        if not caller.may_call:
            self._note(record, name, READS_ONLY, None, AuditOutcome.REFUSED, None)
            return refusals.refusal(name, READS_ONLY)
        catalog, target = await self._resolve(name)
        refused = None
        if target is not None and target.decision.gate is not Gate.SCOPE:
            if is_models and not is_for_model(catalog.items.get(target.tool.key, {})):
                refused = refusals.failure(_FOR_PAGES.format(name)), AuditOutcome.REFUSED
            refused = refused or await self._refused(target, asked, caller)
            if refused is None:
                catalog, target, refused = await self._as_listed(name, target, catalog, asked, caller)
        if target is None or target.decision.gate is Gate.SCOPE:
            self._note(record, name, UNKNOWN, None, AuditOutcome.UNKNOWN, None)
            advice = await self._worker.run(Inventory.advise, name, is_deferred=is_models)
            raise UnservedToolError(name, advice)
        if refused is not None:
            answer, outcome = refused
            self._note(record, target.tool.name, target.decision, target, outcome, answer)
            return answer
        return await self._pass_on(target, asked, caller, record, catalog)

    async def _as_listed(
        self, name: str, target: CallTarget, catalog: EndpointCatalog, asked: Params, caller: RequestContext
    ) -> "_Relisted":
        """List the tools of a new session before the call, and decide again if a definition changed."""
        assert target.upstream is not None  # noqa: S101 - `_refused` checks it
        try:
            is_listed = await self._refresher.list_first(target.upstream, catalog, caller)
        except UpstreamError as error:
            return _Relisted(catalog, target, self._unreachable(error, caller))
        if self._refresher.offers.lacks(target.upstream.key, caller.capabilities, target.own_name):
            return _Relisted(catalog, None)
        if not is_listed:
            return _Relisted(catalog, target)
        before = catalog.definitions.get(target.tool.key)
        catalog, now = await self._resolve(name)
        if now is None:  # its server does not list it
            return _Relisted(catalog, None)
        is_same = now.decision == target.decision and catalog.definitions.get(now.tool.key) == before
        return _Relisted(catalog, now, None if is_same else await self._refused(now, asked, caller))

    async def call_own(self, own: OwnTool, asked: Params, caller: RequestContext) -> Answer:
        """Call one of Remit's own tools and record the call.

        Raises:
            RemitError: the store or the configuration cannot be used.
        """
        record, outcome = self._begun(asked, caller), AuditOutcome.CANCELLED
        answer: Answer = {}
        try:
            if own is OwnTool.REPORT and not caller.may_call:
                return (answer := refusals.refusal(own, READS_ONLY))
            if own is OwnTool.READ:
                answer = await self._results.read(asked, caller)
            else:
                answer = await self._own_tools.answer(own, asked)
            outcome = AuditOutcome.FAILED if answer.get("isError") else AuditOutcome.DONE
        finally:
            self._note(record, own, OWN, None, outcome, answer)
        return answer

    async def leave(self, session: str) -> None:
        """Remove what is kept for a caller's session, which is over."""
        await self._results.leave(session)

    async def _resolve(self, name: str) -> ResolvedCall:
        quick = self._worker.run_now(Inventory.quick_target, name)
        return quick or await self._worker.run(Inventory.target, name)

    def _begun(self, asked: Params, caller: RequestContext) -> "_Record":
        return _Record(self._now(), time.perf_counter(), asked, caller)

    async def _refused(self, target: CallTarget, asked: Params, caller: RequestContext) -> _Refused | None:
        """Return the refusal of a call that must not be forwarded; None if it may be."""
        decision = target.decision
        if decision.verdict is Verdict.HIDDEN:
            return self._refusal(target, decision), AuditOutcome.REFUSED
        if target.upstream is None:
            text = f"`{target.served}`: the entry of its server `{target.tool.server}` cannot be read now"
            return refusals.failure(text), AuditOutcome.UNREACHABLE
        if target.upstream.lock is not None:
            try:
                await self._pool.claim(target.upstream)  # first: another gateway may need the approval
            except OwnedElsewhereError as error:
                return self._unreachable(error, caller)
        if decision.verdict is Verdict.ASK and not target.is_listed:  # nothing to show for approval
            unlisted = replace(decision, next_step=NextStep("list the tools, then call it again"))
            return self._refusal(target, unlisted), AuditOutcome.REFUSED
        if decision.verdict is Verdict.ASK:
            if (mistake := await anyio.to_thread.run_sync(self._mistake, target, asked)) is not None:
                return refusals.failure(f"`{target.served}`: {mistake}"), AuditOutcome.REFUSED
            try:
                return await self._unapproved(target, asked, caller)
            except StoreUnavailableError:
                return refusals.failure(_NO_APPROVALS.format(target.served)), AuditOutcome.REFUSED
        return None

    def _mistake(self, target: CallTarget, asked: Params) -> str | None:
        """Return what is wrong with the arguments of a call, before a person is asked about it."""
        definition = self._lists.last.catalog.definitions.get(target.tool.key)
        schema = None if definition is None else definition.input_schema
        return schema and argument_mistake(json.loads(schema), as_object(asked.get("arguments")))

    def _refusal(self, target: CallTarget, decision: Decision) -> Answer:
        visible = self._lists.last.visible
        return refusals.refusal(target.served, decision, visible, beside=target.has_output_schema)

    def _unreachable(self, error: UpstreamError, caller: RequestContext) -> _Refused:
        """Answer that a server did not, unless another gateway is asked then."""
        if isinstance(error, OwnedElsewhereError) and caller.can_move:
            raise ElsewhereError.from_remit(error) from error
        is_refused = isinstance(error, (NotSignedInError, OwnedElsewhereError))
        return refusals.unreachable(error), AuditOutcome.REFUSED if is_refused else AuditOutcome.UNREACHABLE

    async def _unapproved(self, target: CallTarget, asked: Params, caller: RequestContext) -> _Refused | None:
        name, beside = target.served, target.has_output_schema
        permit = await self._worker.run(_permit, target, asked, caller.principal)
        is_asked = caller.may_approve and can_elicit(caller.capabilities)
        if permit.is_pending and permit.approval is not None and is_asked:
            word = await ask_user(name, permit.approval, caller.send_request)
            permit = await self._worker.run(_settle, target, asked, caller.principal, permit, word)
        if permit.is_allowed:
            return None
        if permit.approval is None:  # the decision changed meanwhile
            return self._refusal(target, permit.decision), AuditOutcome.REFUSED
        if permit.is_denied:
            return refusals.denied(name, permit.decision, beside=beside), AuditOutcome.REFUSED
        if self._lists.last.catalog.plan.notifies:
            self._notifier.notify(permit.approval.id, permit.approval.binding.tool)
        waits = refusals.approval_required(name, permit.decision, permit.approval.id, beside=beside)
        return waits, AuditOutcome.WAITING

    async def _pass_on(
        self,
        target: CallTarget,
        asked: Params,
        caller: RequestContext,
        record: "_Record",
        catalog: EndpointCatalog,
    ) -> Answer:
        assert target.upstream is not None  # noqa: S101 - `_refused` checks it
        outcome, answer, returned = AuditOutcome.CANCELLED, Answer(), Answer()
        try:
            try:
                answer = await self._forward(target.upstream, target, asked, caller)
            except RestartedError:  # a new process may list other tools
                refused = await self._refused_now(target, asked, caller, catalog)
                if refused is not None:
                    answer, outcome = refused
                    return answer
                answer = await self._forward(target.upstream, target, asked, caller)
            outcome = _outcome(answer)
            self._refresher.follow_up(target.upstream.key)
            answer = self._router.learn(target.upstream.key, answer, self._lists.last)
            answer = await self._results.shorten(returned := answer, target, catalog, caller)
        except JsonRpcError:
            outcome = AuditOutcome.ERROR
            raise
        except UpstreamError as error:
            answer, outcome = self._unreachable(error, caller)
        finally:
            self._note(record, target.tool.name, target.decision, target, outcome, returned or answer)
        if outcome is AuditOutcome.DONE and catalog.advances(target.tool):
            await self._recorder.flush()  # the next decision needs the states that this call changed
        return answer

    async def _forward(
        self, upstream: Upstream, target: CallTarget, asked: Params, caller: RequestContext
    ) -> Answer:
        requester = self._memory if upstream.source == REMIT else self._pool
        own = {**asked, "name": target.own_name}
        return await request_attributed(requester, upstream, "tools/call", own, caller)

    async def _refused_now(
        self, target: CallTarget, asked: Params, caller: RequestContext, catalog: EndpointCatalog
    ) -> _Refused | None:
        """List the tools of a restarted server, and return the refusal of the call if it differs now."""
        _, now, refused = await self._as_listed(target.served, target, catalog, asked, caller)
        if now is None:
            return refusals.failure(f"`{target.served}`: its server no longer lists it"), AuditOutcome.REFUSED
        return refused

    def _note(
        self,
        record: "_Record",
        name: str,
        decision: Decision,
        target: CallTarget | None,
        outcome: AuditOutcome,
        answer: Answer | None,
    ) -> None:
        seconds = time.perf_counter() - record.began
        self._metrics.count(outcome, decision.gate, seconds)
        # A model may have made up an unlisted name, so it counts only once a call has succeeded.
        known = target if target is not None and (target.is_listed or outcome is AuditOutcome.DONE) else None
        self._recorder.note(
            CompletedCall(
                called_at=record.at,
                seconds=seconds,
                name=name,
                decision=decision,
                outcome=outcome,
                answered=None if known is None else known.tool.key,
                session=record.caller.session,
                principal=record.caller.principal,
                asked=record.asked,
                answer=answer,
            )
        )


class _Relisted(NamedTuple):
    """The target of a call after the tools of its session were listed, and why it is refused."""

    catalog: EndpointCatalog
    target: CallTarget | None
    refused: _Refused | None = None


class _Record(NamedTuple):
    """A call in progress."""

    at: int
    began: float
    asked: Params
    caller: RequestContext


def _permit(inventory: Inventory, target: CallTarget, asked: Params, principal: str | None) -> Permit:
    arguments = as_object(asked.get("arguments"))
    return inventory.registry.approvals.permit(
        target.tool.name,
        arguments,
        target.context,
        principal=caller_of(target.context, principal),
        call_id=call_id_of(asked),
        row=target.tool.key,
    )


def _settle(
    inventory: Inventory,
    target: CallTarget,
    asked: Params,
    principal: str | None,
    permit: Permit,
    word: bool | None,
) -> Permit:
    """Record the user's answer, and decide anew with the rules of this moment."""

    def permit_again() -> Permit:
        _, now = inventory.target(target.served)
        return Permit(False, UNKNOWN) if now is None else _permit(inventory, now, asked, principal)

    return inventory.registry.approvals.settle(
        permit, target.context, approve=word, permit_again=permit_again
    )


def _outcome(answer: Answer) -> AuditOutcome:
    if answer.get("resultType") == "input_required":
        return AuditOutcome.ASKS_BACK
    return AuditOutcome.FAILED if answer.get("isError") else AuditOutcome.DONE
