"""Readings: what the states that a decision goes by are now, by one look and without the registry."""

import json
from hashlib import sha256

from remit.configuration.config_model import DetectorKind
from remit.decision.projects import Workspace
from remit.files.bounded_reader import Machine
from remit.states.detectors.local_detectors import LocalDetectors, LocalLook
from remit.states.state_watch import Watch, Watched
from remit.store.database import Database


def reading(watch: Watch, database: Database, workspace: Workspace, machine: Machine, now: int) -> str | None:
    """Give a mark of what is watched: the same as long as all of it is; None where only a proper snapshot can
    tell.
    """
    look = LocalDetectors(machine).look(workspace)
    known = _Known(database, workspace, now)
    found = [_state(each, look, known) for each in watch.states]
    if None in found:
        return None
    variables = None if watch.env is None else look.variables(watch.env)
    return sha256(json.dumps([found, variables]).encode()).hexdigest()


def _state(watched: Watched, look: LocalLook, known: "_Known") -> object:
    detector = watched.detector
    if detector is None:
        return [known.workflow.get(watched.name)]
    if detector.kind is DetectorKind.PUSH:
        return [known.pushed.get(watched.name)]
    if detector.lifetime:
        return known.observed.get(watched.name)
    return look.detect(detector, watched.bases)


class _Known:
    """What the store knows of a workspace's states."""

    def __init__(self, database: Database, workspace: Workspace, now: int) -> None:
        project = workspace.project.hash
        self.workflow = {name: by for name, _, by in database.rows("workflow_states", project=project)}
        self.pushed = {  # of what has expired, that it was pushed
            name: [value] if at <= now < until else []
            for name, value, at, until in database.rows("pushed_states", project=project)
        }
        self.observed = {
            row[0]: row[1:5]
            for row in database.rows("observations", workspace=workspace.dir, project=project)
            if 0 < row[5] <= now < row[6]
        }
