"""Caches decisions about calls, which are valid until something they depend on changes.

A hook decides before every call, and loading the decision code takes ten times as long as using the cache.
If a decision depends on states, the states are read each time, and the decision for those states is reused.
"""

import json
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.client_reports import ClientCall
from remit.decision.gates import Basis, Gate
from remit.decision.projects import LaunchFlags
from remit.errors import StoreError
from remit.hooks.hook_context import CLIENT, SYSTEM, HookContext, HookEnvironment, open_context

if TYPE_CHECKING:
    from remit.decision.decide import Decision

_MOST_ANSWERS = 8  # per call, each for different states
_NO_STATES = "[[], null, []]"  # the watch of a decision that depends on no state and no filter


class CallDecision(NamedTuple):
    """The decision about a call: its verdict (`visible`, `ask` or `hidden`), and the reason for a model."""

    verdict: str
    reason: str
    full_reason: str  # for a person, who is asked to approve
    gate: str | None = None
    lifts_prompt: bool = False  # the client need not ask
    asked_by_client: bool = False  # by a rule of the client, so its own prompt is enough
    next_step: str | None = None  # of an unknown name: what a model can do


def decide_call(
    call: ClientCall,
    directory: str,
    *,
    is_headless: bool = False,
    environment: HookEnvironment = SYSTEM,
) -> CallDecision:
    """Decide about a call, using the cache if nothing has changed.

    Raises:
        BadVariableError: a variable that names a directory is invalid.
        NoSuchDirectoryError: the directory does not exist.
        StoreError: the database cannot be used.
    """
    flags = LaunchFlags(is_headless=is_headless)
    with open_context(directory, environment) as context:
        known = _load(call, _inputs_digest(call, context, flags), context, flags)
        before = None if known is None else _states_digest(known.watch, context)
        if known is not None and before in known.answers:
            return known.answers[before]
        with environment.open_registry() as registry:
            place = registry.at(directory, CLIENT, is_headless=is_headless)
            registry.refresh(place)
            digest = _inputs_digest(call, context, flags)
            decision, watch = registry.decide_call(call, place)
        decided = _call_decision(decision)
        if watch is not None and digest is not None and digest == _inputs_digest(call, context, flags):
            entry = _extended(known, digest, json.dumps(watch), before, decided, context)
            with suppress(StoreError):  # the decision is valid even if it cannot be cached
                _save(entry, call, context, flags)
        return decided


class _Entry(NamedTuple):
    """The cached decisions about a call."""

    digest: str  # digest of everything they depend on, except states
    watch: str  # the states they depend on, as JSON
    answers: dict[str | None, CallDecision]  # by the digest of those states


def _load(call: ClientCall, digest: str | None, context: HookContext, flags: LaunchFlags) -> _Entry | None:
    if digest is None:
        return None
    found = context.store.cached_decision(_subject(call, context, flags), digest)
    if found is None:
        return None
    watch, answers = json.loads(found)
    return _Entry(digest, watch, {states: CallDecision(*answer) for states, answer in answers.items()})


def _save(entry: _Entry, call: ClientCall, context: HookContext, flags: LaunchFlags) -> None:
    answer = json.dumps([entry.watch, entry.answers])
    subject = _subject(call, context, flags)
    context.store.cache_decision(subject, entry.digest, answer, context.environment.now())


def _extended(
    known: _Entry | None,
    digest: str,
    watch: str,
    before: str | None,
    decided: CallDecision,
    context: HookContext,
) -> _Entry:
    """Add a decision to an entry if the states did not change in the meantime."""
    is_same = known is not None and (known.digest, known.watch) == (digest, watch)
    answers = dict(known.answers) if known is not None and is_same else {}
    after = _states_digest(watch, context)
    if watch == _NO_STATES or (is_same and before is not None and before == after):
        answers[after] = decided
    return _Entry(digest, watch, dict([*answers.items()][-_MOST_ANSWERS:]))


def _states_digest(watch: str, context: HookContext) -> str | None:
    """Return a digest of the states that a decision depends on; None if it takes a full snapshot."""
    if watch == _NO_STATES:
        return ""
    from remit.hooks.states_digest import states_digest
    from remit.states.state_watch import read_watch

    return states_digest(read_watch(json.loads(watch)), context)


def _inputs_digest(call: ClientCall, context: HookContext, flags: LaunchFlags) -> str | None:
    """Return a digest of all other inputs of a decision; None if a file changed since the last scan."""
    from remit import __version__

    if not context.is_scanned(flags):
        return None
    inputs = (_INPUTS[basis](call, context, flags) for basis in _BASES)
    everything = [__version__, context.machine.home, *inputs]
    return sha256(json.dumps(everything).encode()).hexdigest()


def _catalog_inputs(call: ClientCall, context: HookContext, flags: LaunchFlags) -> object:
    return [context.store.decision_inputs(call.names, flags), context.store.permissions(flags)]


def _configuration_inputs(_call: ClientCall, context: HookContext, _flags: LaunchFlags) -> object:
    return [context.configuration_fingerprints(), context.store.trusted_parts()]


_INPUTS = {Basis.CATALOG: _catalog_inputs, Basis.CONFIGURATION: _configuration_inputs}
# The digest covers everything that gates depend on, except states, which are watched.
_BASES = sorted({basis for gate in Gate for basis in gate.bases} - {Basis.STATES})


def _subject(call: ClientCall, context: HookContext, flags: LaunchFlags) -> str:
    return json.dumps([context.client, flags.key, *call])


def _call_decision(decision: "Decision") -> CallDecision:
    gate = None if decision.gate is None else decision.gate.value
    return CallDecision(
        decision.verdict.value,
        decision.reason,
        decision.full_reason,
        gate,
        decision.lifts_prompt,
        decision.asked_by_client,
        decision.next_step.text if decision.next_step is not None and decision.gate is Gate.SCOPE else None,
    )
