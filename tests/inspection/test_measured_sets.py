"""What the published table says about our own sets, held to the code."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from remit.inspection.definition_file import FileDefinition, read_definitions
from remit.inspection.inspection_findings import Suspicion, worst
from remit.inspection.inspector import inspect
from remit.inspection.surroundings import Surroundings

HERE = Path(__file__).parent


def definitions(name: str) -> list[FileDefinition]:
    return read_definitions((HERE / name).read_text(encoding="utf-8"), name)


def flagged(name: str, prefix: str) -> Iterator[bool]:
    """Inspect each definition by itself, as its server's other tools are not known."""
    for each in definitions(name):
        if each.id.startswith(prefix):
            severity = worst(inspect(each.definition, Surroundings.of([each.definition])))
            yield severity in (Suspicion.HIGH, Suspicion.MEDIUM)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "prefix", "least"),
    [
        ("definitions.jsonl", "a", 0.9),
        ("third_definitions.jsonl", "third-attack", 0.9),
        ("fifth_definitions.jsonl", "ea", 0.9),
        ("sixth_definitions.jsonl", "sixth-attack", 0.88),
        ("seventh_definitions.jsonl", "seventh-attack", 0.9),
        ("eighth_definitions.jsonl", "eighth-attack", 0.88),
        ("ninth_definitions.jsonl", "ninth-attack", 0.93),
        ("tenth_definitions.jsonl", "tenth-attack", 0.94),
    ],
)
def test_attacks_are_flagged(name: str, prefix: str, least: float) -> None:
    found = list(flagged(name, prefix))
    assert len(found) >= 40
    assert sum(found) / len(found) >= least


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "prefix", "most"),
    [
        ("definitions.jsonl", "b", 0.03),
        ("third_definitions.jsonl", "third-benign", 0.08),
        ("sixth_definitions.jsonl", "sixth-benign", 0.03),
        ("seventh_definitions.jsonl", "seventh-benign", 0.08),
        ("eighth_definitions.jsonl", "eighth-benign", 0.03),
        ("ninth_definitions.jsonl", "ninth-harmless", 0.16),
        ("tenth_definitions.jsonl", "tenth-benign", 0.2),
    ],
)
def test_hard_negatives_are_not(name: str, prefix: str, most: float) -> None:
    found = list(flagged(name, prefix))
    assert len(found) >= 40
    assert sum(found) / len(found) <= most


def test_an_inspection_is_deterministic() -> None:
    items = definitions("definitions.jsonl")
    others = Surroundings.of(each.definition for each in items)
    first = [inspect(each.definition, others) for each in items]
    assert first == [inspect(each.definition, others) for each in items]
