"""The detectors, one module for each sort, loaded when a state needs one: most need no more than a look."""

from collections.abc import Callable, Sequence
from importlib import import_module

from remit.adapters.files import Machine
from remit.core.configuration.values import Detector, DetectorKind
from remit.core.observations import Observation
from remit.core.projects import Workspace

Detect = Callable[[Detector, Sequence[str], Workspace, Machine], Observation]

DETECTORS = {  # each with its module
    DetectorKind.FILE: "files",
    DetectorKind.DIRECTORY: "files",
    DetectorKind.GLOB: "globs",
    DetectorKind.GIT: "changes",  # what git's own files tell, a look has read
    DetectorKind.ENV: "environment",
    DetectorKind.VALUE: "values",
    DetectorKind.COMMAND: "commands",
    DetectorKind.HTTP: "http",
    DetectorKind.ENTITIES: "entities",
}


def load(name: str) -> Detect:
    """Load a detector's module."""
    return import_module(f"{__name__}.{name}").detect


def module_of(detector: Detector) -> str:
    """Name the module of a detector."""
    return DETECTORS[detector.kind]
