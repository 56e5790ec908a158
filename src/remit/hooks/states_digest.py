"""Computes a digest of the states that a cached decision depends on, without the registry."""

import json
from hashlib import sha256

from remit.files.bounded_reader import ANYWHERE, content_digest
from remit.hooks.hook_context import HookContext
from remit.states.detectors.local_detectors import LocalDetectors, LocalLook
from remit.states.state_watch import StateWatch, WatchedState

_FILTERED_MS = 60_000  # milliseconds for which the verdict of a filter is reused


def states_digest(watch: StateWatch, context: HookContext) -> str | None:
    """Return a digest of the watched states; None if one of them takes a full snapshot."""
    look = LocalDetectors(context.machine).look(context.workspace)
    known = _StoredStates(context)
    found = [_state(each, look, known) for each in watch.states]
    if None in found:
        return None
    variables = None if watch.env is None else look.variables(watch.env)
    everything = [found, variables, _filters(watch, context)]
    return sha256(json.dumps(everything).encode()).hexdigest()


def _filters(watch: StateWatch, context: HookContext) -> object:
    """Return what the verdicts of filters depend on, and the time, because they may depend on anything."""
    if not watch.filters:
        return None
    return [
        [content_digest(path, within=ANYWHERE) for path in watch.filters],
        context.environment.now() // _FILTERED_MS,
    ]


def _state(watched: WatchedState, look: LocalLook, known: "_StoredStates") -> object:
    detector = watched.detector
    if detector is None:
        return [known.workflow.get(watched.name)]
    if detector.is_pushed:
        return [known.pushed.get(watched.name)]
    if detector.lifetime:
        return known.observed.get(watched.name)
    return look.detect(detector, watched.bases)


class _StoredStates:
    """The stored states of a workspace."""

    def __init__(self, context: HookContext) -> None:
        store, now = context.store, context.environment.now()
        self.workflow = {name: by for name, _, by in store.workflow_states()}
        self.pushed = {  # an expired value only shows that one was pushed
            name: [value] if at <= now < until else [] for name, value, at, until in store.pushed_states()
        }
        self.observed = {row[0]: row[1:5] for row in store.observations() if 0 < row[5] <= now < row[6]}
