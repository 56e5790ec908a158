"""Answers calls of Remit's own tools, except `call_tool`, which calls another tool."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from remit.decision.decide import Decision, ExplainedGate, Verdict, explain
from remit.decision.gate_rules import GateResult
from remit.decision.gates import ASK_THE_USER, Gate
from remit.gateway.inventory import Inventory
from remit.presentation.invocations import as_client_has_it, is_clients_own
from remit.presentation.listing_strategies import HOW_TO_CALL, ToolGroup, definitions_of, in_words
from remit.presentation.refusals import clean_reason, failure, next_step
from remit.presentation.remit_tools import OwnTool
from remit.protocol.json_rpc import Answer, Params
from remit.text.json_values import as_object

if TYPE_CHECKING:
    from remit.gateway.current_lists import CurrentLists
    from remit.gateway.discover_tools import ToolDiscovery
    from remit.gateway.registry_worker import RegistryWorker

LONGEST_NAME = 1_000  # characters; every tool is compared with a name that is unknown
_MOST_REPORTED = 200
_LONGEST_NAME = 256
_LONGEST_TEXT = 4_096
_LARGEST_SCHEMA = 2**20  # characters


class BadArgumentsError(Exception):
    """A call of one of Remit's own tools has invalid arguments."""


class OwnToolHandler:
    """Answers `discover_tools`, `why_tool` and `report_available_tools`."""

    def __init__(
        self, worker: RegistryWorker[Inventory], lists: CurrentLists, discovery: ToolDiscovery
    ) -> None:
        self._worker = worker
        self._lists = lists
        self._discovery = discovery

    async def answer(self, own: OwnTool, params: Params) -> Answer:
        """Answer a call; report invalid arguments in the answer.

        Raises:
            RemitError: the store or the configuration cannot be used.
        """
        try:
            arguments = arguments_of(params)
            if own is OwnTool.DISCOVER:
                return await self._discovery.find(await self._lists.refresh(), arguments)
            if own is OwnTool.WHY:
                return await self._worker.run(why, text_of(arguments, "name"))
            return await self._worker.run(report, arguments.get("tools"))
        except BadArgumentsError as error:
            return failure(f"`{own}`: {error}")


def answer(text: str, content: Mapping[str, Any]) -> Answer:
    """Return an answer with text and structured content."""
    return {"content": [{"type": "text", "text": text}], "structuredContent": dict(content)}


def open_group(group: ToolGroup) -> Answer:
    """Return the tools of a group, so a model can call them right away."""
    return answer(in_words(group), {"how": HOW_TO_CALL, "tools": definitions_of(group.entries)})


def arguments_of(asked: Params) -> Mapping[str, Any]:
    """Return the arguments of a call.

    Raises:
        BadArgumentsError: they are not an object.
    """
    arguments = asked.get("arguments")
    if arguments is None:
        return {}
    if not isinstance(arguments, Mapping):
        raise BadArgumentsError("`arguments` must be an object")
    return cast("Mapping[str, Any]", arguments)


def text_of(arguments: Mapping[str, Any], key: str, *, longest: int = LONGEST_NAME) -> str:
    """Return a string argument.

    Raises:
        BadArgumentsError: it is missing, blank, too long or not a string.
    """
    value = arguments.get(key)
    if not isinstance(value, str) or not value.strip():
        raise BadArgumentsError(f"`{key}` must be a non-empty string")
    if len(value) > longest:
        raise BadArgumentsError(f"`{key}` is longer than {longest:,} characters")
    return value


def why(inventory: Inventory, name: str) -> Answer:
    """Explain why a tool is available, or is not."""
    catalog, target = inventory.target(name)
    if target is None or target.decision.gate is Gate.SCOPE:
        advice = inventory.advise(name)
        context = replace(catalog.context, snapshot=inventory.snapshot())
        if advice.row is not None and is_clients_own(advice.row.tool):
            context = as_client_has_it(context)
        explained = inventory.registry.explain(name, context)
        if explained.tool is None or advice.is_ambiguous:
            return failure(f"{advice.problem}: {name}", advice.text)
        step = advice.text or ASK_THE_USER
        return _told(explained.name, explained.decision, explained.gates, step, explained.obstacle)
    is_visible = target.decision.verdict is Verdict.VISIBLE
    step = None if is_visible else next_step(target.decision, inventory.lists().visible)
    server = None if target.upstream is None else catalog.servers.get(target.upstream.key)
    why_not = None if server is None or not is_visible else server.failure
    obstacle = why_not and f"the last connection failed: {why_not}"
    step = ASK_THE_USER if obstacle else step
    return _told(target.served, target.decision, explain(target.tool, target.context), step, obstacle)


_VERDICTS = {Verdict.VISIBLE: "is visible", Verdict.ASK: "asks", Verdict.HIDDEN: "is hidden"}


def _told(
    name: str,
    decision: Decision,
    gates: Sequence[ExplainedGate],
    step: str | None,
    obstacle: str | None = None,
) -> Answer:
    reason = clean_reason(decision.reason)
    said = [(str(gate), result, clean_reason(result.reason)) for gate, result in _tellable(gates)]
    lines = [f"`{clean_reason(name)}` {_VERDICTS[decision.verdict]}: {reason}"]
    lines += [clean_reason(obstacle)] if obstacle else []
    lines += [step] if step else []
    lines += [f"  {_answer_of(result)} {gate}: {why}" for gate, result, why in said]
    content = {
        "tool": name,
        "verdict": str(decision.verdict),
        "gate": None if decision.gate is None else str(decision.gate),
        "reason": reason,
        "next_step": step,
        "obstacle": obstacle,
        "gates": [{"gate": gate, "passed": result.passed, "reason": why} for gate, result, why in said],
    }
    return answer("\n".join(lines), content)


def _tellable(gates: Sequence[ExplainedGate]) -> Sequence[ExplainedGate]:
    """Leave out what follows an objection to a definition: a danger may quote its words."""
    ends = (at for at, (gate, result) in enumerate(gates, 1) if gate is Gate.DEFINITION and not result.passed)
    return gates[: next(ends, len(gates))]


def _answer_of(result: GateResult) -> str:
    if result.asks:
        return "asks"
    return "passed" if result.passed else "objects"


def report(inventory: Inventory, tools: object) -> Answer:
    """Store the tools that an agent reports.

    Raises:
        BadArgumentsError: the list is invalid.
    """
    if not isinstance(tools, list) or len(cast("list[object]", tools)) > _MOST_REPORTED:
        raise BadArgumentsError(f"`tools` must be a list of at most {_MOST_REPORTED} tools")
    said = [_reported(each) for each in cast("list[object]", tools)]
    for name, description, schema in said:
        inventory.registry.usage.report_tool(
            name, inventory.context, description=description, input_schema=schema
        )
    names = [name for name, _, _ in said]
    return answer(f"{len(names)} tools are known now", {"tools": names})


def _reported(said: object) -> tuple[str, str | None, Mapping[str, object] | None]:
    fields = as_object(said)
    name, description, schema = text_of(fields, "name"), fields.get("description"), fields.get("input_schema")
    if len(name) > _LONGEST_NAME:
        raise BadArgumentsError(f"a name is longer than {_LONGEST_NAME} characters")
    if description is not None and not isinstance(description, str):
        raise BadArgumentsError(f"the description of `{name}` must be a string")
    if schema is not None and (not as_object(schema) or len(json.dumps(schema)) > _LARGEST_SCHEMA):
        raise BadArgumentsError(f"the input schema of `{name}` must be an object, and not too large")
    return name, description and description[:_LONGEST_TEXT], None if schema is None else as_object(schema)
