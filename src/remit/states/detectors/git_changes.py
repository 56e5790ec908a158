"""Detects uncommitted changes by running git, which needs the user's trust."""

from collections.abc import Sequence

from remit.configuration.detector_kinds import Detector, GitFact
from remit.decision.projects import Workspace
from remit.files.bounded_reader import Machine
from remit.states.detectors.command_exit import run
from remit.states.detectors.git_facts import git_facts
from remit.states.observations import Observation

_STATUS = (  # disables everything that a repository's settings could make git run
    "git",
    "--no-optional-locks",
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "submodule.recurse=false"),
    "status",
    "--porcelain",
    "--ignore-submodules=all",
)


def detect(detector: Detector, _bases: Sequence[str], workspace: Workspace, machine: Machine) -> Observation:
    """Run `git status` until its first output."""
    if not git_facts(workspace).is_repository:
        return Observation(False, "there is no repository")
    ended = run(_STATUS, workspace.checkout, machine, timeout=detector.timeout, until_output=True)
    if ended.trouble is not None:
        return Observation(None, f"git {ended.trouble}")
    if not ended.has_output and ended.exit_code != 0:
        return Observation(None, f"git ended with {ended.exit_code}")
    is_wanted = ended.has_output is (detector.fact is GitFact.DIRTY)
    told = "there are uncommitted changes" if ended.has_output else "everything is committed"
    return Observation(is_wanted, told)
