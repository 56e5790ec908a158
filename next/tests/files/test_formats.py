import time
from collections.abc import Callable

import pytest

from remit.files import (
    FileError,
    parse_commented_json,
    parse_json,
    parse_jsonc,
    parse_toml,
    parse_yaml,
    split_front_matter,
)
from remit.files.formats import MAX_FRONT_MATTER, MAX_KEY_PARTS, is_same


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ("null", None),
        ('"\\ud800"', "\ud800"),
    ],
)
def test_json_is_read_as_a_javascript_client_reads_it(text: str, value: object) -> None:
    assert parse_json(text) == value


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("", "", "empty"),
        (" \n", "", "empty"),
        ('{"a": 1', "line 1 column 8", "not valid JSON"),
        ('{\n  // note\n  "a": 1}', "line 2 column 3", "not valid JSON"),
        ('{"a": 1,}', "line 1", "not valid JSON"),
        ("[NaN]", "", "NaN is not a value"),
        ("[" * 5_000, "", "nested too deeply"),
        ("9" * 6_000, "", "thousands of digits"),
    ],
)
def test_what_is_no_json_is_refused_with_place_and_reason(text: str, place: str, reason: str) -> None:
    with pytest.raises(FileError) as raised:
        parse_json(text)
    assert raised.value.place.startswith(place)
    assert reason in raised.value.reason


def test_commented_json_has_comments_but_no_trailing_commas() -> None:
    assert parse_commented_json('{"a": "//" /* b */} // c') == {"a": "//"}
    with pytest.raises(FileError):
        parse_commented_json('{"a": 1,}')


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1, // note\n}', {"a": 1}),
        ('{/* a\n, */ "a": ["//", "/*", ",]",],}', {"a": ["//", "/*", ",]"]}),
        ('{"a\\"//": 1,}', {'a"//': 1}),
    ],
)
def test_jsonc_may_have_comments_and_trailing_commas(text: str, value: object) -> None:
    assert parse_jsonc(text) == value


@pytest.mark.parametrize(
    "text", ["[,]", '{"a": [1,,]}', '{"a": 1 /*', '"' + '\\"' * 200_000, "{" + "/*" * 200_000]
)
def test_what_is_no_jsonc_is_refused_at_once(text: str) -> None:
    with pytest.raises(FileError, match="not valid JSON"):
        parse_jsonc(text)


def test_a_mistake_in_jsonc_has_its_place_in_the_file() -> None:
    with pytest.raises(FileError) as raised:
        parse_jsonc('{\n/* two\nlines */ "a": oops}')
    assert raised.value.place == "line 3 column 15"


def test_toml_is_read_with_the_place_of_a_mistake() -> None:
    assert parse_toml('[mcp_servers."a.b"]\ncommand = "x"') == {"mcp_servers": {"a.b": {"command": "x"}}}
    with pytest.raises(FileError) as raised:
        parse_toml("a = 1\nb = ")
    assert raised.value.place == "end of document"
    assert raised.value.reason == "not valid TOML: Invalid value"
    with pytest.raises(FileError, match="nested too deeply"):
        parse_toml("a = " + "[" * 5_000)
    with pytest.raises(FileError, match="nested too deeply"):
        parse_toml("a = " + "[" * 220 + "]" * 220)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a 1\n", "Expected '=' after a key in a key/value pair"),
        ("[a\n", "Expected ']' at the end of a table declaration"),
        ("a = 1 2\n", "Expected newline or end of document after a statement"),
    ],
)
def test_a_mistake_in_toml_names_the_mark_that_is_missing(text: str, reason: str) -> None:
    with pytest.raises(FileError) as raised:
        parse_toml(text)
    assert raised.value.reason == f"not valid TOML: {reason}"


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_toml, "[t]\nhunter2 = 1\nhunter2 = 'hunter2'\n"),
        (parse_toml, "['hunter2']\n['hunter2']\n"),
        (parse_toml, 'a = "hunter2'),
        (parse_toml, "a = hunter2"),
        (parse_yaml, "a: [b, hunter2: {c}"),
        (parse_yaml, "a: !<hunter2 x"),
        (parse_json, '{"a": hunter2}'),
    ],
)
def test_a_message_of_a_parser_shows_nothing_of_the_file(parse: Callable[[str], object], text: str) -> None:
    with pytest.raises(FileError) as raised:
        parse(text)
    assert "hunter2" not in raised.value.reason


@pytest.mark.parametrize("text", ["{} = 1", "[{}]\nx = 1", "x = {{ {} = 1 }}"])
def test_a_toml_key_has_a_limited_number_of_parts(text: str) -> None:
    assert parse_toml(text.format(".".join(["a"] * MAX_KEY_PARTS)))
    with pytest.raises(FileError, match="more than 64 parts"):
        parse_toml(text.format(".".join(["a", '"b"', "'c'"] * 200_000)))


def test_dots_in_texts_are_no_keys() -> None:
    assert parse_toml(f'x = "{"a. " * 50}"') == {"x": "a. " * 50}


def test_yaml_counts_each_repetition_of_a_part() -> None:
    lines = ["- &a0 [x, x]", *(f"- &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 30))]
    assert parse_yaml("\n".join(lines[:8]))
    with pytest.raises(FileError, match="more than 50,000 values"):
        parse_yaml("\n".join(lines))
    with pytest.raises(FileError, match="more than 50,000 values"):
        parse_yaml("- x\n" * 60_000)


def test_an_alias_repeats_a_scalar() -> None:
    assert parse_yaml("[&a x, *a]") == ["x", "x"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1\nb: [x, 'y', \"z\"]", {"a": 1, "b": ["x", "y", "z"]}),
        (
            "a: true\nb: yes\nc: ~\nd: 1.5\ne: 2026-01-01\nf: 0x10",
            {
                "a": True,
                "b": "yes",
                "c": None,
                "d": 1.5,
                "e": "2026-01-01",
                "f": 16,
            },
        ),
        ("1: one\ntrue: two\n[a]: three", {"1": "one", "true": "two", "?": "three"}),
        ("a: &x [1]\nb: *x", {"a": [1], "b": [1]}),
        ("a: !!python/object:os.system x", {"a": "x"}),
        ("text: |\n  one\n  two\n", {"text": "one\ntwo\n"}),
        ("", None),
        ("a: 1\n---\nb: 2", {"a": 1}),
    ],
)
def test_yaml_is_read_by_the_core_schema(text: str, value: object) -> None:
    assert parse_yaml(text) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: [1", "not valid YAML"),
        ("a: b: c", "not valid YAML"),
        ("[" * 100_000, "nested too deeply"),
        ("- " * 100_000, "nested too deeply"),
        ("9" * 6_000, "thousands of digits"),
        ("a: &a [1, {b: *a}]", "a part contains itself"),
    ],
)
def test_what_is_no_yaml_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(FileError, match=reason):
        parse_yaml(text)


@pytest.mark.parametrize(
    ("text", "fields", "body"),
    [
        (
            "---\nname: ship\ndescription: Ships it\n---\nbody\n",
            {"name": "ship", "description": "Ships it"},
            "body\n",
        ),
        ("---\r\nname: ship\r\n---\r\nbody", {"name": "ship"}, "body"),
        ("--- \nflag: true\ncount: 5\nnothing: \n---\n", {"flag": True, "count": 5, "nothing": None}, ""),
        ("---\ntools:\n  - Read\n  - Grep\n---\n", {"tools": ["Read", "Grep"]}, ""),
        ("---\ndescription: >\n  two\n  lines\n---\n", {"description": "two lines"}, ""),
        ('---\ndescription: "quoted: yes"\n---\n', {"description": "quoted: yes"}, ""),
        ("---\n---\nbody", {}, "body"),
        ("no front matter", {}, "no front matter"),
        ("\n---\nname: late\n---\n", {}, "\n---\nname: late\n---\n"),
        ("---\nnever: closed\n", {}, "---\nnever: closed\n"),
        ("---\n- a list\n---\n", {}, ""),
        ("", {}, ""),
    ],
)
def test_fields_stand_between_two_fences_at_the_top(text: str, fields: dict[str, object], body: str) -> None:
    assert split_front_matter(text) == (fields, body)


def test_what_is_no_yaml_is_read_line_by_line_as_the_client_does() -> None:
    text = "---\nname: 'x'\ndescription: Use it: always\ntools: [Read\nno field here\n---\nbody"
    assert split_front_matter(text) == (
        {"name": "x", "description": "Use it: always", "tools": "[Read"},
        "body",
    )


def test_yaml_that_may_not_be_parsed_is_read_line_by_line() -> None:
    sizes: list[int] = []

    def refuse(size: int) -> bool:
        sizes.append(size)
        return False

    assert split_front_matter("---\nname: 'x'\ntools: [a]\n---\nbody", refuse) == (
        {"name": "x", "tools": "[a]"},
        "body",
    )
    assert sizes == [20]
    assert split_front_matter("---\nname: x\n---\n", refuse) == ({"name": "x"}, "")


def test_only_the_start_of_long_front_matter_is_read() -> None:
    text = "---\nname: x\n" + "k: [a]\n" * 5_000 + "late: y\n---\nbody"
    fields, body = split_front_matter(text, lambda size: size <= MAX_FRONT_MATTER)
    assert (fields["name"], "late" in fields, body) == ("x", False, "body")


def test_contents_are_the_same_only_with_the_same_types() -> None:
    assert is_same({"a": [1, {"b": None}], "c": 1.5}, {"c": 1.5, "a": [1, {"b": None}]})
    for one, other in ((True, 1), (1, 1.0), ([], {}), ([1], [1, 1]), ({"a": 1}, {"b": 1}), (None, False)):
        assert not is_same({"x": one}, {"x": other})
    assert is_same([float("nan")], [float("nan")])


@pytest.mark.parametrize("text", ["# " + '\\"' * 120_000, "# " + "'" * 240_000])
def test_quotes_without_an_end_take_linear_time(text: str) -> None:
    started = time.process_time()
    assert parse_toml(text) == {}
    assert time.process_time() - started < 5
