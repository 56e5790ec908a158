"""One table or one boolean is put in or taken out, and every other character stays."""

import tomllib

import pytest

from remit.files.splices import TextEditError, apply, undo
from remit.files.toml_edits import put_flag, put_table, table, take_flag, take_table

PATH = ("mcp_servers", "remit")
ENTRY = {"command": "/opt/remit", "args": ["serve", "--client", "codex"]}
TABLE = '[mcp_servers.remit]\ncommand = "/opt/remit"\nargs = ["serve", "--client", "codex"]\n'
FLAG = ("mcp_servers", "press", "enabled")
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


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("", TABLE),
        ("model = 'x'\n", f"model = 'x'\n\n{TABLE}"),
        ("model = 'x'", f"model = 'x'\n\n{TABLE}"),
        (
            "# mine\n[mcp_servers.git]\ncommand = 'git'\n",
            f"# mine\n[mcp_servers.git]\ncommand = 'git'\n\n{TABLE}",
        ),
        ("a = 1\r\n", "a = 1\r\n\r\n" + TABLE.replace("\n", "\r\n")),
        ("\ufeffa = 1\n", f"\ufeffa = 1\n\n{TABLE}"),
    ],
)
def test_a_table_is_put_at_the_end_and_taken_back(text: str, after: str) -> None:
    step = put_table(text, PATH, ENTRY)
    assert apply(text, step) == after
    assert undo(after, [step]) == text
    assert apply(after, take_table(after, PATH)).removesuffix("\n") == text.removesuffix("\n")


def test_a_table_is_taken_out_from_between_others_with_those_below_it() -> None:
    text = (
        "[mcp_servers . git]\ncommand = 'git'\n\n"
        "[mcp_servers.\"remit\"] # here\ncommand = 'remit'\n[mcp_servers.remit.env]\nA = 'b'\n\n"
        "# about x\n[x]\ny = '''\n[mcp_servers.other]\n'''\n"
    )
    after = apply(text, take_table(text, PATH))
    assert after == (
        "[mcp_servers . git]\ncommand = 'git'\n\n\n# about x\n[x]\ny = '''\n[mcp_servers.other]\n'''\n"
    )


def test_a_header_above_it_stays_and_a_name_above_it_goes() -> None:
    text = f"[mcp_servers]\n{TABLE}"
    assert apply(text, take_table(text, PATH)) == "[mcp_servers]\n"
    assert tomllib.loads(apply(TABLE, take_table(TABLE, PATH))) == {}


def test_nothing_is_taken_where_nothing_is() -> None:
    assert take_table("a = 1\n", PATH) == take_table("mcp_servers = 1\n", PATH) == []
    assert table("[mcp_servers.remit]\nx = 1\n", PATH) == ({"x": 1},)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("mcp_servers = {}\n", "`mcp_servers` is written in a form that cannot be edited in place"),
        ("mcp_servers = 1\n", "`mcp_servers` is not a table"),
        ("a = 1\na = 2\n", "not valid TOML: Cannot overwrite a value"),
        (f"a = {'9' * 5000}\n", "a number has thousands of digits"),
    ],
)
def test_a_text_without_room_for_a_table_is_left_alone(text: str, reason: str) -> None:
    with pytest.raises(TextEditError) as refused:
        put_table(text, PATH, ENTRY)
    assert reason in refused.value.reason


def test_the_place_of_a_mistake_is_told() -> None:
    with pytest.raises(TextEditError) as refused:
        table("a = 1\nb = secret\n", PATH)
    assert refused.value.place == "line 2 column 5"
    assert "secret" not in refused.value.reason


@pytest.mark.parametrize(
    "text",
    [
        "mcp_servers = { remit = { command = 'remit' } }\n",
        "mcp_servers.remit.command = 'remit'\n",
        "x = '''\n[mcp_servers.remit]\n'''\n[mcp_servers.remit]\ncommand = 'a'\n",
    ],
)
def test_a_table_in_another_form_is_not_taken_out(text: str) -> None:
    with pytest.raises(TextEditError, match="cannot be edited in place"):
        take_table(text, PATH)


@pytest.mark.parametrize("form", FORMS)
def test_a_flag_is_added_and_removed_in_every_form_of_a_table(form: str) -> None:
    text = FORMS[form]
    after = apply(text, put_flag(text, FLAG, value=False, comment="served"))
    assert tomllib.loads(after)["mcp_servers"]["press"]["enabled"] is False
    back = apply(after, take_flag(after, FLAG))
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
    after = apply(text, put_flag(text, FLAG, value=False))
    assert tomllib.loads(after)["mcp_servers"]["press"]["enabled"] is False
    assert len(after) == len(text) + 1
    assert apply(after, put_flag(after, FLAG, value=True)) == text


def test_a_flag_in_one_line_is_removed_with_its_comma() -> None:
    for text in (
        "press = { enabled = true, a = 1 }",
        "press = { a = 1, enabled = true }",
        "press = {enabled=true}",
    ):
        text = f"[mcp_servers]\n{text}\n"
        after = apply(text, take_flag(text, FLAG))
        assert "enabled" not in after
        assert tomllib.loads(after)["mcp_servers"]["press"] == ({"a": 1} if "a =" in text else {})


def test_a_missing_flag_needs_no_removal() -> None:
    assert take_flag('model = "x"\n', FLAG) == []


def test_a_form_that_cannot_be_edited_is_refused_with_the_one_that_can() -> None:
    text = '[mcp_servers]\n"pr\\u0065ss" = { command = "p" }\n'
    with pytest.raises(TextEditError) as told:
        put_flag(text, FLAG, value=False)
    assert told.value.reason == "`mcp_servers.press` is written in a form that cannot be edited in place"
    assert told.value.hint == "write it as a table, `[mcp_servers.press]`, and run this again"
