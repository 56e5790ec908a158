"""What Remit puts into a file comes out again, whoever wrote to the file in between."""

import json
import random
import tomllib
from collections.abc import Callable
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
        return content  # pyright: ignore[reportUnknownVariableType]
    if below:
        return {**content, key: dropped_if_empty(content[key], tuple(below))}
    return {name: value for name, value in content.items() if (name, value) != (key, {})}  # pyright: ignore[reportUnknownVariableType]


def strictly(content: object) -> str:
    return json.dumps(content, sort_keys=True)


def attacked_content(content: Any, chance: random.Random) -> Any:
    """What a client or a person may make of the content of a file."""
    content = json.loads(json.dumps(content))
    for _ in range(chance.randrange(1, 5)):
        holder: Any = content
        while True:
            inner = [item for item in (holder.values() if isinstance(holder, dict) else holder)]
            inner = [item for item in inner if isinstance(item, dict | list) and item]
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
