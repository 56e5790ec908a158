"""Rules that disable tools, written into a file and taken out again."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.configuration.rule_edits import ASKED, DISABLED, patterns_with, remove, write
from remit.errors import PolicyError


def disable(text: str, patterns: list[str]) -> str:
    return write(text, patterns, DISABLED)


def enable(text: str, patterns: list[str]) -> str:
    return remove(text, patterns, DISABLED)


def disabled_patterns(text: str) -> list[str]:
    return patterns_with(text, DISABLED)


FILES = ["", "# mine\n", 'mode = "plan"', '[tools."x"]\nai_enabled = true\n', "\n\n", "# no end of line"]


@pytest.mark.parametrize("before", FILES)
def test_rules_are_added_behind_everything_else(before: str) -> None:
    after = disable(before, ["mcp__git__*", "/commit", "deploy"])
    assert after.startswith(before)
    assert disabled_patterns(after) == ["mcp__git__*", "/commit", "deploy"]
    assert enable(after, ["deploy", "mcp__git__*", "/commit"]).strip() == before.strip()


@given(st.lists(st.text(min_size=1), unique=True), st.sampled_from(FILES))
def test_any_name_is_written_so_that_it_means_itself(names: list[str], before: str) -> None:
    clean = [name for name in names if name.isprintable() and name != "x"]
    after = disable(before, clean)
    rules = tomllib.loads(after).get("tools", {})
    assert all(rules[name] == {"ai_enabled": False} for name in clean)
    assert tomllib.loads(enable(after, clean)) == tomllib.loads(before)


def test_a_tool_is_disabled_once() -> None:
    once = disable("", ["a", "a"])
    assert once == '[tools."a"]\nai_enabled = false\n'
    assert disable(once, ["a"]) == once
    assert disable("# mine\n", []) == enable("# mine\n", ["a"]) == "# mine\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            '[tools.x]  # careful\ndanger = "safe"\n\n[tools.y]\napproval = true\n',
            '[tools.x]  # careful\nai_enabled = false\ndanger = "safe"\n\n[tools.y]\napproval = true\n',
        ),
        ("[tools.x]\nai_enabled = true # yes\n", "[tools.x]\nai_enabled = false # yes\n"),
        ("[tools.x]\r\napproval = true\r\n", "[tools.x]\r\nai_enabled = false\r\napproval = true\r\n"),
        ("[a]\r\n", '[a]\r\n\r\n[tools."x"]\r\nai_enabled = false\r\n'),
        (
            '[tools.x]\ndanger = "safe"\n"ai_enabled" = true',
            '[tools.x]\ndanger = "safe"\n"ai_enabled" = false',
        ),
    ],
)
def test_a_rule_that_exists_is_completed_in_place(before: str, after: str) -> None:
    assert disable(before, ["x"]) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# top\n\n[tools.x]\nai_enabled = false\n", "# top\n"),
        (
            "a = 1\n\n[tools.x]\nai_enabled = false\n\n# of y\n[tools.y]\napproval = true\n",
            "a = 1\n\n# of y\n[tools.y]\napproval = true\n",
        ),
        ("[tools.x]\nai_enabled = false\n[tools.y]\napproval = true\n", "[tools.y]\napproval = true\n"),
        (
            '[tools.x]\nai_enabled = false # since May\ndanger = "safe"\n',
            '[tools.x]\ndanger = "safe"\n',
        ),
        ("[tools.x]\n# why\nai_enabled = false", "[tools.x]\n# why\n"),
        ("[tools]\n[tools.x]\nai_enabled = false\n", "[tools]\n"),
        ("[tools.x]\nai_enabled = false\n", ""),
        ("a = [\n[1],\n]\n[tools.x]\nai_enabled = false\n", "a = [\n[1],\n]\n"),
        ("a = 1\n[tools.x]\nai_enabled = false\n[b]\n", "a = 1\n[b]\n"),
    ],
)
def test_only_the_setting_goes_and_the_rule_if_nothing_is_left_of_it(before: str, after: str) -> None:
    assert enable(before, ["x"]) == after


@pytest.mark.parametrize(
    "text",
    [
        'tools = {x = {danger = "safe"}}',
        'tools.x.danger = "safe"',
        "tools = 3",
        "tools = {}",
        '[tools.x]\ndanger = """\nai_enabled = true\n"""\n',
    ],
)
def test_a_form_that_cannot_be_edited_is_named_with_the_one_that_can(text: str) -> None:
    with pytest.raises(PolicyError, match="the rule for `x` cannot be edited in place") as failure:
        disable(text, ["x"])
    assert failure.value.hint == 'write it as a table, `[tools."x"]`, and run the command again'


@pytest.mark.parametrize(
    "text",
    [
        "tools = {x = {ai_enabled = false}}",
        "[tools]\nx.ai_enabled = false\n",
        '[tools.x]\n"ai_\\u0065nabled" = false\n',
        '[tools.x]\ndanger = """\nai_enabled = true\n"""\n"ai_\\u0065nabled" = false\n',
    ],
)
def test_a_setting_in_a_form_that_cannot_be_edited_stays(text: str) -> None:
    with pytest.raises(PolicyError, match="cannot be edited in place"):
        enable(text, ["x"])


def test_what_is_no_table_disables_nothing() -> None:
    assert disabled_patterns("tools = 3") == disabled_patterns("tools = {x = 3}") == []


def test_a_file_that_is_broken_is_not_written_to() -> None:
    with pytest.raises(PolicyError, match="the file is not valid TOML"):
        disable("[", ["a"])


def test_one_rule_holds_several_settings() -> None:
    asked = write("[tools.x]\napproval = false\n", ["x"], ASKED)
    assert asked == "[tools.x]\napproval = true\n"
    both = write(asked, ["x"], DISABLED)
    assert tomllib.loads(both) == {"tools": {"x": {"approval": True, "ai_enabled": False}}}
    assert (patterns_with(both, ASKED), patterns_with(both, DISABLED)) == (["x"], ["x"])
    assert remove(remove(both, ["x"], ASKED), ["x"], DISABLED) == ""
