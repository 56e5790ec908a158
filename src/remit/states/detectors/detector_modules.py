"""The detectors, one module for each sort, loaded when a state needs one: most need no more than a look."""

from collections.abc import Callable, Sequence
from importlib import import_module

from remit.configuration.config_model import Detector, DetectorKind
from remit.decision.projects import Workspace
from remit.files.bounded_reader import Machine
from remit.states.observations import Observation

Detect = Callable[[Detector, Sequence[str], Workspace, Machine], Observation]

DETECTORS = {  # each with its module
    DetectorKind.FILE: "file_exists",
    DetectorKind.DIRECTORY: "file_exists",
    DetectorKind.GLOB: "glob_count",
    DetectorKind.GIT: "git_changes",  # what git's own files tell, a look has read
    DetectorKind.ENV: "env_variable",
    DetectorKind.VALUE: "file_value",
    DetectorKind.COMMAND: "command_exit",
    DetectorKind.HTTP: "http_status",
    DetectorKind.ENTITIES: "entity_count",
}


def load(name: str) -> Detect:
    """Load a detector's module."""
    return import_module(f"remit.states.detectors.{name}").detect


def module_of(detector: Detector) -> str:
    """Name the module of a detector."""
    return DETECTORS[detector.kind]
