"""Rules that switch tools off, added to a file and taken out again."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.configuration.switch_off import switch_off, switch_on, switched_off
from remit.errors import PolicyError

FILES = ["", "# mine\n", 'mode = "plan"', '[tools."x"]\nai_enabled = true\n', "\n\n", "# no end of line"]


@pytest.mark.parametrize("before", FILES)
def test_every_byte_can_be_taken_back(before: str) -> None:
    after = switch_off(before, ["mcp__git__*", "/commit", "deploy"])
    assert after.startswith(before)
    assert switched_off(after) == ["mcp__git__*", "/commit", "deploy"]
    assert switch_on(after) == before


@given(st.lists(st.text(min_size=1), unique=True), st.sampled_from(FILES))
def test_any_name_is_written_so_that_it_means_itself(names: list[str], before: str) -> None:
    clean = [name for name in names if name.isprintable() and name != "x"]
    after = switch_off(before, clean)
    rules = tomllib.loads(after).get("tools", {})
    assert all(rules[name] == {"ai_enabled": False} for name in clean)
    assert switch_on(after) == before


def test_a_name_is_switched_off_once() -> None:
    assert switch_off("", ["a", "a"]).count("[tools") == 1
    assert switch_off("# mine\n", []) == "# mine\n"


def test_a_rule_that_is_there_already_is_left_to_its_author() -> None:
    with pytest.raises(PolicyError, match="there is a rule for `x` already"):
        switch_off('[tools.x]\ndanger = "safe"\n', ["x"])


@pytest.mark.parametrize("text", ["tools = {}", "tools = 3"])
def test_rules_that_are_written_in_one_line_cannot_be_added_to(text: str) -> None:
    with pytest.raises(PolicyError, match="cannot be added to"):
        switch_off(text, ["a"])


def test_a_file_that_is_broken_is_not_written_to() -> None:
    with pytest.raises(PolicyError, match="the file is no TOML"):
        switch_off("[", ["a"])


def test_a_rule_that_somebody_edited_since_stays() -> None:
    edited = switch_off("", ["a"]).replace("false", "true")
    assert switch_on(edited) == edited
