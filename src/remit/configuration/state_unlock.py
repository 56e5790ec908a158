"""Explains how to make a state true."""

from remit.configuration.config_model import ASKS_GIT, Detector, DetectorKind, GitFact, StateEntry
from remit.configuration.merged_configuration import DeclaredState


def state_unlock(state: DeclaredState) -> str | None:
    """Explain how to make a state true; None if unknown."""
    entry = state.entry
    if not state.may_run:
        return f"look at it with `remit trust {entry.name}`, and trust it"
    if entry.kind == "workflow":
        return _by_hand(entry)
    return None if entry.detector is None else _by_world(entry.name, entry.detector)


def _by_hand(entry: StateEntry) -> str:
    tools = f", or let {' or '.join(entry.on)} succeed" if entry.on else ""
    return f"run `remit state set {entry.name}`{tools}"


def _by_world(name: str, detector: Detector) -> str | None:
    match detector.kind:
        case DetectorKind.FILE | DetectorKind.DIRECTORY:
            return f"make {detector.paths[0]}"
        case DetectorKind.GLOB:
            return f"make what {detector.glob} names"
        case DetectorKind.ENV:
            return f"set the variable {detector.variable}"
        case DetectorKind.VALUE:
            return f"set {'.'.join(detector.keys)} in {detector.paths[0]}"
        case DetectorKind.PUSH:
            return f"have the application push `{name}`"
        case DetectorKind.GIT:
            return _by_git(detector)
        case _:
            return None


def _by_git(detector: Detector) -> str | None:
    if detector.fact is GitFact.REPOSITORY:
        return "run `git init`"
    if detector.fact is GitFact.BRANCH:
        return f"check out {detector.branch}"
    return "commit what is changed" if detector.fact in ASKS_GIT and detector.fact is GitFact.CLEAN else None
