"""What Remit puts into a file comes out again, whoever wrote to the file in between."""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# The contents of files have any shape.

import json
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.errors import FileChangeError
from remit.files import (
    Edit,
    EditedFile,
    FileError,
    Format,
    WrittenKey,
    apply_edits,
    are_in_place,
    parse_json,
    parse_jsonc,
    parse_toml,
    put_back,
    without_edits,
)
from support.handwriting import JsonHand, TomlHand

ENTRY = {"command": "/opt/remit", "args": ["serve"]}
HOOK = {"hooks": [{"type": "command", "command": "/opt/remit", "args": ["hook"]}]}
EDITS = [
    Edit(("mcpServers", "remit"), ENTRY),
    Edit(("hooks", "SessionStart"), HOOK, is_item=True),
    Edit(("hooks", "PreToolUse"), HOOK, is_item=True),
    Edit(("permissions", "deny"), "Bash(rm)", is_item=True),
    Edit(("permissions", "deny"), "Agent(x)", is_item=True),
    Edit(("skillOverrides", "ship"), "off"),
    Edit(("mcpServers", "git", "enabled"), False, switches="git"),
    Edit(("allowed",), [{"serverName": "remit"}]),
]
TOML_EDITS = [
    Edit(("mcpServers", "remit"), ENTRY),
    Edit(("mcpServers", "git", "enabled"), False, switches="git"),
    Edit(("mcpServers", "a.b", "enabled"), False, switches="a.b"),
    Edit(("plugins", "p@m", "mcpServers", "x", "enabled"), False, switches="x"),
]
BASH: dict[str, Any] = {"matcher": "Bash", "hooks": []}
SERVER: dict[str, Any] = {"command": "x", "args": ["-y", "pkg,1"], "enabled": True}

groups = st.lists(st.sampled_from([BASH, HOOK]), max_size=2)
servers = st.dictionaries(
    st.sampled_from(["git", "remit", "wiki", "a.b"]),
    st.sampled_from([SERVER, {"command": "y"}, ENTRY, {}]),
    max_size=3,
)
contents: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "model": st.sampled_from(["opus", 1, True, None, 1.5, "// no comment", 'a "quote", } ]']),
        "hooks": st.dictionaries(st.sampled_from(["SessionStart", "Stop"]), groups, max_size=2),
        "allowed": st.lists(st.sampled_from([{"serverName": "git"}, {"serverName": "remit"}]), max_size=2),
        "permissions": st.fixed_dictionaries(
            {}, optional={"deny": st.lists(st.sampled_from(["Bash(rm)", "Read(/x)"]), max_size=3)}
        ),
        "mcpServers": servers,
        "env": st.just({"TOKEN": "t0p"}),
    },
)
toml_contents: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "model": st.sampled_from(["opus", 1, True, 1.5, "# no comment", "[mcpServers.remit]\n"]),
        "mcpServers": servers,
        "plugins": st.dictionaries(
            st.just("p@m"), st.fixed_dictionaries({}, optional={"mcpServers": st.just({"x": {}})})
        ),
        "env": st.just({"TOKEN": "t0p"}),
        "tail": st.just({"list": [1, 2]}),
    },
)
seeds = st.integers(0, 2**32)
formats = st.sampled_from([Format.JSON, Format.JSONC])


def parse(text: str, format: Format) -> Any:
    if format is Format.TOML:
        return parse_toml(text)
    return (parse_json if format is Format.JSON else parse_jsonc)(text.removeprefix("\ufeff"))


def some_edits(chance: random.Random, edits: list[Edit]) -> list[Edit]:
    return [edit for edit in edits if chance.random() < 0.7]


def remitted(content: Any, edited: EditedFile) -> Any:
    """The content that taking back aims at; TOML cannot always tell an empty table from none."""
    wanted: Any = without_edits(content, edited)
    return settled(wanted, edited) if edited.format is Format.TOML else wanted


def settled(content: Any, edited: EditedFile) -> Any:
    for key in edited.keys:
        for length in range(len(key.path) - 1, 0, -1):
            content = dropped_if_empty(content, key.path[:length])
    return content


def dropped_if_empty(content: Any, path: tuple[str, ...]) -> Any:
    key, *below = path
    if not isinstance(content, dict) or key not in content:
        return content
    if below:
        return {**content, key: dropped_if_empty(content[key], tuple(below))}
    return {name: value for name, value in content.items() if (name, value) != (key, {})}


def strictly(content: object) -> str:
    return json.dumps(content, sort_keys=True)


def attacked_content(content: Any, chance: random.Random) -> Any:
    """What a client or a person may make of the content of a file."""
    content = json.loads(json.dumps(content))
    for _ in range(chance.randrange(1, 5)):
        holder: Any = content
        while True:
            items = holder.values() if isinstance(holder, dict) else holder
            inner = [item for item in items if isinstance(item, dict | list) and item]
            if not inner or chance.random() < 0.3:
                break
            holder = chance.choice(inner)
        if isinstance(holder, dict):
            key = chance.choice([*holder, "new", "other"])
            if chance.random() < 0.5:
                holder.pop(key, None)
            else:
                holder[key] = chance.choice([True, False, 1, "x", {}, {"k": 1}, [], [1, "z"]])
        elif chance.random() < 0.5:
            holder.pop(chance.randrange(len(holder)))
        else:
            holder.insert(chance.randrange(len(holder) + 1), chance.choice(["x", 1, {"k": 1}, holder[0]]))
    return content


def attacked_text(text: str, chance: random.Random, format: Format) -> str:
    """A text with some of its characters taken out, put in or doubled, if it can still be read."""
    marks = {
        Format.TOML: [
            "\n",
            "# theirs\n",
            'x1 = "y"\n',
            "\n[other]\n",
            " ",
            "\n\n",
            "true",
            "enabled = true\n",
        ],
        Format.JSON: ["\n", " ", ",", '"x1": 1, ', '{"k": 2}', "[]", '"z"', ', "x2": {}', "1"],
    }
    marks[Format.JSONC] = [*marks[Format.JSON], "// theirs\n", "/* theirs, */"]
    for _ in range(chance.randrange(1, 30)):
        at = chance.randrange(len(text) + 1)
        match chance.randrange(3):
            case 0:
                tried = text[:at] + text[at + chance.randrange(1, 30) :]
            case 1:
                tried = text[:at] + chance.choice(marks[format]) + text[at:]
            case _:
                tried = text[:at] + text[at : at + chance.randrange(40)] + text[at:]
        try:
            if isinstance(parse(tried, format), dict):
                text = tried
        except FileError:
            continue
    return text


def require_taken_back(text: str, edited: EditedFile) -> None:
    """Check that taking back gives exactly the content that it should, and that this is final."""
    content = parse(text, edited.format) if text.strip("\ufeff \r\n\t") else {}
    back, _ = put_back(text, edited)
    made = {} if back is None or not back.strip("\ufeff \r\n\t") else parse(back, edited.format)
    if edited.format is Format.TOML:
        made = settled(made, edited)
    assert strictly(made) == strictly(remitted(content, edited))


def written(content: Any, chance: random.Random, format: Format) -> str:
    if format is Format.TOML:
        return TomlHand(chance).text(content)
    return JsonHand(chance, is_lenient=format is Format.JSONC).text(content)


@given(contents, seeds, formats)
def test_a_json_file_that_nobody_else_wrote_to_is_restored_to_the_last_byte(
    content: dict[str, Any], seed: int, format: Format
) -> None:
    require_every_byte(content, seed, format, EDITS)


@given(toml_contents, seeds)
def test_a_toml_file_that_nobody_else_wrote_to_is_restored_to_the_last_byte(
    content: dict[str, Any], seed: int
) -> None:
    require_every_byte(content, seed, Format.TOML, TOML_EDITS)


def require_every_byte(content: dict[str, Any], seed: int, format: Format, edits: list[Edit]) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secrets
    text, wanted = written(content, chance, format), some_edits(chance, edits)
    assert strictly(parse(text, format)) == strictly(content)
    after, edited = apply_edits(text, "/f", format, wanted)
    assert are_in_place(after, format, wanted, edited)
    assert put_back(after, edited) == (text, ())
    assert apply_edits(after, "/f", format, wanted)[0] == after
    before = settled(content, edited) if format is Format.TOML else content
    assert strictly(remitted(parse(after, format), edited)) == strictly(before)


@given(contents, seeds, formats)
def test_after_a_client_rewrote_a_json_file_only_our_edits_go(
    content: dict[str, Any], seed: int, format: Format
) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secrets
    after, edited = apply_edits(written(content, chance, format), "/f", format, some_edits(chance, EDITS))
    changed = attacked_content(parse(after, format), chance)
    require_taken_back(written(changed, chance, format), edited)


@given(toml_contents, seeds)
def test_after_a_client_rewrote_a_toml_file_only_our_edits_go(content: dict[str, Any], seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secrets
    edits = some_edits(chance, TOML_EDITS)
    after, edited = apply_edits(written(content, chance, Format.TOML), "/f", Format.TOML, edits)
    changed = attacked_content(parse_toml(after), chance)
    require_taken_back(written(changed, chance, Format.TOML), edited)


@given(contents, seeds, formats)
def test_after_a_person_edited_a_json_file_only_our_edits_go(
    content: dict[str, Any], seed: int, format: Format
) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secrets
    after, edited = apply_edits(written(content, chance, format), "/f", format, some_edits(chance, EDITS))
    require_taken_back(attacked_text(after, chance, format), edited)


@given(toml_contents, seeds)
def test_after_a_person_edited_a_toml_file_only_our_edits_go(content: dict[str, Any], seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secrets
    edits = some_edits(chance, TOML_EDITS)
    after, edited = apply_edits(written(content, chance, Format.TOML), "/f", Format.TOML, edits)
    require_taken_back(attacked_text(after, chance, Format.TOML), edited)


def dicts_in(content: Any, edits: list[Edit], path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """List the paths of the objects of a content that no edit replaces."""
    if not isinstance(content, dict) or any(edit.path == path for edit in edits):
        return []
    return [
        path,
        *(deeper for key, item in content.items() for deeper in dicts_in(item, edits, (*path, key))),
    ]


def with_theirs(content: Any, paths: list[tuple[str, ...]]) -> Any:
    content = json.loads(json.dumps(content))
    for number, path in enumerate(paths):
        holder = content
        for key in path:
            holder = holder[key]
        holder["theirs"] = number
    return content


@given(contents | toml_contents, seeds, st.sampled_from(Format))
def test_what_others_add_elsewhere_stays_as_it_is(content: dict[str, Any], seed: int, format: Format) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secrets
    if format is Format.TOML and any(value is None for value in content.values()):
        return
    edits = some_edits(chance, TOML_EDITS if format is Format.TOML else EDITS)
    after, edited = apply_edits(written(content, chance, format), "/f", format, edits)
    paths = [path for path in dicts_in(content, edits) if chance.random() < 0.5]
    changed = with_theirs(parse(after, format), paths)
    expected = with_theirs(content, paths)
    if format is Format.TOML:
        expected = settled(expected, edited)
    assert strictly(remitted(changed, edited)) == strictly(expected)


@given(contents, seeds)
def test_what_a_person_writes_above_and_below_our_edits_is_kept_to_the_byte(
    content: dict[str, Any], seed: int
) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secrets
    text = JsonHand(chance, is_lenient=False).text({"first": 1, **content})
    edits = [EDITS[0], EDITS[2], EDITS[5]]
    after, edited = apply_edits(text, "/f", Format.JSONC, edits)

    def changed(text: str) -> str:
        return text.replace('"first"', '/* mine */ "zero": 0,\n"first"', 1) + "\n// the end\n"

    if "remit" in content.get("mcpServers", {}):
        return  # replaced, and not only added
    back, _ = put_back(changed(after), edited)
    assert back is not None
    assert [*filter(str.strip, back.split())] == [*filter(str.strip, changed(text).split())]


ALLOWED = EDITS[-1]
GATEWAY = EDITS[0]


def test_a_list_that_others_changed_loses_our_items_alone_and_that_is_told() -> None:
    _, edited = apply_edits("{}", "/f", Format.JSON, [ALLOWED])
    changed = json.dumps({"allowed": [{"serverName": "wiki"}, {"serverName": "remit"}]})
    assert put_back(changed, edited) == ('{"allowed": [{"serverName": "wiki"}]}', ["allowed"])
    assert put_back('{"allowed": []}', edited) == ("{}", [])


def test_earlier_items_come_back_into_a_list_that_others_changed() -> None:
    earlier = [{"serverName": "git"}, {"serverName": "wiki"}]
    _, edited = apply_edits(json.dumps({"allowed": earlier}), "/f", Format.JSON, [ALLOWED])
    changed = json.dumps({"allowed": [{"serverName": "remit"}, {"serverName": "wiki"}]})
    back, left = put_back(changed, edited)
    assert json.loads(back or "") == {"allowed": [{"serverName": "wiki"}, {"serverName": "git"}]}
    assert left == []


def test_an_entry_that_others_changed_is_ours_all_the_same() -> None:
    after, edited = apply_edits('{"mcpServers": {}}', "/f", Format.JSON, [GATEWAY])
    assert put_back(after.replace("/opt/remit", "/usr/bin/remit"), edited) == ('{"mcpServers": {}}', [])


def test_a_switch_that_its_user_turned_again_stays() -> None:
    text = '{"mcpServers": {"git": {"enabled": true}}}'
    after, edited = apply_edits(text, "/f", Format.JSON, [EDITS[6]])
    assert put_back(after, edited)[0] == text
    turned = after.replace("false", "null")
    assert put_back(turned, edited) == (turned, [])


def test_what_others_took_out_stays_out_and_an_item_of_theirs_stays_in() -> None:
    _, edited = apply_edits('{"permissions": {"deny": ["Bash(rm)"]}}', "/f", Format.JSON, EDITS)
    assert put_back('{"a": 1}', edited)[0] == '{"a": 1}'
    kept = '{"permissions": {"deny": ["Bash(rm)"]}}'
    assert put_back(kept[:-1] + ', "x": 1}', edited)[0] == kept[:-1] + ', "x": 1}'


def test_an_earlier_toml_table_of_the_same_name_comes_back() -> None:
    before = "[mcpServers.remit]\ncommand = 'remit' # mine\nargs = ['serve']\n\n[x]\ny = 1\n"
    after, edited = apply_edits(before, "/f", Format.TOML, [GATEWAY])
    assert put_back(after, edited)[0] == before
    restored = parse_toml(put_back(f"z = 1\n{after}", edited)[0] or "")
    assert restored == {
        "z": 1,
        "mcpServers": {"remit": {"command": "remit", "args": ["serve"]}},
        "x": {"y": 1},
    }


def test_a_record_of_lines_is_understood() -> None:
    text = '[mcpServers.remit]\ncommand = "/opt/remit"\nargs = ["serve"]\n# theirs\n'
    lines = '\n[mcpServers.remit]\ncommand = "old"\n'
    key = WrittenKey(path=GATEWAY.path, value=ENTRY, earlier=lines, known=2)
    edited = EditedFile(path="/f", format=Format.TOML, before="", after="", keys=[key])
    assert parse_toml(put_back(text, edited)[0] or "") == {"mcpServers": {"remit": {"command": "old"}}}


def test_a_switch_in_toml_says_who_set_it() -> None:
    after, _ = apply_edits("[mcpServers.git]\ncommand = 'g'\n", "/f", Format.TOML, [TOML_EDITS[1]])
    assert after == "[mcpServers.git]\ncommand = 'g'\nenabled = false  # served by Remit\n"


@pytest.mark.parametrize("format", Format)
@pytest.mark.parametrize("blank", ["", "\ufeff", " \r\n\t\n"])
def test_a_blank_file_is_filled_and_blank_again(blank: str, format: Format) -> None:
    after, edited = apply_edits(blank, "/f", format, [GATEWAY])
    assert are_in_place(after, format, [GATEWAY], edited)
    assert put_back(after, edited) == (blank, ())
    assert put_back("\n", edited) == ("\n", ())  # somebody emptied it since


def test_a_new_file_goes_unless_others_wrote_to_it() -> None:
    after, edited = apply_edits(None, "/f", Format.JSONC, [GATEWAY])
    assert put_back(after, edited) == (None, ())
    assert put_back(after.replace("{", '{"a": 1, ', 1), edited)[0] == '{"a": 1\n}\n'
    assert "theirs" in (put_back(f"// theirs\n{after}", edited)[0] or "")


def test_the_record_holds_nothing_of_a_file_but_what_was_replaced() -> None:
    text = '{"env": {"TOKEN": "t0p"}, "mcpServers": {"remit": {"command": "x"}}}'
    _, edited = apply_edits(text, "/f", Format.JSON, EDITS)
    assert "t0p" not in repr(edited)


def test_a_record_that_does_not_fit_the_text_is_not_believed() -> None:
    after, edited = apply_edits('{"a": 1}', "/f", Format.JSON, [GATEWAY])
    broken = replace(
        edited, steps=[[(part._replace(at=part.at + 1)) for part in step] for step in edited.steps]
    )
    assert put_back(after, broken)[0] == '{"a": 1}'


def test_edits_are_in_place_only_if_exactly_they_are() -> None:
    after, edited = apply_edits("{}", "/f", Format.JSON, EDITS)
    assert are_in_place(after, Format.JSON, EDITS, edited)
    assert not are_in_place(after, Format.JSON, EDITS[1:], edited)
    assert not are_in_place(after.replace("/opt/remit", "/x"), Format.JSON, EDITS, edited)
    assert are_in_place(after.replace("{", '{"hers": 1, ', 1), Format.JSON, EDITS, edited)
    assert are_in_place(None, Format.JSON, [], None)
    assert not are_in_place('{"hooks": {"SessionStart": 1}}', Format.JSON, EDITS[1:2], None)


@pytest.mark.parametrize(
    ("text", "format", "message"),
    [
        ('{"a": 1,\n}', Format.JSON, "/f, line 2 column 1: not valid JSON"),
        ('{"a": // no\n1}', Format.JSON, "/f, line 1 column 7: not valid JSON"),
        ('{"mcpServers": []}', Format.JSONC, "/f, line 1 column 16: `mcpServers`: expected an object"),
        ("a = \n", Format.TOML, "/f, line 1 column 5: not valid TOML"),
        ("x = 1\nmcpServers = 1\n", Format.TOML, "/f, line 2 column 1: `mcpServers`: expected an object"),
    ],
)
def test_a_file_that_cannot_be_edited_is_named_with_the_place(
    text: str, format: Format, message: str
) -> None:
    with pytest.raises(FileChangeError, match=message):
        apply_edits(text, "/f", format, [GATEWAY])


def test_a_large_file_is_edited_in_a_moment() -> None:
    projects = {f"/home/ada/{at}": {"history": [{"display": "x" * 50}] * 20} for at in range(2_000)}
    text = json.dumps({"projects": projects, "numStartups": 1}, indent=2)
    after, edited = apply_edits(text, "/f", Format.JSON, [GATEWAY])
    counted = after.replace('"numStartups": 1', '"numStartups": 2')
    assert put_back(counted, edited)[0] == text.replace('"numStartups": 1', '"numStartups": 2')
    assert sum(len(part.inserted) + len(part.removed) for step in edited.steps for part in step) < 200
