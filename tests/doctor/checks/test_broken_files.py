import pytest

from remit.configuration.configuration_service import ConfigurationFinding
from remit.decision.problems import Problem, Severity
from remit.doctor.checks.broken_files import configuration_mistakes


def told(reason: str, severity: Severity = Severity.ERROR) -> list[tuple[str, str]]:
    found = ConfigurationFinding(severity, Problem("/remit.toml", "line 2 column 1", reason))
    return [(each.reason, each.fix) for each in configuration_mistakes([found])]


@pytest.mark.parametrize(
    ("reason", "shown", "fix"),
    [
        ("a: unknown (did you mean `b`?)", "a: unknown", "did you mean `b`?"),
        (
            "a: unknown (did you mean `b`?); it has no effect",
            "a: unknown; it has no effect",
            "did you mean `b`?",
        ),
        ("a: bad (expected one of `b`, `c`)", "a: bad", "use one of `b`, `c`"),
        ("a: bad (b) (write `c (d)`)", "a: bad (b)", "write `c (d)`"),
        (
            "not valid TOML: Invalid value; using the last valid version",
            "not valid TOML: Invalid value; using the last valid version",
            "correct the text there",
        ),
        ("it would undo `(a)`", "it would undo `(a)`", "fix it, or remove it"),
    ],
)
def test_the_hint_of_a_mistake_is_its_fix(reason: str, shown: str, fix: str) -> None:
    assert told(reason) == [(shown, fix)]


def test_notes_are_left_to_policy_check() -> None:
    assert told("`x` matches no known tool", Severity.WARNING)
    assert told("`x` matches no known tool", Severity.NOTE) == []
