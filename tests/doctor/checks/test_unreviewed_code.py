"""Files of a repository that make the client run code."""

from remit.decision.problems import Severity
from remit.decision.settings_rules import ExecutedSetting
from remit.doctor.checks.unreviewed_code import project_code
from remit.doctor.findings import ClientSetup
from support.builders import context

SHARED, PERSONAL = "/code/shop/.claude/settings.json", "/code/shop/.claude/settings.local.json"


def line(path: str, /, *keys: str) -> int:
    lines = {"hooks.PreToolUse": 7, "env.LD_PRELOAD": 9}
    return lines.get(".".join(keys), 3) if path == SHARED else 0


def setup(*executed: ExecutedSetting) -> ClientSetup:
    return ClientSetup(context=context(), executed=executed, line_of=line)


def test_each_file_is_named_once_with_what_runs_and_its_line() -> None:
    found = list(
        project_code(
            setup(
                ExecutedSetting(SHARED, "PreToolUse", "sh x.sh", "hooks"),
                ExecutedSetting(SHARED, "LD_PRELOAD", "", "env"),
                ExecutedSetting(PERSONAL, "PATH", "", "env"),
            )
        )
    )
    assert [(item.source, item.severity, item.check) for item in found] == [
        (SHARED, Severity.WARNING, "code"),
        (PERSONAL, Severity.WARNING, "code"),
    ]
    assert ": `PreToolUse` (line 7) runs `sh x.sh`, `LD_PRELOAD` (line 9);" in found[0].reason
    assert ": `PATH`;" in found[1].reason


def test_of_many_settings_the_first_are_named() -> None:
    (found,) = project_code(setup(*(ExecutedSetting(SHARED, f"E{at}", "x") for at in range(12))))
    assert "`E9` (line 3) runs `x`, and 2 more;" in found.reason


def test_without_such_settings_nothing_is_found() -> None:
    assert list(project_code(setup())) == []
