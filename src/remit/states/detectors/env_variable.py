"""Detects whether an environment variable is set or has a value, without showing the value."""

from collections.abc import Sequence

from remit.configuration.detector_kinds import Detector
from remit.decision.projects import Workspace
from remit.files.bounded_reader import Machine
from remit.states.observations import Observation


def detect(detector: Detector, _bases: Sequence[str], _workspace: Workspace, machine: Machine) -> Observation:
    """Check a variable; an empty one counts as unset."""
    value = machine.variables.get(detector.variable)
    if not value:
        return Observation(False, f"the variable {detector.variable} is not set")
    if detector.equals is None or value == detector.equals:
        return Observation(True, f"the variable {detector.variable} is set")
    return Observation(False, f"the variable {detector.variable} has another value")
