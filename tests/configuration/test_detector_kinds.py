"""Every kind of detector has all of its parts, and the traits of each are those that its users rely on."""

from importlib import import_module

import pytest

from remit.configuration.config_model import ConfigurationMistake
from remit.configuration.detector_kinds import TRAITS, Detector, DetectorKind, GitFact
from remit.configuration.detector_tables import read_detector
from remit.configuration.table_fields import TableFields


@pytest.mark.parametrize("kind", DetectorKind)
def test_every_kind_has_a_parser_and_a_module(kind: DetectorKind) -> None:
    mistakes: list[ConfigurationMistake] = []
    assert read_detector(TableFields({kind: 1979}, (), mistakes)) is None
    assert mistakes
    if kind is not DetectorKind.PUSH:
        assert callable(import_module(f"remit.states.detectors.{TRAITS[kind].module}").detect)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (DetectorKind.FILE, ()),
        (DetectorKind.GLOB, ("count", "timeout", "lifetime")),
        (DetectorKind.GIT, ("timeout", "lifetime")),
        (DetectorKind.COMMAND, ("exit", "timeout", "lifetime")),
        (DetectorKind.HTTP, ("status", "timeout", "lifetime")),
        (DetectorKind.ENTITIES, ("count", "timeout", "lifetime")),
        (DetectorKind.PUSH, ("lifetime",)),
    ],
)
def test_the_options_of_a_kind_follow_from_its_traits(kind: DetectorKind, options: tuple[str, ...]) -> None:
    assert TRAITS[kind].options == options


@pytest.mark.parametrize("fact", GitFact)
def test_git_runs_only_for_what_its_files_do_not_tell(fact: GitFact) -> None:
    detector = Detector(DetectorKind.GIT, fact=fact)
    assert detector.runs is (fact in (GitFact.DIRTY, GitFact.CLEAN))
    assert detector.reads_git_files is not detector.runs


def test_only_programs_and_servers_need_trust() -> None:
    acting = {kind for kind, traits in TRAITS.items() if traits.action is not None}
    assert acting == {DetectorKind.GIT, DetectorKind.COMMAND, DetectorKind.HTTP}
