"""Detects whether a file or directory exists."""

import os
import stat
from collections.abc import Sequence

from remit.configuration.detector_kinds import Detector, DetectorKind
from remit.decision.projects import Workspace
from remit.files.bounded_reader import FileError, Machine
from remit.states.detectors.project_files import look
from remit.states.observations import Observation


def detect(detector: Detector, bases: Sequence[str], workspace: Workspace, _machine: Machine) -> Observation:
    """Check whether any of the paths exists; a path that ends in `/` must be a directory."""
    trouble = None
    for path in detector.paths:
        is_directory = detector.kind is DetectorKind.DIRECTORY or path.endswith("/")
        try:
            for _, found in look(path, bases, workspace):
                if stat.S_ISDIR(found.st_mode) if is_directory else stat.S_ISREG(found.st_mode):
                    return Observation(True, f"{path} exists")
                if not is_directory and not stat.S_ISDIR(found.st_mode):
                    trouble = f"{path} is not a regular file"
        except FileError as error:
            trouble = f"{path}: {error.reason}"
    if trouble is not None:
        return Observation(None, trouble)
    return Observation(False, f"no {_one_of(detector.paths)} in {_place(bases, workspace)}")


def _one_of(paths: Sequence[str]) -> str:
    return " or ".join(paths[:3]) + (f" or {len(paths) - 3} others" if len(paths) > 3 else "")


def _place(bases: Sequence[str], workspace: Workspace) -> str:
    base = bases[0]
    inside = os.path.relpath(base, workspace.checkout) if base != workspace.checkout else ""
    name = os.path.basename(workspace.checkout) or workspace.checkout
    return f"{name}/{inside}" if inside else name
