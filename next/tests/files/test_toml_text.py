"""A value or table of a TOML text is set or removed, all else stays, and keys have positions."""

import tomllib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as some

from remit.files import FileError, positions, remove_value, set_value, toml_value

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
    "all in one line": 'mcp_servers = { press = { command = "p" } }\n',
    "a longer name before": '[mcp_servers.press2]\ncommand = "q"\n[mcp_servers.press]\ncommand = "p"\n',
    "escaped": '[mcp_servers]\n"pr\\u0065ss" = { command = "p" }\n',
    "not a number": "[mcp_servers.press]\nratio = nan\nsince = 1979-05-27 07:32:00\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_a_flag_is_added_and_removed_in_every_form_of_a_table(form: str) -> None:
    text = FORMS[form]
    after = set_value(text, FLAG, value=False)
    assert tomllib.loads(after)["mcp_servers"]["press"]["enabled"] is False
    back = remove_value(after, FLAG)
    assert back == (f"{text}\n[mcp_servers.press]\n" if form == "absent" else text)


@pytest.mark.parametrize(
    "text",
    [
        '[mcp_servers.press]\ncommand = "p"\nenabled = true # yes\n',
        "[mcp_servers.a]\nenabled = true\n[mcp_servers.press]\nenabled=true\n",
        '[mcp_servers]\npress = { enabled = true, command = "p" }\n',
        "mcp_servers.press.enabled = true\n",
    ],
)
def test_an_existing_value_is_replaced_where_it_is(text: str) -> None:
    after = set_value(text, FLAG, value=False)
    assert tomllib.loads(after)["mcp_servers"]["press"]["enabled"] is False
    assert set_value(after, FLAG, value=True) == text
    assert set_value(text, FLAG, value=True) == text


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("", TABLE),
        ("model = 'x'", f"model = 'x'\n\n{TABLE}"),
        (
            "# mine\n[mcp_servers.git]\ncommand = 'git'\n",
            f"# mine\n[mcp_servers.git]\ncommand = 'git'\n\n{TABLE}",
        ),
        ("a = 1\r\n", "a = 1\r\n\r\n" + TABLE.replace("\n", "\r\n")),
        ("\ufeffa = 1\n", f"\ufeffa = 1\n\n{TABLE}"),
    ],
)
def test_a_table_comes_at_the_end_and_goes_again(text: str, after: str) -> None:
    assert set_value(text, PATH, ENTRY) == after
    assert remove_value(after, PATH).removesuffix("\n") == text.removesuffix("\n")


def test_a_key_of_the_top_comes_before_the_tables() -> None:
    assert set_value("[a]\nb = 1\n", ("mode",), "x") == 'mode = "x"\n\n[a]\nb = 1\n'
    assert set_value("a = 1\n\n[b]\n", ("mode",), "x") == 'a = 1\nmode = "x"\n\n[b]\n'


def test_a_table_goes_with_those_below_it_and_remarks_about_the_next_stay() -> None:
    text = (
        "[mcp_servers . git]\ncommand = 'git'\n\n"
        "[mcp_servers.\"remit\"] # here\ncommand = 'remit'\n[mcp_servers.remit.env]\nA = 'b'\n\n"
        "# about x\n[x]\ny = '''\n[mcp_servers.other]\n'''\n"
    )
    assert remove_value(text, PATH) == (
        "[mcp_servers . git]\ncommand = 'git'\n\n# about x\n[x]\ny = '''\n[mcp_servers.other]\n'''\n"
    )


def test_a_header_above_it_stays_and_a_name_above_it_goes() -> None:
    assert remove_value(f"[mcp_servers]\n{TABLE}", PATH) == "[mcp_servers]\n"
    assert tomllib.loads(remove_value(TABLE, PATH)) == {}
    assert remove_value("a = 1\n", PATH) == "a = 1\n"


def test_texts_that_look_like_tables_are_left_alone() -> None:
    text = "x = '''\n[mcp_servers.remit]\n'''\n[mcp_servers.remit]\ncommand = 'a'\n"
    assert remove_value(text, PATH) == "x = '''\n[mcp_servers.remit]\n'''\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("mcp_servers = 1\n", "`mcp_servers` is not a table"),
        ("a = 1\na = 2\n", "not valid TOML: Cannot overwrite a value"),
        (f"a = {'9' * 5000}\n", "a number has thousands of digits"),
        ("[[mcp_servers]]\n", "`mcp_servers` is not a table"),
    ],
)
def test_a_text_without_room_for_a_value_is_refused(text: str, reason: str) -> None:
    with pytest.raises(FileError) as refused:
        set_value(text, PATH, ENTRY)
    assert reason in refused.value.reason


def test_a_form_that_cannot_be_edited_is_refused_with_the_one_that_can() -> None:
    text = "a = { b.c = 1, b.d = 2 }\n"
    with pytest.raises(FileError) as told:
        remove_value(text, ("a", "b"))
    assert told.value.reason == "`a` is written in a form that cannot be edited in place"
    assert told.value.hint == "write it as a table, `[a]`, and run this again"


def test_every_value_is_written_as_the_parser_reads_it() -> None:
    value = tomllib.loads('a = [1, 2.5, "\\u007f\\n", true, { "b c" = nan }, 1979-05-27, 07:32:00]')["a"]
    assert repr(tomllib.loads(f"a = {toml_value(value)}")["a"]) == repr(value)


TEXT = '''strategy = "auto" # states = 1
[states.project-loaded]
description = "A = [x]"
file = ["a",
  "b = c"]   # d = 1

[ tools . "mcp__deploy__*" ]
when = """
state('x') &&
 git.branch != 'main' """
states = { all = ["a"], "any" = ["b"] }
[states]
z = { value = { file = "p.json", at = 'x' }, implies = [] }
[[many]]
one.two = true
'''


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("strategy",), [1, 1, 1, 13]),
        (("states", "project-loaded"), [2, 2, 2, 2]),
        (("states", "project-loaded", "file"), [4, 1, 4, 8]),
        (("tools", "mcp__deploy__*"), [7, 3, 7, 3]),
        (("tools", "mcp__deploy__*", "when"), [8, 1, 9, 1]),
        (("tools", "mcp__deploy__*", "states"), [11, 1, 11, 10]),
        (("tools", "mcp__deploy__*", "states", "any"), [11, 25, 11, 33]),
        (("states", "z", "value", "at"), [13, 34, 13, 40]),
        (("states", "z", "implies"), [13, 46, 13, 56]),
        (("many", "one", "two"), [15, 1, 15, 11]),
    ],
)
def test_a_key_has_a_line_and_a_column_and_so_has_what_is_inside_its_value(
    path: tuple[str, ...], expected: list[int]
) -> None:
    assert positions(TEXT)[path] == tuple(expected)


def test_what_looks_like_a_key_in_a_text_or_a_comment_is_none() -> None:
    assert {key[0] for key in positions(TEXT)} == {"strategy", "states", "tools", "many"}


def test_only_so_many_keys_are_kept() -> None:
    assert len(positions("\n".join(f"k{number} = 1" for number in range(6000)))) == 5000


def test_an_escaped_key_is_the_key_that_it_means() -> None:
    text = '"a\\tb\\u0041\\"" = 1\n\'c\\d\' = 2\n"\\U0001F600" = 3\n'
    assert (
        {path[0] for path in positions(text)} == set(tomllib.loads(text)) == {'a\tbA"', "c\\d", "\U0001f600"}
    )


KEY = some.text("ab-_", min_size=1, max_size=3) | some.sampled_from(['"x.y"', "'#'", '"["', '"="'])
VALUE = some.recursive(
    some.sampled_from(
        ["1", "true", '"a = 1 # x"', "'[b]'", '"""\nk = 1\n"""', "'''\n[q]\n'''", "1979-05-27"]
    ),
    lambda inner: (
        some.lists(inner, max_size=3).map(lambda items: f"[ {', '.join(items)} ]")
        | some.dictionaries(KEY, inner, max_size=3).map(
            lambda table: "{ " + ", ".join(f"{key} = {value}" for key, value in table.items()) + " }"
        )
    ),
    max_leaves=5,
)
SECTION = some.tuples(KEY, some.dictionaries(KEY, VALUE, max_size=4))


@given(some.lists(SECTION, max_size=4))
def test_every_key_that_the_parser_finds_is_found(tables: list[tuple[str, dict[str, str]]]) -> None:
    sections = (
        f"[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in each.items()) for name, each in tables
    )
    text = "\n# [comment] a = 1\n".join(sections)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError:  # the same key twice
        return
    found = positions(text)
    assert [path for path in _paths(content, ()) if path not in found] == []


def _paths(table: dict[str, object], above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for key, value in table.items():
        yield (*above, key)
        if isinstance(value, dict):
            yield from _paths(value, (*above, key))  # pyright: ignore[reportUnknownArgumentType]


@given(some.text("[]{}=.,\"'#\n ab", max_size=40))
def test_no_text_stops_the_search(text: str) -> None:
    positions(text)
