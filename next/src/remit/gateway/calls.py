"""The walk of a call: decide, ask for approval, forward, cut the result, record."""

import asyncio
import json
import logging
import time
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from remit.catalog import DISCOVER_TOOLS, OWN_ITEMS, WHY_TOOL, Registry, Target, is_for_model
from remit.decision import (
    CALL_TOOL,
    OWN,
    READ_RESULT,
    REMIT,
    UNKNOWN,
    Context,
    Decision,
    Gate,
    Key,
    NextStep,
    ToolDecision,
    Verdict,
    served_spellings,
)
from remit.errors import ApprovalError, NotSignedInError, RemitError, StoreError, UpstreamError
from remit.gateway import refusals
from remit.gateway.approval_question import ELICIT, can_elicit, question, read_answer
from remit.gateway.apps import has_page, names_of_pages
from remit.gateway.attribution import request_attributed
from remit.gateway.call_records import CompletedCall, Origin, estimated_size
from remit.gateway.live_lists import Resolved
from remit.gateway.own_tools import (
    LONGEST_NAME,
    BadArgumentsError,
    advise,
    arguments_of,
    open_group,
    text_of,
    why,
)
from remit.gateway.results import (
    ALWAYS_FITS,
    BadReadError,
    Kept,
    Limit,
    limit_of,
    new_id,
    read_request,
)
from remit.gateway.view import Published
from remit.protocol import Answer, ErrorCode, JsonRpcError, Params
from remit.store import Outcome
from remit.text import Clock, as_list, as_object

if TYPE_CHECKING:  # it imports this module
    from remit.gateway.discovery import Discovery
    from remit.gateway.endpoint import ClientCaller, Endpoint
    from remit.trust import Approvals, Permit

_NO_APPROVALS = (
    "`{}` needs approval, and approvals cannot be checked now because Remit's store is down.\n"
    "Next step: call it again in a minute."
)
_FOR_PAGES = "`{}` can only be called by the page of its server"
_GONE = "It may be too old, or belong to another session: call its tool again."
_LONGEST_SCHEMA = 4_000  # characters of an input schema in an error
_READS_ONLY = Decision(
    Verdict.HIDDEN, Gate.POLICY, "this caller can list and search tools, but not call them"
)
_OWN = Decision(Verdict.VISIBLE, None, "Remit's own")
_log = logging.getLogger("remit.gateway")


class UnservedToolError(JsonRpcError):
    """The gateway does not serve a tool; unknown tools and those of other projects get the same answer."""

    def __init__(self, name: str, problem: str, text: str | None, answer: Answer) -> None:
        super().__init__(ErrorCode.INVALID_PARAMS, "; ".join(filter(None, (f"{problem}: {name}", text))))
        self.answer = answer  # the same as the result of a call, which a model can act on


class _RefusedError(Exception):
    """A call must not be forwarded."""

    def __init__(self, answer: Answer, outcome: Outcome = Outcome.REFUSED) -> None:
        super().__init__()
        self.answer = answer
        self.outcome = outcome


class _Call:
    """A call in progress."""

    def __init__(self, name: str, params: Params, caller: "ClientCaller", at: int) -> None:
        self.name = name
        self.params = params
        self.arguments: Mapping[str, Any] = params.get("arguments") or {}
        self.caller = caller
        self.at = at
        self.began = time.perf_counter()
        self.is_models = False  # surely: it came through `call_tool`
        self.target: Target | None = None
        self.decision = UNKNOWN
        self.outcome = Outcome.CANCELLED
        self.answer: Answer | None = None  # as the server returned it
        self.approved: tuple[Key, str | None, Decision] | None = None  # what a person said yes to


class Calls:
    """Handles the calls of one endpoint."""

    def __init__(self, endpoint: "Endpoint", origin: Origin) -> None:
        self._endpoint = endpoint
        self._lists = endpoint.lists
        self._process = endpoint.process
        self._origin = origin
        self._discovery: Discovery | None = None

    async def call(self, params: Params, caller: "ClientCaller") -> Answer:
        """Call a tool, one of Remit's own, or a group.

        Raises:
            JsonRpcError: there is no such tool, or its server answers with an error.
            RemitError: the store or the configuration cannot be used.
        """
        name = str(params.get("name"))
        if len(name) > LONGEST_NAME:
            raise JsonRpcError(ErrorCode.INVALID_PARAMS, f"`name` is longer than {LONGEST_NAME:,} characters")
        own = self._own(name)
        with caller.identity.count() as objection:
            if own == CALL_TOOL and objection is None:
                return await self._call_deferred(params, caller)
            call = _Call(own or name, params, caller, self._process.clock())
            return await self._recorded(call, own, objection)

    async def _recorded(self, call: _Call, own: str | None, objection: str | None = None) -> Answer:
        try:
            if objection is not None:  # for the model: clients end a session on other errors
                raise _RefusedError(refusals.failure(f"Too many calls: {objection}."))
            if own is not None:
                return await self._call_own(call, own)
            return await self._call_served(call)
        except _RefusedError as refused:
            call.outcome = refused.outcome
            call.answer = refused.answer
            return refused.answer
        finally:
            self._note(call)

    async def _call_deferred(self, params: Params, caller: "ClientCaller") -> Answer:
        """Call the tool named in the arguments as if it were called directly.

        `call_tool` itself exists, so a wrong name or wrong arguments are in its result, for the model.
        """
        try:
            arguments = arguments_of(params)
            name = text_of(arguments, "name")
            if name.removeprefix(OWN) == CALL_TOOL:
                raise BadArgumentsError(f"`{CALL_TOOL}` cannot call itself")
            if unknown := arguments.keys() - {"name", "arguments"}:
                raise BadArgumentsError(
                    f"unknown argument `{min(unknown)}`: the arguments of the tool belong in `arguments`"
                )
            inner = {**params, "name": name, "arguments": dict(arguments_of(arguments))}
        except BadArgumentsError as error:
            return refusals.failure(f"`{CALL_TOOL}`: {error}")
        own = self._own(name)
        call = _Call(own or name, inner, caller, self._process.clock())
        call.is_models = True
        try:
            return await self._recorded(call, own)
        except UnservedToolError as error:
            return error.answer
        except JsonRpcError as error:
            if error.code != ErrorCode.INVALID_PARAMS:
                raise
            return refusals.failure(str(error), self._how_to_call(name))

    def _own(self, name: str) -> str | None:
        """Return which of Remit's own tools a name means."""
        name = name.removeprefix(OWN)
        return name if name in self._lists.last.served.plan.own else None

    def _how_to_call(self, name: str) -> str | None:
        """Return the input schema of a tool that was called with wrong arguments."""
        schema = self._endpoint.input_schema(name)
        text = "" if schema is None else json.dumps(schema, ensure_ascii=False)
        if len(text) > _LONGEST_SCHEMA:
            return f"`{DISCOVER_TOOLS}` with `detail` set to `full` returns its input schema"
        return f"its input schema is {text}" if text else None

    async def _call_own(self, call: _Call, own: str) -> Answer:
        """Answer a call of one of Remit's own tools."""
        call.decision = _OWN
        try:
            arguments = arguments_of(call.params)
            if unknown := arguments.keys() - OWN_ITEMS[own]["inputSchema"]["properties"].keys():
                raise BadArgumentsError(f"unknown argument `{min(unknown)}`")
            if own == READ_RESULT:
                answer = await self._read(arguments, call.caller)
            elif own == WHY_TOOL:
                name = text_of(arguments, "name")
                resolved = await self._resolve(name, None)
                answer = await self._process.worker.run(partial(why, resolved, name))
            else:
                answer = await self._discover(arguments)
        except (BadArgumentsError, BadReadError) as error:
            answer = refusals.failure(f"`{own}`: {error}")
        call.outcome = Outcome.FAILED if answer.get("isError") else Outcome.DONE
        call.answer = answer
        return answer

    async def _discover(self, arguments: Mapping[str, Any]) -> Answer:
        from remit.gateway.discovery import Discovery  # it loads search

        self._discovery = self._discovery or Discovery()
        published = await self._lists.fresh()
        return await self._process.worker.run(partial(self._discovery.find, published, arguments))

    async def _call_served(self, call: _Call) -> Answer:
        if not call.caller.identity.may_call:
            call.decision = _READS_ONLY
            raise _RefusedError(refusals.refusal(call.name, _READS_ONLY))
        if self._lists.last.shown.groups:
            published = await self._lists.fresh()
            groups = published.groups
            if group := next((groups[form] for form in served_spellings(call.name) if form in groups), None):
                call.decision, call.outcome = _OWN, Outcome.DONE
                return open_group(group, published)
        published, target = await self._find(call)
        if call.is_models and not is_for_model(published.served.items.get(target.tool.key, {})):
            raise _RefusedError(refusals.failure(_FOR_PAGES.format(call.name)))
        if target.is_listed or target.decision.verdict is not Verdict.ASK:
            await self._approve(call, published, target)
        return await self._forward(call, published, target)

    async def _find(self, call: _Call) -> tuple[Published, Target]:
        """Find the target, decided for this moment.

        Raises:
            UnservedToolError: there is none.
        """
        published, target = await self._resolve(call.name, call.arguments)
        if target is None or target.decision.gate is Gate.SCOPE:
            call.target, call.decision, call.outcome = None, UNKNOWN, Outcome.UNKNOWN
            advice = await self._process.worker.run(
                lambda _: advise(published, call.name, is_deferred=call.is_models)
            )
            raise UnservedToolError(call.name, advice.problem, advice.text, advice.answer(call.name))
        call.target, call.decision = target, target.decision
        return published, target

    async def _resolve(self, name: str, arguments: Mapping[str, object] | None) -> Resolved:
        resolved = await self._lists.resolve(name, arguments)
        if resolved.target is None and (tool := names_of_pages(resolved.published).get(name)) is not None:
            return await self._lists.resolve(tool, arguments)
        return resolved

    async def _approve(self, call: _Call, published: Published, target: Target) -> None:
        """Let a call pass that is visible, or that a person approves.

        Raises:
            _RefusedError: it must not be made.
        """
        decision = target.decision
        if decision.verdict is Verdict.VISIBLE:
            return
        if decision.verdict is Verdict.HIDDEN:
            raise _RefusedError(_refusal(target, published))
        consent = target.tool.key, target.tool.definition, decision
        if call.approved == consent:
            return
        if not target.is_listed:  # nothing to show for approval
            unlisted = decision._replace(next_step=NextStep("list the tools, then call it again"))
            raise _RefusedError(_refusal(target._replace(decision=unlisted), published))
        if (mistake := await self._mistake(call, published, target)) is not None:
            raise _RefusedError(refusals.failure(f"`{target.name}`: {mistake}"))
        try:
            await self._ask(call, target)
        except StoreError:
            raise _RefusedError(refusals.failure(_NO_APPROVALS.format(target.name))) from None
        except ApprovalError as error:
            raise _RefusedError(refusals.failure(f"`{target.name}`: {error}")) from None
        call.approved = consent

    async def _mistake(self, call: _Call, published: Published, target: Target) -> str | None:
        """Return what is wrong with the arguments of a call, before a person is asked about it."""
        schema = as_object(published.served.items.get(target.tool.key, {}).get("inputSchema"))
        from remit.trust import argument_mistake

        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, argument_mistake, schema, call.arguments)

    async def _ask(self, call: _Call, target: Target) -> None:
        """Use up an approval, or ask for one.

        Raises:
            _RefusedError: nobody approved the call.
        """
        caller, is_strict = call.caller, target.has_output_schema
        context, clock = self._lists.last.served.catalog.context, self._process.clock
        permit = await self._process.worker.run(partial(_permit, clock, context, call, target))
        may_ask = caller.identity.may_approve and can_elicit(caller.capabilities)
        if permit.is_pending and permit.approval is not None and may_ask:
            try:
                answered = await caller.ask(ELICIT, question(target.name, permit.approval))
                word = read_answer(answered, permit.approval)
            except JsonRpcError:
                word = None
            # Decided anew, with the rules of this moment.
            _, now = await self._lists.resolve(call.name, call.arguments)
            target = now or target._replace(decision=UNKNOWN)
            call.decision = target.decision
            permit = await self._process.worker.run(
                partial(_settle, clock, context, call, target, permit, word)
            )
        if permit.is_allowed:
            return
        if permit.approval is None:  # the decision changed meanwhile
            raise _RefusedError(refusals.refusal(target.name, permit.decision, has_output_schema=is_strict))
        if permit.is_denied:
            raise _RefusedError(refusals.denied(target.name, permit.decision, has_output_schema=is_strict))
        waiting = refusals.approval_required(
            target.name, permit.decision, permit.approval.id, has_output_schema=is_strict
        )
        raise _RefusedError(waiting, Outcome.WAITING)

    async def _forward(self, call: _Call, published: Published, target: Target) -> Answer:
        """Send a call to its server; once its session is open and compared, decide again."""
        servers = self._process.servers
        upstreams = await self._endpoint.refresher.upstreams(published)
        upstream = upstreams.get(target.server) if target.server is not None else None
        if upstream is None:
            text = f"`{target.name}`: the entry of its server `{target.tool.server}` cannot be read now"
            raise _RefusedError(refusals.failure(text), Outcome.UNREACHABLE)
        stored = servers.stored

        async def admit() -> None:
            nonlocal published, target, stored
            if servers.stored != stored or not target.is_listed:
                stored = servers.stored
                published, target = await self._find(call)
                await self._approve(call, published, target)

        params = {**call.params, "name": target.own_name}
        try:
            if upstream.source == REMIT:
                answer = await self._endpoint.call_memory(params)
                if answer is None:
                    raise JsonRpcError(ErrorCode.INVALID_PARAMS, f"Unknown tool: {call.name}")
            else:
                pool = await servers.pool()
                answer = await request_attributed(
                    pool, upstream, "tools/call", params, call.caller, admit=admit
                )
        except UnservedToolError:
            raise
        except JsonRpcError:
            call.outcome = Outcome.ERROR
            raise
        except UpstreamError as error:
            outcome = Outcome.REFUSED if isinstance(error, NotSignedInError) else Outcome.UNREACHABLE
            raise _RefusedError(refusals.unreachable(error), outcome) from None
        call.answer = answer
        call.outcome = _outcome(answer)
        if call.outcome is Outcome.DONE:
            await self._advance(target, published)
        if _is_short_text(answer):
            return answer
        if _has_links(answer):
            answer = self._endpoint.router.learn(upstream.key, answer, published)
        return await self._shorten(call, answer, target, published)

    async def _advance(self, target: Target, published: Published) -> None:
        """Change the states that the success of a tool changes, before the next decision needs them."""
        catalog = published.served.catalog
        if catalog.configuration.transitions(target.tool.name):
            try:
                await self._process.worker.run(
                    lambda registry: registry.states.advance(target.tool.name, catalog.context)
                )
            except RemitError as error:
                _log.warning("the states that `%s` changes were not stored: %s", target.tool.name, error)

    async def _shorten(self, call: _Call, answer: Answer, target: Target, published: Published) -> Answer:
        """Return an answer, or if it is too large its beginning; the rest can be read."""
        if answer.get("resultType", "complete") != "complete":
            return answer
        item = published.served.items.get(target.tool.key, {})
        if (limit := self._limit(item, published)) is None or estimated_size(answer) <= ALWAYS_FITS:
            return answer
        caller, was_asked = call.caller, target.decision.verdict is Verdict.ASK
        kept = Kept(new_id(), caller.session, caller.name, target.tool.key, target.name, was_asked)
        shorten = partial(self._endpoint.results.shorten, answer, kept, limit, item.get("outputSchema"))
        return await asyncio.get_running_loop().run_in_executor(None, shorten)

    def _limit(self, item: Mapping[str, Any], published: Published) -> Limit | None:
        # The page of an app reads the same result as the model; and something must read the rest.
        if has_page(item) or READ_RESULT not in published.served.plan.own:
            return None
        return limit_of(published.served.catalog.configuration.result_budget, item)

    async def _read(self, arguments: Mapping[str, Any], caller: "ClientCaller") -> Answer:
        """Read a part of a kept result, if its tool may still be called."""
        id, request = text_of(arguments, "result"), read_request(arguments)
        kept = self._endpoint.results.find(id, caller.session, caller.name)
        if kept is None:
            return refusals.failure(f"Unknown result: {id}", _GONE)
        published, target = await self._lists.resolve(kept.served)
        if target is None or target.tool.key != kept.tool or target.decision.gate is Gate.SCOPE:
            return refusals.failure(f"Unknown result: {id}", "Its tool is not available anymore.")
        if target.decision.verdict is Verdict.HIDDEN:
            return _refusal(target, published)
        if target.decision.verdict is Verdict.ASK and not kept.was_asked:
            again = NextStep(f"call `{target.name}` again, which requests approval")
            decision = target.decision._replace(next_step=again)
            return _refusal(target._replace(decision=decision), published)
        limit = self._limit(published.served.items.get(target.tool.key, {}), published)
        read = partial(self._endpoint.results.read, kept, request, limit)
        return await asyncio.get_running_loop().run_in_executor(None, read)

    def _note(self, call: _Call) -> None:
        target, outcome = call.target, call.outcome
        # A model may have made up an unlisted name, so it counts only once a call has succeeded.
        if target is not None and not target.is_listed and outcome in (Outcome.FAILED, Outcome.ERROR):
            outcome = Outcome.UNKNOWN
        completed = CompletedCall(
            called_at=call.at,
            seconds=time.perf_counter() - call.began,
            name=call.name if target is None else target.tool.name,
            decision=call.decision,
            outcome=outcome,
            session=call.caller.session,
            caller=call.caller.name,
            environment=call.caller.environment,
            params=call.params,
            answer=call.answer,
        )
        self._process.records.note(completed, self._origin)
        self._lists.look()


def _approvals(clock: Clock, target: Target, registry: Registry) -> "Approvals":
    from remit.trust import Approvals

    decided = ToolDecision(target.tool, target.decision)

    def decide(name: str, context: Context, row: Key | None) -> ToolDecision:
        del name, context, row
        return decided

    return Approvals(registry.store.approvals, clock, decide)


def _permit(clock: Clock, context: Context, call: _Call, target: Target, registry: Registry) -> "Permit":
    approvals = _approvals(clock, target, registry)
    return approvals.permit(target.tool.name, call.arguments, context, call.caller.name)


def _settle(
    clock: Clock,
    context: Context,
    call: _Call,
    target: Target,
    permit: "Permit",
    word: bool | None,
    registry: Registry,
) -> "Permit":
    """Record the person's answer, and decide anew."""
    return _approvals(clock, target, registry).settle(
        permit, context, approve=word, permit_again=lambda: _permit(clock, context, call, target, registry)
    )


def _refusal(target: Target, published: Published) -> Answer:
    visible = [(entry.name, entry.tool) for entry in published.visible]
    return refusals.refusal(target.name, target.decision, visible, has_output_schema=target.has_output_schema)


def _outcome(answer: Answer) -> Outcome:
    if answer.get("resultType") == "input_required":
        return Outcome.ASKS_BACK
    return Outcome.FAILED if answer.get("isError") else Outcome.DONE


def _is_short_text(answer: Answer) -> bool:
    """Return whether an answer is one short text, as most are."""
    if not answer.keys() <= {"content", "isError"}:
        return False
    match answer.get("content"):
        case [{"type": "text", "text": str(text), **others}]:
            return not others and len(text) <= ALWAYS_FITS
        case _:
            return False


def _has_links(answer: Answer) -> bool:
    """Return whether an answer names resources, whose addresses may be served differently."""
    return "_meta" in answer or any(
        as_object(block).get("type") in ("resource_link", "resource")
        for block in as_list(answer.get("content"))
    )
