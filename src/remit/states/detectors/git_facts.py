"""Reads facts about a checkout from git's own files, without starting git."""

import os
from collections.abc import Iterator
from typing import NamedTuple

from remit.configuration.detector_kinds import Detector, GitFact
from remit.decision.globs import glob
from remit.decision.projects import Workspace
from remit.files.bounded_reader import FileError, read_text
from remit.files.checkout import git_directory
from remit.states.observations import Observation

_HEAD_LIMIT = 4096
_REFS = "ref: refs/heads/"
_MERGE = "MERGE_HEAD"
_REBASES = ("rebase-merge", "rebase-apply")


class GitFacts(NamedTuple):
    """Facts about a checkout that do not require running git."""

    is_repository: bool
    branch: str | None = None
    is_detached: bool = False
    is_merging: bool = False
    is_rebasing: bool = False
    trouble: str | None = None  # why the other facts are unknown


def git_facts(workspace: Workspace) -> GitFacts:
    """Read the facts from git's own files."""
    if not os.path.lexists(os.path.join(workspace.checkout, ".git")):
        return GitFacts(False)
    directory = git_directory(workspace.checkout)
    if directory is None:
        return GitFacts(True, trouble="`.git` points at another place")
    try:
        head = read_text(os.path.join(directory, "HEAD"), limit=_HEAD_LIMIT, within=[directory])
    except FileError as error:
        return GitFacts(True, trouble=f"HEAD: {error.reason}")
    line = (head or "").strip()
    return GitFacts(
        is_repository=True,
        branch=line.removeprefix(_REFS) if line.startswith(_REFS) else None,
        is_detached=bool(line) and not line.startswith("ref: "),
        is_merging=os.path.isfile(os.path.join(directory, _MERGE)),
        is_rebasing=any(os.path.isdir(os.path.join(directory, name)) for name in _REBASES),
        trouble=None if line else "there is no HEAD",
    )


def git_files(workspace: Workspace) -> Iterator[str]:
    """List the files and directories that the facts depend on."""
    yield os.path.join(workspace.checkout, ".git")
    directory = git_directory(workspace.checkout)
    if directory is not None:
        yield from (os.path.join(directory, name) for name in ("HEAD", _MERGE, *_REBASES))


def observe_git(detector: Detector, found: GitFacts, workspace: Workspace) -> Observation:
    """Return one fact as an observation."""
    if detector.fact is GitFact.REPOSITORY:
        place = os.path.basename(workspace.checkout) or workspace.checkout
        return Observation(
            found.is_repository, f"{'there is a' if found.is_repository else 'no'} .git in {place}"
        )
    if not found.is_repository:
        return Observation(False, "there is no repository")
    if found.trouble is not None:
        return Observation(None, found.trouble)
    return _told(detector, found)


def _told(detector: Detector, found: GitFacts) -> Observation:
    match detector.fact:
        case GitFact.BRANCH:
            on = "no branch" if found.branch is None else f"branch {found.branch}"
            holds = found.branch is not None and glob(detector.branch).matches(found.branch)
            return Observation(holds, f"on {on}")
        case GitFact.DETACHED:
            return Observation(
                found.is_detached, "HEAD is detached" if found.is_detached else "HEAD is on a branch"
            )
        case GitFact.MERGING:
            return Observation(found.is_merging, f"{'a' if found.is_merging else 'no'} merge is in progress")
        case _:
            return Observation(
                found.is_rebasing, f"{'a' if found.is_rebasing else 'no'} rebase is in progress"
            )
