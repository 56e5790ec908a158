"""What is written down of a watch is read back."""

import json

import pytest

from remit.configuration.detector_kinds import Comparison, Detector, DetectorKind, GitFact
from remit.states.state_watch import StateWatch, WatchedState, read_watch

WATCHED = [
    WatchedState("work", None, []),
    WatchedState("open", Detector(DetectorKind.FILE, paths=("a", "b")), ["/code/shop"]),
    WatchedState(
        "many", Detector(DetectorKind.GLOB, glob="*.md", amount=Comparison(">=", 2), lifetime=5.0), ["/x"]
    ),
    WatchedState("main", Detector(DetectorKind.GIT, fact=GitFact.BRANCH, branch="main"), ["/x"]),
]


@pytest.mark.parametrize("watch", [StateWatch(), StateWatch(WATCHED), StateWatch([], ["STAGE"])])
def test_a_watch_is_read_as_it_was_written(watch: StateWatch) -> None:
    assert read_watch(json.loads(json.dumps(watch))) == watch._replace(states=list(watch.states))


def test_what_depends_on_what_a_file_holds_takes_more_than_a_look() -> None:
    assert all(each.is_quick for each in WATCHED)
    assert not WatchedState("big", Detector(DetectorKind.VALUE, paths=("a.json",)), ["/x"]).is_quick
