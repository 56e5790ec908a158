"""Single booleans in TOML: set and removed in whatever form the table has, with nothing else touched."""

import tomllib

import pytest

from remit.files.splices import apply
from remit.files.toml_edits import TomlTextError
from remit.files.toml_values import put_flag, take_flag

PATH = ("mcp_servers", "press", "enabled")
FORMS = {
    "its own lines": '[mcp_servers.press]\ncommand = "p"\n',
    "a header with a comment": '# mine\n[ mcp_servers . "press" ] # prints\n  command = "p"\n\n[tui]\n',
    "a header that ends the file": "[mcp_servers.press]",
    "windows": '[mcp_servers.press]\r\ncommand = "p"\r\n',
    "indented": '[mcp_servers]\n  [mcp_servers.press]\n  command = "p"\n',
    "one line": '[mcp_servers]\npress = { command = "p", env = { A = "}" } } # x\n',
    "one empty line": "[mcp_servers]\npress = {}\n",
    "dotted": 'mcp_servers.press.command = "p"\nmodel = "x"\n',
    "dotted in a table": '[mcp_servers]\npress.command = "p"\n',
    "absent": 'model = "x"\n',
    "a longer name before": '[mcp_servers.press2]\ncommand = "q"\n[mcp_servers.press]\ncommand = "p"\n',
    "quoted key": '[mcp_servers."a.b"]\ncommand = "p"\n[mcp_servers.press]\ncommand = "p"\n',
}


@pytest.mark.parametrize("form", FORMS)
def test_a_flag_is_added_and_removed_in_every_form_of_a_table(form: str) -> None:
    text = FORMS[form]
    after = apply(text, put_flag(text, PATH, value=False, comment="served"))
    assert tomllib.loads(after)["mcp_servers"]["press"]["enabled"] is False
    back = apply(after, take_flag(after, PATH))
    if form == "absent":
        assert tomllib.loads(back)["mcp_servers"]["press"] == {}
    else:
        assert back == text


@pytest.mark.parametrize(
    "text",
    [
        '[mcp_servers.press]\ncommand = "p"\nenabled = true # yes\n',
        "[mcp_servers.a]\nenabled = true\n[mcp_servers.press]\nenabled=true\n",
        '[mcp_servers]\npress = { enabled = true, command = "p" }\n',
        "mcp_servers.press.enabled = true\n",
    ],
)
def test_an_existing_flag_is_replaced_where_it_is(text: str) -> None:
    after = apply(text, put_flag(text, PATH, value=False))
    assert tomllib.loads(after)["mcp_servers"]["press"]["enabled"] is False
    assert len(after) == len(text) + 1
    assert apply(after, put_flag(after, PATH, value=True)) == text


def test_a_flag_in_one_line_is_removed_with_its_comma() -> None:
    for text in (
        "press = { enabled = true, a = 1 }",
        "press = { a = 1, enabled = true }",
        "press = {enabled=true}",
    ):
        text = f"[mcp_servers]\n{text}\n"
        after = apply(text, take_flag(text, PATH))
        assert "enabled" not in after
        assert tomllib.loads(after)["mcp_servers"]["press"] == ({"a": 1} if "a =" in text else {})


def test_a_missing_flag_needs_no_removal() -> None:
    assert take_flag('model = "x"\n', PATH) == []


def test_a_form_that_cannot_be_edited_is_refused_with_the_one_that_can() -> None:
    text = '[mcp_servers]\n"pr\\u0065ss" = { command = "p" }\n'
    with pytest.raises(TomlTextError) as told:
        put_flag(text, PATH, value=False)
    assert told.value.reason == "`mcp_servers.press` is written in a form that cannot be edited in place"
    assert told.value.hint == "write it as a table, `[mcp_servers.press]`, and run this again"
