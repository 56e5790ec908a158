"""Whether Claude Code searches tools by itself."""

from pathlib import Path

import pytest

from remit.clients.claude_code import searches_itself
from remit.files.bounded_reader import Machine


@pytest.mark.parametrize(
    ("value", "searches"),
    [(None, True), ("true", True), ("1", True), ("false", False), ("0", False), ("auto", False)],
)
def test_claude_code_searches_unless_a_variable_turns_it_off(
    tmp_path: Path, value: str | None, searches: bool
) -> None:
    variables = {} if value is None else {"ENABLE_TOOL_SEARCH": value}
    machine = Machine(home=str(tmp_path), variables=variables)
    assert searches_itself("claude-code", machine) is searches
    assert not searches_itself("cursor", machine)


@pytest.mark.parametrize(
    ("settings", "searches"),
    [('{"env": {"ENABLE_TOOL_SEARCH": "false"}}', False), ("{}", True), ("broken", True)],
)
def test_the_variable_may_be_in_the_users_settings(tmp_path: Path, settings: str, searches: bool) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text(settings)
    assert searches_itself("claude-code", Machine(home=str(tmp_path), variables={})) is searches
