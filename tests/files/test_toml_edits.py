"""One table is put in or taken out, and every other character stays."""

import tomllib

import pytest

from remit.files.splices import apply, undo
from remit.files.toml_edits import TomlTextError, put_table, table, take_table

PATH = ("mcp_servers", "remit")
ENTRY = {"command": "/opt/remit", "args": ["serve", "--client", "codex"]}
TABLE = '[mcp_servers.remit]\ncommand = "/opt/remit"\nargs = ["serve", "--client", "codex"]\n'


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
    with pytest.raises(TomlTextError) as refused:
        put_table(text, PATH, ENTRY)
    assert reason in refused.value.reason


def test_the_place_of_a_mistake_is_told() -> None:
    with pytest.raises(TomlTextError) as refused:
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
    with pytest.raises(TomlTextError, match="cannot be edited in place"):
        take_table(text, PATH)
