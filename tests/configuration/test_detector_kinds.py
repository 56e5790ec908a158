"""Every kind of detector has all of its parts, and the traits of each are those that its users rely on."""

from importlib import import_module

import pytest

from remit.configuration.config_model import ConfigurationMistake
from remit.configuration.detector_kinds import TRAITS, Detector, DetectorKind, GitFact, comparison
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


@pytest.mark.parametrize(
    ("text", "holding"),
    [
        (">= 3", [3, 4]),
        ("> 3", [4]),
        ("<3", [0, 2]),
        ("<= 3", [0, 2, 3]),
        ("== 3", [3]),
        ("3", [3]),
        (3, [3]),
        ("!= 3", [0, 2, 4]),
    ],
)
def test_a_count_is_compared_as_it_is_written(text: str | int, holding: list[int]) -> None:
    read = comparison(text)
    assert read is not None
    assert [count for count in (0, 2, 3, 4) if read.holds(count)] == holding


@pytest.mark.parametrize("text", ["", "many", ">= -1", "=> 3", "3.5", "9999999999", 10**40, "> 3 < 5"])
def test_what_is_no_comparison_is_none(text: str | int) -> None:
    assert comparison(text) is None
